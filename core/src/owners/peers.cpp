#include "tessera/owners/peers.h"

#include <vector>

#include "tessera/owners/mapping_walk.h"

namespace tessera {
namespace {

// Who had which access to a mapping before it was granted more.
struct Granted {
  AddressRange mapping;
  std::vector<AccessDescriptor> before;
};

Status set_access(Driver& driver, AddressRange range,
                  std::span<const AccessDescriptor> descriptors) {
  return driver.mem_set_access(
      {.address = range.begin(), .size = range.size(), .descriptors = descriptors});
}

// ERRORS: also those of asking for the memory behind the mapping.
Status check_reach_of_mapping(Driver& driver, DeviceAddress address,
                              std::span<const DeviceOrdinal> accessors) {
  TESSERA_TRY_ASSIGN(PhysicalAllocation memory, PhysicalAllocation::retain(driver, address));
  const Location location = memory.asked().location;
  TESSERA_TRY(memory.close());
  if (location.type != LocationType::device) {
    return {};
  }
  return check_reach(driver, DeviceOrdinal(location.id), accessors);
}

}  // namespace

Status check_reach(Driver& driver, DeviceOrdinal owner, std::span<const DeviceOrdinal> accessors) {
  for (const DeviceOrdinal accessor : accessors) {
    if (accessor == owner) {
      continue;
    }
    TESSERA_TRY_ASSIGN(const bool reaches,
                       driver.device_can_access_peer({.device = accessor, .peer = owner}));
    if (!reaches) {
      return Error{.code = ErrorCode::peer_access_unsupported,
                   .call = Call::device_can_access_peer,
                   .reason = Reason::not_peers,
                   .values = {static_cast<std::uint64_t>(std::int64_t{accessor.value()}),
                              static_cast<std::uint64_t>(std::int64_t{owner.value()})}};
    }
  }
  return {};
}

Status grant(Mapping& mapping, std::span<const DeviceOrdinal> devices) {
  const Location location = mapping.memory_location();
  if (location.type == LocationType::device) {
    TESSERA_TRY(check_reach(mapping.driver(), DeviceOrdinal(location.id), devices));
  }
  return mapping.grant(AccessSet::of_devices(devices));
}

Status grant(Driver& driver, AddressRange range, std::span<const DeviceOrdinal> devices) {
  TESSERA_TRY_ASSIGN(const std::vector<AddressRange> mappings, mappings_in(driver, range));
  for (const AddressRange mapping : mappings) {
    TESSERA_TRY(check_reach_of_mapping(driver, mapping.begin(), devices));
  }
  const std::vector<AccessDescriptor> access = AccessSet::of_devices(devices).descriptors();
  if (access.empty()) {
    return {};
  }
  std::vector<Granted> granted;
  for (const AddressRange mapping : mappings) {
    Granted& now = granted.emplace_back(Granted{.mapping = mapping, .before = access});
    for (AccessDescriptor& descriptor : now.before) {
      TESSERA_TRY_ASSIGN(
          descriptor.flags,
          driver.mem_get_access({.address = mapping.begin(), .location = descriptor.location}));
    }
  }
  for (std::size_t done = 0; done < granted.size(); ++done) {
    const Status set = set_access(driver, granted[done].mapping, access);
    if (!set) {
      // The error of the call is the one to report, whatever becomes of putting things back. Of the
      // call that failed, too, some descriptors may have been applied.
      for (std::size_t i = done + 1; i-- > 0;) {
        static_cast<void>(set_access(driver, granted[i].mapping, granted[i].before));
      }
      return set;
    }
  }
  return {};
}

}  // namespace tessera
