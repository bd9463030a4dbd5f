// Physical memory and the handles that name it.
#include "conformance/suite.h"

namespace tessera::conformance {
namespace {

class PhysicalMemory : public Conformance {
 protected:
  Result<AllocationHandle> create(const AllocationProperties& properties, std::uint64_t flags = 0) {
    return driver().mem_create({.size = unit(), .properties = properties, .flags = flags});
  }
  void expect_refused(const CreateRequest& request, ErrorCode code) {
    const auto created = driver().mem_create(request);
    EXPECT_THAT(created, fails_with(code)) << "size " << request.size.value();
    if (created) {
      EXPECT_THAT(driver().mem_release(*created), is_ok());
    }
  }
  Result<AllocationProperties> properties(AllocationHandle handle) {
    return driver().mem_get_allocation_properties_from_handle({.handle = handle});
  }
};

TEST_P(PhysicalMemory, IsChargedExactly) {
  const Bytes before = free_memory();
  {
    const Memory small(driver(), unit());
    EXPECT_EQ(free_memory(), before - unit());
    const Memory large(driver(), unit() * 4);
    EXPECT_NE(small.handle(), large.handle());
    EXPECT_FALSE(small.handle().is_null());
    EXPECT_EQ(free_memory(), before - unit() * 5);
  }
  EXPECT_EQ(free_memory(), before);
}

TEST_P(PhysicalMemory, RefusesBadSizes) {
  for (const Bytes size :
       {Bytes(0), Bytes(1), unit() - 1_B, unit() + 1_B, Bytes(~std::uint64_t{0})}) {
    expect_refused({.size = size, .properties = {}}, ErrorCode::invalid_value);
  }
}

TEST_P(PhysicalMemory, RunsOut) {
  const Bytes total = must(driver().device_total_mem(first_device));
  const Bytes before = free_memory();
  expect_refused({.size = align_up(total * 4, unit()), .properties = {}}, ErrorCode::out_of_memory);
  EXPECT_EQ(free_memory(), before);
  const Memory small(driver(), unit());
}

TEST_P(PhysicalMemory, RefusesBadProperties) {
  const auto is_invalid = fails_with(ErrorCode::invalid_value);
  EXPECT_THAT(create({.type = AllocationType::invalid}), is_invalid);
  EXPECT_THAT(create({.type = static_cast<AllocationType>(77)}), is_invalid);
  EXPECT_THAT(create({.location = {.type = LocationType::none}}), is_invalid);
  EXPECT_THAT(create({.location = {.type = static_cast<LocationType>(7)}}), is_invalid);
  EXPECT_THAT(create({.compression = static_cast<Compression>(2)}), is_invalid);
  EXPECT_THAT(create({.reserved = {0, 0, 1, 0}}), is_invalid);
  EXPECT_THAT(create({}, 1), is_invalid);
  for (const std::int32_t ordinal : {device_count(), no_such_ordinal, -1}) {
    EXPECT_THAT(create({.location = {.type = LocationType::device, .id = ordinal}}),
                fails_with(ErrorCode::invalid_device));
  }
  for (const NullPointers null : {NullPointers::output, NullPointers::properties}) {
    expect_refused({.size = unit(), .properties = {}, .null_pointers = null},
                   ErrorCode::invalid_value);
  }
}

TEST_P(PhysicalMemory, TellsItsProperties) {
  const Memory plain(driver(), unit());
  EXPECT_THAT(properties(plain.handle()), is_ok_and_holds(AllocationProperties()));
  EXPECT_THAT(driver().mem_get_allocation_properties_from_handle(
                  {.handle = plain.handle(), .null_pointers = NullPointers::output}),
              fails_with(ErrorCode::invalid_value));
}

TEST_P(PhysicalMemory, IsCompressedWhereThatIsKnown) {
  const AllocationProperties compressed = {.compression = Compression::generic};
  const auto created = create(compressed);
  if (!features().compression) {
    EXPECT_THAT(created, fails_with(ErrorCode::invalid_value));
    return;
  }
  ASSERT_THAT(created, is_ok());
  const Memory memory(driver(), *created, unit());
  EXPECT_THAT(properties(memory.handle()), is_ok_and_holds(compressed));
}

TEST_P(PhysicalMemory, IsReleasedOncePerReference) {
  Memory memory(driver(), unit());
  EXPECT_THAT(memory.release(), is_ok());
  EXPECT_THAT(driver().mem_release(memory.handle()), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver().mem_release(AllocationHandle()), fails_with(ErrorCode::invalid_value));
}

TEST_P(PhysicalMemory, LivesWhileMapped) {
  Reservation range(driver(), unit() * 2);
  const Bytes before = free_memory();
  Memory memory(driver(), unit());
  range.map(range.begin(), unit(), memory.handle());
  EXPECT_THAT(memory.release(), is_ok());
  EXPECT_THAT(driver().mem_release(memory.handle()), fails_with(ErrorCode::invalid_value));
  EXPECT_EQ(free_memory(), before - unit());
  EXPECT_THAT(set_access(range.begin(), unit()), is_ok());
  expect_usable(range.begin(), unit());
  // The handle still names it while a mapping does.
  EXPECT_THAT(properties(memory.handle()), is_ok());
  EXPECT_NO_THROW(range.map(range.begin() + unit(), unit(), memory.handle()));
  EXPECT_THAT(range.unmap(range.begin(), unit()), is_ok());
  EXPECT_EQ(free_memory(), before - unit());
  EXPECT_THAT(range.unmap(range.begin() + unit(), unit()), is_ok());
  EXPECT_EQ(free_memory(), before);
}

TEST_P(PhysicalMemory, IsRetainedThroughItsAddress) {
  Reservation range(driver(), unit() * 2);
  Memory memory(driver(), unit() * 2);
  range.map(range.begin(), unit() * 2, memory.handle());
  for (const Bytes inside : {Bytes(0), 1_B, unit(), unit() * 2 - 1_B}) {
    EXPECT_THAT(driver().mem_retain_allocation_handle(range.begin() + inside),
                is_ok_and_holds(memory.handle()));
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(driver().mem_release(memory.handle()), is_ok());
  }
  EXPECT_THAT(memory.release(), is_ok());
  EXPECT_THAT(driver().mem_release(memory.handle()), fails_with(ErrorCode::invalid_value));
  // A released handle that is mapped is got back.
  EXPECT_THAT(driver().mem_retain_allocation_handle(range.begin()),
              is_ok_and_holds(memory.handle()));
  EXPECT_THAT(driver().mem_release(memory.handle()), is_ok());
}

TEST_P(PhysicalMemory, ARetainedReferenceKeepsIt) {
  const Bytes before = free_memory();
  {
    Reservation range(driver(), unit());
    Memory memory(driver(), unit());
    range.map(range.begin(), unit(), memory.handle());
    ASSERT_THAT(set_access(range.begin(), unit()), is_ok());
    ASSERT_THAT(put(range.begin(), 9), is_ok());
    const Memory retained(driver(), must(driver().mem_retain_allocation_handle(range.begin())),
                          unit());
    EXPECT_THAT(memory.release(), is_ok());
    EXPECT_THAT(range.unmap(range.begin(), unit()), is_ok());
    EXPECT_EQ(free_memory(), before - unit());
    range.map(range.begin(), unit(), retained.handle());
    ASSERT_THAT(set_access(range.begin(), unit()), is_ok());
    expect_byte(range.begin(), 9);
  }
  EXPECT_EQ(free_memory(), before);
}

TEST_P(PhysicalMemory, IsNotRetainedWhereNothingIsMapped) {
  const Reservation range(driver(), unit());
  EXPECT_THAT(driver().mem_retain_allocation_handle(range.begin()),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver().mem_retain_allocation_handle(DeviceAddress()),
              fails_with(ErrorCode::invalid_value));
}

// --- On the host ---

class HostMemory : public PhysicalMemory {
 protected:
  static constexpr Location host = {.type = LocationType::host, .id = 0};
  static constexpr Location node = {.type = LocationType::host_numa, .id = 0};
};

TEST_P(HostMemory, IsMadeWhereItIsKnown) {
  for (const Location& location : {host, node}) {
    const auto created = create({.location = location});
    if (!features().host_locations) {
      EXPECT_THAT(created, fails_with(ErrorCode::invalid_value));
      continue;
    }
    ASSERT_THAT(created, is_ok());
    const Memory memory(driver(), *created, unit());
    // The host is its first node, seen from behind.
    EXPECT_THAT(properties(memory.handle()),
                is_ok_and_holds(AllocationProperties{.location = node}));
  }
}

TEST_P(HostMemory, RefusesNodesThatAreNotThere) {
  for (const std::int32_t id : {-1, 1'000}) {
    EXPECT_THAT(create({.location = {.type = LocationType::host_numa, .id = id}}),
                fails_with(ErrorCode::invalid_value));
  }
  EXPECT_THAT(create({.location = {.type = LocationType::host_numa_current, .id = 0}}),
              fails_with(ErrorCode::invalid_value));
}

TEST_P(HostMemory, TakesNoDeviceMemory) {
  if (!features().host_locations) {
    EXPECT_THAT(create({.location = host}), fails_with(ErrorCode::invalid_value));
    return;
  }
  const Bytes before = free_memory();
  const Memory memory(driver(), unit(), {.location = host});
  EXPECT_EQ(free_memory(), before);
}

TEST_P(HostMemory, IsSharedByHostAndDevice) {
  if (!features().host_locations) {
    EXPECT_THAT(create({.location = host}), fails_with(ErrorCode::invalid_value));
    return;
  }
  Reservation range(driver(), unit());
  const Memory memory(driver(), unit(), {.location = host});
  range.map(range.begin(), unit(), memory.handle());
  const std::array descriptors = {
      AccessDescriptor{.location = on_device(first_device), .flags = AccessFlags::read_write},
      AccessDescriptor{.location = host, .flags = AccessFlags::read_write}};
  ASSERT_THAT(driver().mem_set_access(
                  {.address = range.begin(), .size = unit(), .descriptors = descriptors}),
              is_ok());
  EXPECT_THAT(access(range.begin()), is_ok_and_holds(AccessFlags::read_write));
  ASSERT_THAT(fill(range.begin(), unit(), 4), is_ok());
  if (features().bytes) {
    EXPECT_EQ(machine().host_read(range.begin() + 100_B), 4);
    machine().host_write(range.begin() + 100_B, 6);
    expect_byte(range.begin() + 100_B, 6);
    expect_byte(range.begin() + 101_B, 4);
  }
}

TEST_P(HostMemory, TheHostCannotHaveTheDevices) {
  Reservation range(driver(), unit());
  const Memory memory(driver(), unit());
  range.map(range.begin(), unit(), memory.handle());
  EXPECT_THAT(set_access_of(range.begin(), unit(), host, AccessFlags::read_write),
              fails_with(ErrorCode::not_supported));
}

INSTANTIATE_TEST_SUITE_P(All, PhysicalMemory, testing::ValuesIn(backends_of_books()), name_of);
INSTANTIATE_TEST_SUITE_P(All, HostMemory, testing::ValuesIn(backends_of_books()), name_of);

}  // namespace
}  // namespace tessera::conformance
