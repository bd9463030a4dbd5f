// The usual steps of a program on bare driver calls, by short names; sizes in units. A machine of a
// test derives from it, and has `driver()` and `unit()`:
//
//   class Machine : public BareCalls<Machine> { ... };
#pragma once

#include <array>
#include <cstdint>

#include "support/must.h"
#include "tessera/driver.h"

namespace tessera::test {

template <class Machine>
class BareCalls {
 public:
  [[nodiscard]] Bytes units(std::uint64_t count) { return machine().unit() * count; }

  DeviceAddress reserve(std::uint64_t count, DeviceAddress hint = {}) {
    return must(driver().mem_address_reserve({.size = units(count), .hint = hint}));
  }
  Status free(DeviceAddress address, std::uint64_t count) {
    return driver().mem_address_free({.address = address, .size = units(count)});
  }
  AllocationHandle create(std::uint64_t count, const AllocationProperties& properties = {}) {
    return must(driver().mem_create({.size = units(count), .properties = properties}));
  }
  AllocationHandle exportable(std::uint64_t count = 1) {
    return create(count, {.requested_handle_types = HandleTypes::posix_file_descriptor});
  }
  Status map(DeviceAddress address, std::uint64_t count, AllocationHandle handle) {
    return driver().mem_map({.address = address, .size = units(count), .handle = handle});
  }
  Status unmap(DeviceAddress address, std::uint64_t count) {
    return driver().mem_unmap({.address = address, .size = units(count)});
  }
  Status allow(DeviceAddress address, std::uint64_t count, DeviceOrdinal device = {},
               AccessFlags flags = AccessFlags::read_write) {
    return allow_for(address, count, on_device(device), flags);
  }
  Status allow_for(DeviceAddress address, std::uint64_t count, Location location,
                   AccessFlags flags) {
    const std::array descriptors = {AccessDescriptor{.location = location, .flags = flags}};
    return driver().mem_set_access(
        {.address = address, .size = units(count), .descriptors = descriptors});
  }
  // A mapping in what is reserved, held by the mapping alone, without access.
  void fill(DeviceAddress address, std::uint64_t count) {
    const AllocationHandle handle = create(count);
    must(map(address, count, handle));
    must(driver().mem_release(handle));
  }
  // A reservation that one such mapping fills, with access for device 0.
  DeviceAddress mapped(std::uint64_t count) {
    const DeviceAddress address = reserve(count);
    fill(address, count);
    must(allow(address, count));
    return address;
  }
  // A kernel that writes there after a millisecond.
  Status launch(DeviceAddress address, StreamHandle stream = {}) {
    return driver().launch_touch(
        {.address = address, .touch = Touch::write, .duration_ns = 1'000'000, .stream = stream});
  }

 protected:
  BareCalls() = default;

 private:
  Machine& machine() { return static_cast<Machine&>(*this); }
  Driver& driver() { return machine().driver(); }
};

}  // namespace tessera::test
