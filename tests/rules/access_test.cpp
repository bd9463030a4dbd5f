#include <unistd.h>

#include "rule_machine.h"

namespace tessera::rules {
namespace {

Status allow_for(RuleMachine& m, DeviceAddress address, std::vector<AccessDescriptor> descriptors) {
  return m->mem_set_access({.address = address, .size = m.units(1), .descriptors = descriptors});
}
constexpr AccessDescriptor for_device_0 = {.location = on_device(device_0),
                                           .flags = AccessFlags::read_write};
constexpr AccessDescriptor for_device_1 = {.location = on_device(device_1),
                                           .flags = AccessFlags::read};

TESSERA_BREAKS(set_access_empty) { static_cast<void>(allow_for(m, m.mapped(1), {})); }
TESSERA_KEEPS(set_access_empty) { must(allow_for(m, m.mapped(1), {for_device_0})); }

TESSERA_BREAKS(set_access_not_mapped) { static_cast<void>(m.allow(m.reserve(1), 1)); }
TESSERA_KEEPS(set_access_not_mapped) { must(m.allow(m.mapped(1), 1)); }

// As a program does that goes on after a create that failed.
TEST(Validation, SaysSinceWhenNothingIsMapped) {
  RuleMachine m(h200(), ValidationMode::report);
  const DeviceAddress address = m.mapped(1);
  must(m.unmap(address, 1));
  EXPECT_FALSE(m.allow(address, 1));
  EXPECT_EQ(m->findings().at(0).object.call, Call::mem_unmap);
}

TESSERA_BREAKS(set_access_cuts_mapping) { static_cast<void>(m.allow(m.mapped(2), 1)); }
TESSERA_KEEPS(set_access_cuts_mapping) { must(m.allow(m.mapped(2), 2)); }

TESSERA_BREAKS(set_access_over_hole) {
  const DeviceAddress address = m.reserve(3);
  m.fill(address, 1);
  m.fill(address + m.units(2), 1);
  static_cast<void>(m.allow(address, 3));
}
TESSERA_KEEPS(set_access_over_hole) {
  const DeviceAddress address = m.reserve(3);
  for (std::uint64_t i = 0; i < 3; ++i) {
    m.fill(address + m.units(i), 1);
  }
  must(m.allow(address, 3));
}

TESSERA_BREAKS(access_flags_unknown) {
  static_cast<void>(m.allow(m.mapped(1), 1, device_0, static_cast<AccessFlags>(2)));
}
TESSERA_KEEPS(access_flags_unknown) { must(m.allow(m.mapped(1), 1, device_0, AccessFlags::read)); }

TESSERA_BREAKS(access_location) {
  static_cast<void>(
      allow_for(m, m.mapped(1),
                {{.location = {.type = LocationType::none}, .flags = AccessFlags::read_write}}));
}
TESSERA_KEEPS(access_location) { must(allow_for(m, m.mapped(1), {for_device_0, for_device_1})); }

TESSERA_BREAKS_ON(without_peers, access_peer_unreachable) {
  static_cast<void>(m.allow(m.mapped(1), 1, device_1));
}
TESSERA_KEEPS_ON(without_peers, access_peer_unreachable) {
  const DeviceAddress address = m.reserve(1);
  must(m.map(address, 1, m.create(1, {.location = on_device(device_1)})));
  must(m.allow(address, 1, device_1));
}

TESSERA_BREAKS(access_host_to_device_memory) {
  static_cast<void>(
      allow_for(m, m.mapped(1),
                {{.location = {.type = LocationType::host}, .flags = AccessFlags::read_write}}));
}
TESSERA_KEEPS(access_host_to_device_memory) {
  const DeviceAddress address = m.reserve(1);
  must(m.map(address, 1, m.create(1, {.location = {.type = LocationType::host}})));
  must(allow_for(m, address,
                 {{.location = {.type = LocationType::host}, .flags = AccessFlags::read_write}}));
}

TESSERA_BREAKS(access_location_twice) {
  static_cast<void>(allow_for(m, m.mapped(1), {for_device_0, for_device_0}));
}
TESSERA_KEEPS(access_location_twice) {
  const DeviceAddress address = m.mapped(1);
  must(allow_for(m, address, {for_device_0}));
  must(allow_for(m, address, {for_device_0}));
}

// A row of mappings, all but the first set in one call.
TESSERA_BREAKS(set_access_part_of_run) {
  const DeviceAddress address = m.reserve(3);
  for (std::uint64_t i = 0; i < 3; ++i) {
    m.fill(address + m.units(i), 1);
  }
  static_cast<void>(m.allow(address + m.units(1), 2));
}
// A buffer that grows sets access for what is new, mapping by mapping.
TESSERA_KEEPS(set_access_part_of_run) {
  const DeviceAddress address = m.reserve(3);
  for (std::uint64_t i = 0; i < 3; ++i) {
    m.fill(address + m.units(i), 1);
    must(m.allow(address + m.units(i), 1));
  }
}

TESSERA_BREAKS(set_access_rdma_unregistered) {
  const auto row = m.rdma_row();
  must(m.unmap(row.first, 1));
  static_cast<void>(m.allow(row.second, 2));
}
// Imported memory is not registered, and other memory needs no registration.
TESSERA_KEEPS(set_access_rdma_unregistered) {
  const AllocationHandle made = m.create(
      1,
      {.requested_handle_types = HandleTypes::posix_file_descriptor, .gpu_direct_rdma_capable = 1});
  const ShareableHandle exported = must(m->mem_export_to_shareable_handle({.handle = made}));
  const AllocationHandle imported = must(m->mem_import_from_shareable_handle(exported));
  ::close(exported.file_descriptor);
  for (const AllocationHandle handle : {imported, m.create(1)}) {
    const DeviceAddress address = m.reserve(3);
    for (std::uint64_t i = 0; i < 3; ++i) {
      must(m.map(address + m.units(i), 1, handle));
    }
    must(m.unmap(address, 1));
    must(m.allow(address + m.units(1), 2));
  }
}

TESSERA_BREAKS(set_access_rdma_peer) {
  const auto row = m.rdma_row();
  must(m.unmap(row.first, 1));
  static_cast<void>(m.allow(row.second, 1, device_1));
}
TESSERA_KEEPS(set_access_rdma_peer) {
  const auto row = m.rdma_row();
  must(m.allow(row.second, 1, device_1));
  must(m.unmap(row.first, 1));
  must(m.allow(row.second, 1, device_1, AccessFlags::none));
}

TESSERA_BREAKS(get_access_not_mapped) {
  static_cast<void>(m->mem_get_access({.address = m.reserve(1)}));
}
TESSERA_KEEPS(get_access_not_mapped) { must(m->mem_get_access({.address = m.mapped(1)})); }

TESSERA_BREAKS(get_access_other_memory) {
  static_cast<void>(m->mem_get_access({.address = must(m->mem_alloc(Bytes(16)))}));
}
TESSERA_KEEPS(get_access_other_memory) {
  must(m->mem_alloc(Bytes(16)));
  must(m->mem_get_access({.address = m.mapped(1)}));
}

}  // namespace
}  // namespace tessera::rules
