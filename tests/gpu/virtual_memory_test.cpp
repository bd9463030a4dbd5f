#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "gpu_test.h"

namespace tessera::gpu {
namespace {

using VirtualMemory = GpuTest;

TEST_F(VirtualMemory, HoldsDataThroughAFullCycle) {
  const ReservedRange range(driver(), granule() * 4);
  const Memory first(driver(), granule());
  const Memory second(driver(), granule() * 2);
  map(driver(), range.begin(), first);
  map(driver(), range.begin() + granule(), second);
  give_access(driver(), range.begin(), granule() * 3, device);

  // A copy and a fill across the border of the two mappings.
  const DeviceAddress border = range.begin() + granule();
  const std::array source = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  must(driver().memcpy_htod({.destination = border - Bytes(2), .source = source}));
  EXPECT_EQ(byte_at(border - Bytes(1)), 2);
  EXPECT_EQ(byte_at(border), 3);
  must(driver().memset_d8({.destination = border - Bytes(1), .value = 9, .size = Bytes(2)}));
  EXPECT_EQ(byte_at(border - Bytes(2)), 1);
  EXPECT_EQ(byte_at(border - Bytes(1)), 9);
  EXPECT_EQ(byte_at(border), 9);
  EXPECT_EQ(byte_at(border + Bytes(1)), 4);

  // The second handle's data moves along when it is mapped elsewhere.
  must(driver().mem_unmap({.address = border, .size = second.size()}));
  map(driver(), border + granule(), second);
  give_access(driver(), border + granule(), second.size(), device);
  EXPECT_EQ(byte_at(border + granule()), 9);
}

TEST_F(VirtualMemory, AliasesOneHandle) {
  const ReservedRange range(driver(), granule() * 2);
  const Memory memory(driver(), granule());
  map(driver(), range.begin(), memory);
  map(driver(), range.begin() + granule(), memory);
  give_access(driver(), range.begin(), granule() * 2, device);
  put_byte(range.begin() + Bytes(77), 123);
  EXPECT_EQ(byte_at(range.begin() + granule() + Bytes(77)), 123);
}

TEST_F(VirtualMemory, SaysWhoMayAccess) {
  const ReservedRange range(driver(), granule());
  EXPECT_EQ(answer(driver().mem_get_access({.address = range.begin()})), "INVALID_VALUE");
  const Memory memory(driver(), granule());
  map(driver(), range.begin(), memory);
  EXPECT_EQ(must(driver().mem_get_access({.address = range.begin()})), AccessFlags::none);
  EXPECT_EQ(
      answer(driver().memset_d8({.destination = range.begin(), .value = 1, .size = Bytes(16)})),
      "INVALID_VALUE");
  give_access(driver(), range.begin(), granule(), device, AccessFlags::read);
  EXPECT_EQ(must(driver().mem_get_access({.address = range.begin()})), AccessFlags::read);
  give_access(driver(), range.begin(), granule(), device);
  EXPECT_EQ(must(driver().mem_get_access({.address = range.begin()})), AccessFlags::read_write);
}

TEST_F(VirtualMemory, OutlivesItsHandleWhileMapped) {
  const ReservedRange range(driver(), granule());
  {
    const Memory memory(driver(), granule());
    map(driver(), range.begin(), memory);
  }
  give_access(driver(), range.begin(), granule(), device);
  put_byte(range.begin(), 5);
  const AllocationHandle again =
      must(driver().mem_retain_allocation_handle(range.begin() + Bytes(100)));
  EXPECT_EQ(must(driver().mem_get_allocation_properties_from_handle({.handle = again})),
            AllocationProperties());
  must(driver().mem_release(again));
  EXPECT_EQ(byte_at(range.begin()), 5);
}

TEST_F(VirtualMemory, IsSharedThroughADescriptor) {
  const Memory memory(driver(), granule(),
                      {.requested_handle_types = HandleTypes::posix_file_descriptor});
  const ShareableHandle exported =
      must(driver().mem_export_to_shareable_handle({.handle = memory.handle()}));
  ASSERT_GE(exported.file_descriptor, 0);
  const auto imported = driver().mem_import_from_shareable_handle(exported);
  EXPECT_EQ(::close(exported.file_descriptor), 0);
  ASSERT_EQ(answer(imported), "OK");
  {
    const ReservedRange range(driver(), granule() * 2);
    map(driver(), range.begin(), memory);
    must(driver().mem_map(
        {.address = range.begin() + granule(), .size = granule(), .handle = *imported}));
    give_access(driver(), range.begin(), granule() * 2, device);
    put_byte(range.begin(), 42);
    EXPECT_EQ(byte_at(range.begin() + granule()), 42);
  }
  must(driver().mem_release(*imported));
}

TEST_F(VirtualMemory, RefusesBadRequests) {
  const Bytes odd = Bytes(granule().value() - 1);
  EXPECT_EQ(answer(driver().mem_address_reserve({.size = odd})), "INVALID_VALUE");
  EXPECT_EQ(answer(driver().mem_create({.size = odd, .properties = {}})), "INVALID_VALUE");
  EXPECT_EQ(answer(driver().mem_create(
                {.size = granule(), .properties = {.type = static_cast<AllocationType>(77)}})),
            "INVALID_VALUE");
  EXPECT_EQ(answer(driver().mem_create(
                {.size = granule(), .properties = {}, .null_pointers = NullPointers::properties})),
            "INVALID_VALUE");
  EXPECT_EQ(answer(driver().mem_get_allocation_granularity(
                {.properties = {}, .null_pointers = NullPointers::output})),
            "INVALID_VALUE");
  EXPECT_EQ(answer(driver().mem_get_allocation_granularity(
                {.properties = {}, .option = static_cast<GranularityOption>(5)})),
            "INVALID_VALUE");
  EXPECT_EQ(answer(driver().mem_retain_allocation_handle(DeviceAddress(4096))), "INVALID_VALUE");
  const int no_memory = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  EXPECT_NE(answer(driver().mem_import_from_shareable_handle({.file_descriptor = no_memory})),
            "OK");
  ::close(no_memory);
}

TEST_F(VirtualMemory, AnswersQueries) {
  const ReservedRange range(driver(), granule() * 4);
  const Memory memory(driver(), granule() * 2);
  const DeviceAddress begin = range.begin() + granule();
  map(driver(), begin, memory);
  EXPECT_EQ(answer(driver().mem_get_address_range(begin)), "NOT_FOUND");
  give_access(driver(), begin, memory.size(), device);
  const DeviceAddress inside = begin + Bytes(4097);
  EXPECT_EQ(must(driver().mem_get_address_range(inside)), AddressRange(begin, memory.size()));

  const auto attribute = [&](PointerAttribute which) {
    return must(driver().pointer_get_attribute({.attribute = which, .address = inside}));
  };
  EXPECT_EQ(attribute(PointerAttribute::range_start_addr), range.begin().value());
  EXPECT_EQ(attribute(PointerAttribute::range_size), range.size().value());
  EXPECT_EQ(attribute(PointerAttribute::mapping_base_addr), begin.value());
  EXPECT_EQ(attribute(PointerAttribute::mapping_size), memory.size().value());
  EXPECT_EQ(attribute(PointerAttribute::device_pointer), inside.value());
  EXPECT_EQ(attribute(PointerAttribute::device_ordinal), 0U);
  EXPECT_EQ(attribute(PointerAttribute::memory_type), 2U);
  EXPECT_EQ(attribute(PointerAttribute::mapped), 1U);
  EXPECT_EQ(attribute(PointerAttribute::is_managed), 0U);
  EXPECT_EQ(attribute(PointerAttribute::access_flags), 3U);
  EXPECT_EQ(answer(driver().pointer_get_attribute(
                {.attribute = static_cast<PointerAttribute>(5000), .address = inside})),
            "INVALID_VALUE");
}

TEST_F(VirtualMemory, GivesADmaBuffer) {
  constexpr std::int32_t dma_buf_supported = 124;
  if (must(driver().device_get_attribute({.attribute = dma_buf_supported, .device = device})) ==
      0) {
    GTEST_SKIP() << "the device gives no dma-buf descriptors";
  }
  const ReservedRange range(driver(), granule());
  const Memory memory(driver(), granule(), {.gpu_direct_rdma_capable = 1});
  map(driver(), range.begin(), memory);
  give_access(driver(), range.begin(), granule(), device);
  const int descriptor = must(
      driver().mem_get_handle_for_address_range({.address = range.begin(), .size = granule()}));
  EXPECT_GE(descriptor, 0);
  EXPECT_EQ(::close(descriptor), 0);
}

TEST_F(VirtualMemory, WorksFromManyThreads) {
  constexpr int rounds = 50;
  std::vector<std::string> failures(4);
  std::vector<std::thread> threads;
  threads.reserve(failures.size());
  for (std::string& failure : failures) {
    threads.emplace_back([this, &failure] {
      try {
        for (int round = 0; round < rounds; ++round) {
          const ReservedRange range(driver(), granule());
          const Memory memory(driver(), granule());
          map(driver(), range.begin(), memory);
          give_access(driver(), range.begin(), granule(), device);
        }
      } catch (const std::runtime_error& error) {
        failure = error.what();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(failures, std::vector<std::string>(4));
}

}  // namespace
}  // namespace tessera::gpu
