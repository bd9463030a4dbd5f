#include "gpu_test.h"

namespace tessera::gpu {
namespace {

using OtherMemory = GpuTest;

TEST_F(OtherMemory, IsAllocatedAndFreed) {
  const MemoryInfo before = must(driver().mem_get_info());
  EXPECT_LE(before.free, before.total);
  const DeviceAddress memory = must(driver().mem_alloc(Bytes(1000)));
  put_byte(memory + Bytes(999), 7);
  EXPECT_EQ(byte_at(memory + Bytes(999)), 7);
  const AddressRange around = must(driver().mem_get_address_range(memory + Bytes(10)));
  EXPECT_EQ(around.begin(), memory);
  EXPECT_GE(around.size(), Bytes(1000));
  EXPECT_EQ(answer(driver().mem_free(memory)), "OK");
  EXPECT_EQ(answer(driver().mem_free(DeviceAddress())), "OK");
  EXPECT_EQ(answer(driver().mem_free(memory)), "INVALID_VALUE");
  EXPECT_EQ(answer(driver().mem_alloc(Bytes(0))), "INVALID_VALUE");
}

TEST_F(OtherMemory, IsTooLittleForSomeRequests) {
  const Bytes total = must(driver().device_total_mem(device));
  EXPECT_EQ(answer(driver().mem_alloc(total * 2)), "OUT_OF_MEMORY");
}

TEST_F(OtherMemory, HasPitchedRows) {
  const PitchedAllocation rows =
      must(driver().mem_alloc_pitch({.width = Bytes(100), .height = 3, .element_size = 4}));
  EXPECT_GE(rows.pitch, Bytes(100));
  put_byte(rows.address + rows.pitch * 2 + Bytes(99), 3);
  EXPECT_EQ(answer(driver().mem_free(rows.address)), "OK");
}

TEST_F(OtherMemory, IsManaged) {
  const auto managed = driver().mem_alloc_managed({.size = Bytes(4096)});
  if (!managed) {
    GTEST_SKIP() << "no managed memory here: " << to_string(managed.error());
  }
  must(driver().launch_touch({.address = *managed, .touch = Touch::write, .value = 11}));
  must(driver().ctx_synchronize());
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the host reaches managed memory at its address.
  const auto* byte = reinterpret_cast<const volatile std::uint8_t*>(managed->value());
  EXPECT_EQ(*byte, 11);
  EXPECT_EQ(answer(driver().mem_free(*managed)), "OK");
}

TEST_F(OtherMemory, LiesOnTheHost) {
  const HostMemory host(driver(), Bytes(4096));
  host.bytes()[5] = 21;
  must(driver().launch_touch({.address = host.address() + Bytes(5),
                              .touch = Touch::read,
                              .result = host.address() + Bytes(6)}));
  must(driver().ctx_synchronize());
  EXPECT_EQ(host.bytes()[6], 21);
}

TEST_F(OtherMemory, IsAllocatedInAStreamsOrder) {
  const StreamHandle stream = must(driver().stream_create(StreamFlags::non_blocking));
  const auto memory = driver().mem_alloc_async({.size = Bytes(1 << 20), .stream = stream});
  if (memory) {
    must(driver().memset_d8_async(
        {.set = {.destination = *memory, .value = 6, .size = Bytes(1 << 20)}, .stream = stream}));
    std::array<std::byte, 2> bytes = {};
    must(driver().memcpy_dtoh_async(
        {.copy = {.destination = bytes, .source = *memory + Bytes((1 << 20) - 2)},
         .stream = stream}));
    must(driver().mem_free_async({.address = *memory, .stream = stream}));
    must(driver().stream_synchronize(stream));
    EXPECT_EQ(bytes[1], std::byte{6});
  }
  must(driver().stream_destroy(stream));
  if (!memory) {
    GTEST_SKIP() << "no memory pools here: " << to_string(memory.error());
  }
}

TEST_F(OtherMemory, IsCopiedFromDeviceToDevice) {
  const DeviceAddress memory = must(driver().mem_alloc(Bytes(8192)));
  put_byte(memory, 1);
  must(driver().memcpy_dtod(
      {.destination = memory + Bytes(4096), .source = memory, .size = Bytes(16)}));
  EXPECT_EQ(byte_at(memory + Bytes(4096)), 1);
  EXPECT_EQ(answer(driver().memcpy_dtod({.destination = memory, .source = memory, .size = {}})),
            "OK");
  EXPECT_EQ(answer(driver().memcpy_htod({.destination = memory, .source = {}})), "OK");
  must(driver().mem_free(memory));
}

}  // namespace
}  // namespace tessera::gpu
