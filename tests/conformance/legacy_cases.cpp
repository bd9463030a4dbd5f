// The other ways to allocate.
#include <cstring>
#include <vector>

#include "conformance/suite.h"

namespace tessera::conformance {
namespace {

class OtherAllocations : public Conformance {
 protected:
  static DeviceAddress address_of(const std::byte* memory) {
    return DeviceAddress(reinterpret_cast<std::uintptr_t>(memory));
  }
  // Managed and page-locked memory, as the host sees it.
  static std::byte* host_pointer(DeviceAddress address) {
    return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address.value()));
  }
};

TEST_P(OtherAllocations, AreUsableAtOnce) {
  const Bytes before = free_memory();
  std::vector<AddressRange> ranges;
  for (const Bytes size : {Bytes(1), Bytes(255), Bytes(257), Bytes(4096), Bytes(70'000)}) {
    const auto address = driver().mem_alloc(size);
    ASSERT_THAT(address, is_ok());
    EXPECT_TRUE(is_aligned(*address, Bytes(256)));
    for (const AddressRange& other : ranges) {
      EXPECT_FALSE(AddressRange(*address, size).intersects(other));
    }
    ranges.emplace_back(*address, size);
    EXPECT_THAT(put(*address + (size - 1_B), 1), is_ok());
    expect_byte(*address + (size - 1_B), 1);
  }
  EXPECT_LT(free_memory(), before);
  for (const AddressRange& range : ranges) {
    EXPECT_THAT(driver().mem_free(range.begin()), is_ok());
  }
  EXPECT_EQ(free_memory(), before);
}

TEST_P(OtherAllocations, AreFreedOnceFromTheirBegin) {
  const DeviceAddress address = must(driver().mem_alloc(Bytes(4096)));
  EXPECT_THAT(driver().mem_free(address + 1_B), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver().mem_free(address), is_ok());
  EXPECT_THAT(driver().mem_free(address), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver().mem_free(DeviceAddress()), is_ok());
}

TEST_P(OtherAllocations, RefuseBadSizes) {
  EXPECT_THAT(driver().mem_alloc(Bytes(0)), fails_with(ErrorCode::invalid_value));
  const Bytes total = must(driver().device_total_mem(first_device));
  EXPECT_THAT(driver().mem_alloc(total * 4), fails_with(ErrorCode::out_of_memory));
  EXPECT_THAT(driver().mem_alloc_pitch({.width = Bytes(0), .height = 1, .element_size = 4}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver().mem_alloc_pitch({.width = Bytes(4), .height = 1, .element_size = 3}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver().mem_alloc_managed({.size = Bytes(0)}), fails_with(ErrorCode::invalid_value));
}

TEST_P(OtherAllocations, HavePitchedRows) {
  for (const std::uint32_t element : {4U, 8U, 16U}) {
    const auto rows =
        driver().mem_alloc_pitch({.width = Bytes(100), .height = 3, .element_size = element});
    ASSERT_THAT(rows, is_ok());
    EXPECT_GE(rows->pitch, Bytes(100));
    EXPECT_TRUE(is_aligned(rows->pitch, Bytes(element)));
    EXPECT_THAT(put(rows->address + rows->pitch * 2 + 99_B, 3), is_ok());
    expect_byte(rows->address + rows->pitch * 2 + 99_B, 3);
    EXPECT_THAT(driver().mem_free(rows->address), is_ok());
  }
}

TEST_P(OtherAllocations, ManagedMemoryIsTheHostsToo) {
  const auto managed = driver().mem_alloc_managed({.size = Bytes(4096)});
  if (!features().managed_memory) {
    EXPECT_THAT(managed, fails_with(ErrorCode::not_supported));
    return;
  }
  ASSERT_THAT(managed, is_ok());
  EXPECT_THAT(attribute(PointerAttribute::is_managed, *managed), is_ok_and_holds(1U));
  EXPECT_THAT(launch_write(*managed + 3_B, 11), is_ok());
  EXPECT_THAT(driver().ctx_synchronize(), is_ok());
  EXPECT_EQ(host_pointer(*managed)[3], std::byte{11});
  host_pointer(*managed)[4] = std::byte{12};
  EXPECT_THAT(get(*managed + 4_B), is_ok_and_holds(std::uint8_t{12}));
  EXPECT_THAT(driver().mem_free(*managed), is_ok());
  EXPECT_THAT(
      driver().mem_alloc_managed({.size = Bytes(4096), .flags = static_cast<ManagedFlags>(8)}),
      fails_with(ErrorCode::invalid_value));
}

TEST_P(OtherAllocations, HostMemoryIsTheDevicesToo) {
  const auto memory = driver().mem_host_alloc({.size = Bytes(4096)});
  ASSERT_THAT(memory, is_ok());
  (*memory)[5] = std::byte{21};
  EXPECT_THAT(get(address_of(*memory) + 5_B), is_ok_and_holds(std::uint8_t{21}));
  EXPECT_THAT(launch_write(address_of(*memory) + 6_B, 22), is_ok());
  EXPECT_THAT(driver().ctx_synchronize(), is_ok());
  EXPECT_EQ((*memory)[6], std::byte{22});
  EXPECT_THAT(driver().mem_free(address_of(*memory)), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver().mem_free_host(*memory), is_ok());
}

TEST_P(OtherAllocations, AreFreedWithoutAContext) {
  const DeviceAddress memory = must(driver().mem_alloc(Bytes(4096)));
  std::byte* host = must(driver().mem_host_alloc({.size = Bytes(4096)}));
  ASSERT_THAT(driver().ctx_set_current(ContextHandle()), is_ok());
  EXPECT_THAT(driver().mem_free(memory), is_ok());
  EXPECT_THAT(driver().mem_free(memory), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver().mem_free_host(host), is_ok());
  EXPECT_THAT(driver().ctx_set_current(primary()), is_ok());
}

TEST_P(OtherAllocations, NoHostMemoryIsNull) {
  EXPECT_THAT(driver().mem_host_alloc({.size = Bytes(0)}), is_ok_and_holds(testing::IsNull()));
  EXPECT_THAT(driver().mem_free_host(nullptr), is_ok());
}

TEST_P(OtherAllocations, HostMemoryRefusesBadRequests) {
  EXPECT_THAT(driver().mem_host_alloc({.size = Bytes(4096), .flags = 0x8000}),
              fails_with(ErrorCode::invalid_value));
  std::byte on_the_stack{};
  EXPECT_THAT(driver().mem_free_host(&on_the_stack), fails_with(ErrorCode::invalid_value));
}

TEST_P(OtherAllocations, ComeInAStreamsOrderWhereThereArePools) {
  const StreamHandle stream = must(driver().stream_create(StreamFlags::non_blocking));
  const auto memory = driver().mem_alloc_async({.size = unit(), .stream = stream});
  if (!features().memory_pools) {
    EXPECT_THAT(memory, fails_with(ErrorCode::not_supported));
  } else {
    ASSERT_THAT(memory, is_ok());
    EXPECT_THAT(
        driver().memset_d8_async(
            {.set = {.destination = *memory, .value = 6, .size = unit()}, .stream = stream}),
        is_ok());
    EXPECT_THAT(driver().stream_synchronize(stream), is_ok());
    expect_byte(*memory + unit() - 1_B, 6);
    EXPECT_THAT(driver().mem_free_async({.address = *memory, .stream = stream}), is_ok());
    EXPECT_THAT(driver().stream_synchronize(stream), is_ok());
    EXPECT_THAT(driver().mem_alloc_async({.size = Bytes(0), .stream = stream}),
                is_ok_and_holds(DeviceAddress()));
    EXPECT_THAT(driver().mem_free_async({.address = DeviceAddress(), .stream = stream}), is_ok());
  }
  EXPECT_THAT(driver().stream_destroy(stream), is_ok());
}

TEST_P(OtherAllocations, NeedNoContextInAStreamsOrder) {
  if (!features().memory_pools) {
    GTEST_SKIP() << "no pools here";
  }
  const StreamHandle stream = must(driver().stream_create(StreamFlags::non_blocking));
  const DeviceAddress other = must(driver().mem_alloc(unit()));
  ASSERT_THAT(driver().ctx_set_current(ContextHandle()), is_ok());
  const auto memory = driver().mem_alloc_async({.size = unit(), .stream = stream});
  EXPECT_THAT(memory, is_ok());
  EXPECT_THAT(driver().mem_alloc_async({.size = unit()}), fails_with(ErrorCode::invalid_context));
  const DeviceAddress address = memory ? *memory : DeviceAddress();
  EXPECT_THAT(driver().mem_free_async({.address = address}),
              fails_with(ErrorCode::invalid_context));
  EXPECT_THAT(driver().mem_free_async({.address = address, .stream = stream}), is_ok());
  EXPECT_THAT(driver().mem_free_async({.address = other, .stream = stream}), is_ok());
  EXPECT_THAT(driver().stream_synchronize(stream), is_ok());
  EXPECT_THAT(driver().ctx_set_current(primary()), is_ok());
  EXPECT_THAT(driver().stream_destroy(stream), is_ok());
}

TEST_P(OtherAllocations, OfAPoolOutliveContexts) {
  if (!features().memory_pools) {
    GTEST_SKIP() << "no pools here";
  }
  const ContextHandle context = must(driver().ctx_create({.device = DeviceOrdinal(0)}));
  const StreamHandle stream = must(driver().stream_create(StreamFlags::non_blocking));
  const DeviceAddress memory = must(driver().mem_alloc_async({.size = unit(), .stream = stream}));
  EXPECT_THAT(driver().ctx_destroy(context), is_ok());
  EXPECT_THAT(fill(memory, unit(), 4), is_ok());
  expect_byte(memory, 4);
  EXPECT_THAT(driver().mem_free(memory), is_ok());
}

TEST_P(OtherAllocations, AreNoneOfVirtualMemorys) {
  const DeviceAddress address = must(driver().mem_alloc(unit() * 2));
  const Memory memory(driver(), unit());
  const auto is_refused = fails_with(ErrorCode::invalid_value);
  EXPECT_THAT(set_access(address, unit() * 2), is_refused);
  EXPECT_THAT(driver().mem_retain_allocation_handle(address), is_refused);
  EXPECT_THAT(driver().mem_unmap({.address = address, .size = unit() * 2}), is_refused);
  EXPECT_THAT(driver().mem_address_free({.address = address, .size = unit() * 2}), is_refused);
  EXPECT_THAT(driver().mem_map({.address = address, .size = unit(), .handle = memory.handle()}),
              is_refused);
  EXPECT_THAT(access(address), is_ok_and_holds(AccessFlags::none));
  expect_usable(address, unit() * 2);
  EXPECT_THAT(driver().mem_free(address), is_ok());
}

TEST_P(OtherAllocations, FreesNoMapping) {
  Reservation range(driver(), unit());
  const Memory memory(driver(), unit());
  range.map(range.begin(), unit(), memory.handle());
  ASSERT_THAT(set_access(range.begin(), unit()), is_ok());
  EXPECT_THAT(driver().mem_free(range.begin()), fails_with(ErrorCode::invalid_value));
  if (features().memory_pools) {
    EXPECT_THAT(driver().mem_free_async({.address = range.begin()}),
                fails_with(ErrorCode::invalid_value));
  }
  expect_usable(range.begin(), unit());
}

INSTANTIATE_TEST_SUITE_P(All, OtherAllocations, testing::ValuesIn(backends_of_books()), name_of);

}  // namespace
}  // namespace tessera::conformance
