#include "tessera/owners/access_set.h"

#include <bit>

#include "tessera/check.h"

namespace tessera {
namespace {

constexpr std::uint64_t bit_of(std::int32_t id) noexcept {
  TESSERA_CHECK(id >= 0 && id < AccessSet::locations_max);
  return std::uint64_t{1} << static_cast<unsigned>(id);
}

// Calls `visit` with the number of each bit set, lowest first.
template <class Visit>
void for_each_bit(std::uint64_t bits, const Visit& visit) {
  for (; bits != 0; bits &= bits - 1) {
    visit(static_cast<std::int32_t>(std::countr_zero(bits)));
  }
}

}  // namespace

AccessSet AccessSet::of_device(DeviceOrdinal device, AccessFlags flags) {
  return AccessSet().set(on_device(device), flags);
}

AccessSet AccessSet::of_devices(std::span<const DeviceOrdinal> devices, AccessFlags flags) {
  AccessSet set;
  for (const DeviceOrdinal device : devices) {
    set.set(on_device(device), flags);
  }
  return set;
}

AccessSet AccessSet::of_devices(std::initializer_list<DeviceOrdinal> devices, AccessFlags flags) {
  return of_devices(std::span(devices.begin(), devices.size()), flags);
}

AccessSet::Rights& AccessSet::rights_of(LocationType type) {
  return const_cast<Rights&>(static_cast<const AccessSet*>(this)->rights_of(type));
}

const AccessSet::Rights& AccessSet::rights_of(LocationType type) const {
  switch (type) {
    case LocationType::device:
      return devices_;
    case LocationType::host:
      return host_;
    default:
      TESSERA_CHECK(type == LocationType::host_numa);
      return numa_;
  }
}

AccessSet& AccessSet::set(Location location, AccessFlags flags) {
  TESSERA_CHECK(flags == AccessFlags::none || flags == AccessFlags::read ||
                flags == AccessFlags::read_write);
  Rights& rights = rights_of(location.type);
  const std::uint64_t bit = bit_of(location.id);
  rights.read = flags == AccessFlags::none ? rights.read & ~bit : rights.read | bit;
  rights.write = flags == AccessFlags::read_write ? rights.write | bit : rights.write & ~bit;
  return *this;
}

AccessSet AccessSet::joined_with(const AccessSet& other) const {
  AccessSet joined = without(other);
  const auto add = [](Rights& rights, const Rights& more) {
    rights.read |= more.read;
    rights.write |= more.write;
  };
  add(joined.devices_, other.devices_);
  add(joined.host_, other.host_);
  add(joined.numa_, other.numa_);
  return joined;
}

AccessSet AccessSet::without(const AccessSet& other) const {
  AccessSet rest = *this;
  const auto take = [](Rights& rights, const Rights& less) {
    rights.read &= ~less.read;
    rights.write &= ~less.read;
  };
  take(rest.devices_, other.devices_);
  take(rest.host_, other.host_);
  take(rest.numa_, other.numa_);
  return rest;
}

AccessFlags AccessSet::of(Location location) const {
  const Rights& rights = rights_of(location.type);
  const std::uint64_t bit = bit_of(location.id);
  if ((rights.read & bit) == 0) {
    return AccessFlags::none;
  }
  return (rights.write & bit) != 0 ? AccessFlags::read_write : AccessFlags::read;
}

std::vector<DeviceOrdinal> AccessSet::devices() const {
  std::vector<DeviceOrdinal> devices;
  for_each_bit(devices_.read, [&](std::int32_t id) { devices.emplace_back(id); });
  return devices;
}

std::span<const AccessDescriptor> AccessSet::descriptors_in(std::span<AccessDescriptor> out) const {
  std::size_t next = 0;
  const auto append = [&](LocationType type, const Rights& rights) {
    for_each_bit(rights.read, [&](std::int32_t id) {
      TESSERA_CHECK(next < out.size());
      const bool writes = (rights.write & bit_of(id)) != 0;
      out[next++] = {.location = {.type = type, .id = id},
                     .flags = writes ? AccessFlags::read_write : AccessFlags::read};
    });
  };
  append(LocationType::device, devices_);
  append(LocationType::host, host_);
  append(LocationType::host_numa, numa_);
  return out.first(next);
}

std::vector<AccessDescriptor> AccessSet::descriptors() const {
  std::vector<AccessDescriptor> all(count());
  static_cast<void>(descriptors_in(all));
  return all;
}

std::vector<AccessDescriptor> AccessSet::revoking_descriptors() const {
  std::vector<AccessDescriptor> all = descriptors();
  for (AccessDescriptor& descriptor : all) {
    descriptor.flags = AccessFlags::none;
  }
  return all;
}

}  // namespace tessera
