#include "conformance/suite.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace tessera::conformance {

Reservation::Reservation(Driver& driver, Bytes size, Bytes alignment)
    : driver_(driver),
      size_(size),
      begin_(must(driver.mem_address_reserve({.size = size, .alignment = alignment}))) {}

Reservation::~Reservation() {
  for (const auto& [address, size] : mappings_) {
    EXPECT_THAT(driver_.mem_unmap({.address = address, .size = size}), is_ok());
  }
  if (!is_freed_) {
    EXPECT_THAT(driver_.mem_address_free({.address = begin_, .size = size_}), is_ok());
  }
}

void Reservation::map(DeviceAddress address, Bytes size, AllocationHandle handle) {
  must(driver_.mem_map({.address = address, .size = size, .handle = handle}));
  mappings_.emplace_back(address, size);
}

Status Reservation::unmap(DeviceAddress address, Bytes size) {
  const Status unmapped = driver_.mem_unmap({.address = address, .size = size});
  if (unmapped) {
    const AddressRange range(address, size);
    std::erase_if(mappings_, [&](const std::pair<DeviceAddress, Bytes>& mapping) {
      return range.contains(mapping.first);
    });
  }
  return unmapped;
}

Memory::Memory(Driver& driver, Bytes size, const AllocationProperties& properties)
    : Memory(driver, must(driver.mem_create({.size = size, .properties = properties})), size) {}

Memory::Memory(Driver& driver, AllocationHandle handle, Bytes size)
    : driver_(driver), size_(size), handle_(handle) {}

Memory::~Memory() {
  if (!is_released_) {
    EXPECT_THAT(driver_.mem_release(handle_), is_ok());
  }
}

Status Memory::release() {
  is_released_ = true;
  return driver_.mem_release(handle_);
}

void FreshMachine::SetUp() {
  if (devices_needed() > GetParam().devices_max) {
    GTEST_SKIP() << "needs " << devices_needed() << " devices; " << GetParam().name << " has "
                 << GetParam().devices_max;
  }
  machine_ = GetParam().make(devices_needed());
  if (machine_.driver == nullptr) {
    GTEST_SKIP() << machine_.missing;
  }
}

void FreshMachine::TearDown() {
  if (machine_.driver != nullptr && machine_.left_over) {
    EXPECT_EQ(machine_.left_over(), "");
  }
}

void FreshMachine::isolated(const std::function<void()>& body) {
  if (!machine_.isolates) {
    body();
    return;
  }
  // The child starts the program anew: a forked one could not use the driver.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [&] {
    body();
    // Nobody prints a child's failures but itself.
    const testing::TestResult& result =
        *testing::UnitTest::GetInstance()->current_test_info()->result();
    for (int i = 0; i < result.total_part_count(); ++i) {
      if (result.GetTestPartResult(i).failed()) {
        std::fprintf(stderr, "%s\n", result.GetTestPartResult(i).message());
      }
    }
    std::_Exit(result.Failed() ? 1 : 0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

void Conformance::SetUp() {
  FreshMachine::SetUp();
  if (IsSkipped()) {
    return;
  }
  must(driver().init(0));
  features_ = machine().features();
  const Bytes granularity = must(driver().mem_get_allocation_granularity({.properties = {}}));
  unit_ = Bytes(std::lcm(granularity.value(), features_.reservation_granularity.value()));
  device_count_ = must(driver().device_get_count());
  primary_ = must(driver().device_primary_ctx_retain(first_device));
  must(driver().ctx_set_current(primary_));
}

void Conformance::TearDown() {
  if (!primary_.is_null()) {
    const Status waited = driver().ctx_synchronize();
    EXPECT_TRUE(waited || may_be_lost()) << to_string(waited.error());
    EXPECT_THAT(driver().ctx_set_current(ContextHandle()), is_ok());
    EXPECT_THAT(driver().device_primary_ctx_release(first_device), is_ok());
  }
  FreshMachine::TearDown();
}

Bytes Conformance::free_memory() { return must(driver().mem_get_info()).free; }

Status Conformance::set_access(DeviceAddress address, Bytes size, AccessFlags flags,
                               DeviceOrdinal device) {
  return set_access_of(address, size, on_device(device), flags);
}

Status Conformance::set_access_of(DeviceAddress address, Bytes size, Location location,
                                  AccessFlags flags) {
  const std::array descriptors = {AccessDescriptor{.location = location, .flags = flags}};
  return driver().mem_set_access({.address = address, .size = size, .descriptors = descriptors});
}

Result<AccessFlags> Conformance::access(DeviceAddress address, DeviceOrdinal device) {
  return driver().mem_get_access({.address = address, .location = on_device(device)});
}

Status Conformance::fill(DeviceAddress address, Bytes size, std::uint8_t value) {
  TESSERA_TRY(driver().memset_d8({.destination = address, .value = value, .size = size}));
  return driver().ctx_synchronize();
}

Status Conformance::put(DeviceAddress address, std::uint8_t value) {
  const std::array source = {std::byte{value}};
  return driver().memcpy_htod({.destination = address, .source = source});
}

Result<std::uint8_t> Conformance::get(DeviceAddress address) {
  std::array<std::byte, 1> byte = {};
  TESSERA_TRY(driver().memcpy_dtoh({.destination = byte, .source = address}));
  return std::to_integer<std::uint8_t>(byte[0]);
}

void Conformance::expect_byte(DeviceAddress address, std::uint8_t value) {
  const Result<std::uint8_t> found = get(address);
  EXPECT_THAT(found, is_ok());
  if (found && features_.bytes) {
    EXPECT_EQ(int{*found}, int{value});
  }
}

Status Conformance::launch_write(DeviceAddress address, std::uint8_t value, StreamHandle stream,
                                 std::uint64_t duration_ns) {
  return driver().launch_touch({.address = address,
                                .touch = Touch::write,
                                .value = value,
                                .duration_ns = duration_ns,
                                .stream = stream});
}

Result<std::uint64_t> Conformance::attribute(PointerAttribute which, DeviceAddress address) {
  return driver().pointer_get_attribute({.attribute = which, .address = address});
}

void Conformance::expect_usable(DeviceAddress address, Bytes size) {
  const DeviceAddress last = address + (size - 1_B);
  EXPECT_THAT(put(address, 0x5a), is_ok());
  EXPECT_THAT(put(last, 0xa5), is_ok());
  expect_byte(address, 0x5a);
  expect_byte(last, 0xa5);
}

std::string name_of(const testing::TestParamInfo<Backend>& info) { return info.param.name; }

}  // namespace tessera::conformance
