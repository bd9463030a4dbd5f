// What the driver tells about addresses and memory.
#include <unistd.h>

#include "conformance/suite.h"

namespace tessera::conformance {
namespace {

constexpr std::uint64_t type_host = 1;
constexpr std::uint64_t type_device = 2;

class Queries : public Conformance {
 protected:
  void expect_attribute(PointerAttribute which, DeviceAddress address, std::uint64_t value) {
    EXPECT_THAT(attribute(which, address), is_ok_and_holds(value))
        << "attribute " << static_cast<unsigned>(which);
  }
};

TEST_P(Queries, MemoryInfoIsTheDevices) {
  const auto info = driver().mem_get_info();
  ASSERT_THAT(info, is_ok());
  EXPECT_THAT(driver().device_total_mem(first_device), is_ok_and_holds(info->total));
  EXPECT_LT(info->free, info->total);
  EXPECT_GT(info->free, Bytes(0));
}

TEST_P(Queries, AMappingTellsOfItself) {
  Reservation range(driver(), unit() * 4);
  const Memory memory(driver(), unit() * 2);
  const DeviceAddress begin = range.begin() + unit();
  range.map(begin, memory.size(), memory.handle());
  // Without access, all but its use as a pointer.
  EXPECT_THAT(attribute(PointerAttribute::device_pointer, begin),
              fails_with(ErrorCode::invalid_value));
  expect_attribute(PointerAttribute::access_flags, begin, 0);
  ASSERT_THAT(set_access(begin, memory.size()), is_ok());
  const DeviceAddress inside = begin + unit() + 5_B;
  expect_attribute(PointerAttribute::context, inside, 0);
  expect_attribute(PointerAttribute::memory_type, inside, type_device);
  expect_attribute(PointerAttribute::device_pointer, inside, inside.value());
  expect_attribute(PointerAttribute::is_managed, inside, 0);
  expect_attribute(PointerAttribute::device_ordinal, inside, 0);
  expect_attribute(PointerAttribute::is_legacy_cuda_ipc_capable, inside, 0);
  expect_attribute(PointerAttribute::range_start_addr, inside, range.begin().value());
  expect_attribute(PointerAttribute::range_size, inside, range.size().value());
  expect_attribute(PointerAttribute::mapped, inside, 1);
  expect_attribute(PointerAttribute::allowed_handle_types, inside, 0);
  expect_attribute(PointerAttribute::access_flags, inside, 3);
  expect_attribute(PointerAttribute::mempool_handle, inside, 0);
  expect_attribute(PointerAttribute::mapping_size, inside, memory.size().value());
  expect_attribute(PointerAttribute::mapping_base_addr, inside, begin.value());
  EXPECT_THAT(attribute(PointerAttribute::host_pointer, inside),
              fails_with(ErrorCode::invalid_value));
  expect_attribute(PointerAttribute::sync_memops, inside, 0);
}

TEST_P(Queries, AliasesAreOneBlock) {
  Reservation range(driver(), unit() * 3);
  const Memory memory(driver(), unit());
  const Memory other(driver(), unit());
  range.map(range.begin(), unit(), memory.handle());
  range.map(range.begin() + unit(), unit(), memory.handle());
  range.map(range.begin() + unit() * 2, unit(), other.handle());
  const auto block = [&](std::uint64_t place) {
    return must(attribute(PointerAttribute::memory_block_id, range.begin() + unit() * place));
  };
  EXPECT_EQ(block(0), block(1));
  EXPECT_NE(block(0), block(2));
}

// Whose it is, the driver knows; who may use it depends on the context.
TEST_P(Queries, PointersAreNobodysWithoutAContext) {
  Reservation range(driver(), unit());
  const Memory memory(driver(), unit());
  range.map(range.begin(), unit(), memory.handle());
  ASSERT_THAT(set_access(range.begin(), unit()), is_ok());
  const DeviceAddress other = must(driver().mem_alloc(unit()));
  ASSERT_THAT(driver().ctx_set_current(ContextHandle()), is_ok());
  expect_attribute(PointerAttribute::access_flags, range.begin(), 0);
  expect_attribute(PointerAttribute::access_flags, other, 3);
  for (const DeviceAddress address : {range.begin(), other}) {
    EXPECT_THAT(attribute(PointerAttribute::device_pointer, address),
                fails_with(ErrorCode::invalid_context));
    expect_attribute(PointerAttribute::mapped, address, 1);
  }
  EXPECT_THAT(driver().ctx_set_current(primary()), is_ok());
  EXPECT_THAT(driver().mem_free(other), is_ok());
}

TEST_P(Queries, MemAllocTellsOfItself) {
  const DeviceAddress begin = must(driver().mem_alloc(Bytes(5000)));
  const DeviceAddress inside = begin + 4321_B;
  expect_attribute(PointerAttribute::context, inside, primary().value());
  expect_attribute(PointerAttribute::memory_type, inside, type_device);
  expect_attribute(PointerAttribute::device_pointer, inside, inside.value());
  expect_attribute(PointerAttribute::is_managed, inside, 0);
  expect_attribute(PointerAttribute::device_ordinal, inside, 0);
  expect_attribute(PointerAttribute::range_start_addr, inside, begin.value());
  expect_attribute(PointerAttribute::range_size, inside, 5000);
  EXPECT_THAT(driver().mem_get_address_range(inside),
              is_ok_and_holds(AddressRange(begin, Bytes(5000))));
  EXPECT_THAT(driver().mem_free(begin), is_ok());
  EXPECT_THAT(attribute(PointerAttribute::memory_type, begin),
              fails_with(ErrorCode::invalid_value));
}

TEST_P(Queries, HostMemoryIsOfTheHost) {
  std::byte* memory = must(driver().mem_host_alloc({.size = Bytes(4096)}));
  const DeviceAddress address(reinterpret_cast<std::uintptr_t>(memory));
  expect_attribute(PointerAttribute::memory_type, address, type_host);
  expect_attribute(PointerAttribute::host_pointer, address, address.value());
  EXPECT_THAT(driver().mem_free_host(memory), is_ok());
}

TEST_P(Queries, NothingIsKnownOfOtherAddresses) {
  const Reservation range(driver(), unit());
  for (const DeviceAddress address : {DeviceAddress(), range.begin(), DeviceAddress(12345)}) {
    EXPECT_THAT(attribute(PointerAttribute::memory_type, address),
                fails_with(ErrorCode::invalid_value));
    EXPECT_THAT(attribute(PointerAttribute::range_start_addr, address),
                fails_with(ErrorCode::invalid_value));
    EXPECT_THAT(driver().mem_get_address_range(address), fails_with(ErrorCode::not_found));
  }
}

TEST_P(Queries, RefusesUnknownAttributes) {
  Reservation range(driver(), unit());
  const Memory memory(driver(), unit());
  range.map(range.begin(), unit(), memory.handle());
  for (const std::uint32_t which : {0U, 5000U, 0xffff'ffffU}) {
    EXPECT_THAT(attribute(static_cast<PointerAttribute>(which), range.begin()),
                fails_with(ErrorCode::invalid_value))
        << which;
  }
}

TEST_P(Queries, AddressRangeIsTheMapping) {
  Reservation range(driver(), unit() * 4);
  const Memory first(driver(), unit());
  const Memory second(driver(), unit() * 2);
  range.map(range.begin(), unit(), first.handle());
  range.map(range.begin() + unit(), unit() * 2, second.handle());
  EXPECT_THAT(driver().mem_get_address_range(range.begin()), fails_with(ErrorCode::not_found));
  ASSERT_THAT(set_access(range.begin(), unit() * 3), is_ok());
  EXPECT_THAT(driver().mem_get_address_range(range.begin() + unit() * 2 + 7_B),
              is_ok_and_holds(AddressRange(range.begin() + unit(), unit() * 2)));
  EXPECT_THAT(driver().mem_get_address_range(range.begin() + unit() * 3),
              fails_with(ErrorCode::not_found));
}

TEST_P(Queries, DmaBuffersAreKnownOrRefused) {
  const AllocationProperties properties = {
      .gpu_direct_rdma_capable = static_cast<std::uint8_t>(features().dma_buf ? 1 : 0)};
  Reservation range(driver(), unit());
  const Memory memory(driver(), unit(), properties);
  range.map(range.begin(), unit(), memory.handle());
  ASSERT_THAT(set_access(range.begin(), unit()), is_ok());
  const auto descriptor =
      driver().mem_get_handle_for_address_range({.address = range.begin(), .size = unit()});
  if (!features().dma_buf) {
    EXPECT_THAT(descriptor, fails_with(ErrorCode::not_supported));
    return;
  }
  ASSERT_THAT(descriptor, is_ok_and_holds(testing::Ge(0)));
  EXPECT_EQ(::close(*descriptor), 0);
}

INSTANTIATE_TEST_SUITE_P(All, Queries, testing::ValuesIn(backends_of_books()), name_of);

}  // namespace
}  // namespace tessera::conformance
