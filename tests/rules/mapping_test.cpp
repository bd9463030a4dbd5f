#include "rule_machine.h"

namespace tessera::rules {
namespace {

TESSERA_BREAKS(map_unaligned) { static_cast<void>(m.map(m.reserve(2) + 64_KiB, 1, m.create(1))); }
TESSERA_KEEPS(map_unaligned) { must(m.map(m.reserve(2) + m.units(1), 1, m.create(1))); }

TESSERA_BREAKS(map_not_reserved) {
  static_cast<void>(m.map(DeviceAddress(0x10000000), 1, m.create(1)));
}
TESSERA_KEEPS(map_not_reserved) { must(m.map(m.reserve(1), 1, m.create(1))); }

TESSERA_BREAKS(map_leaves_reservation) {
  const DeviceAddress address = m.reserve(2);
  static_cast<void>(m.map(address + m.units(1), 2, m.create(2)));
}
TESSERA_KEEPS(map_leaves_reservation) { must(m.map(m.reserve(3) + m.units(1), 2, m.create(2))); }

TESSERA_BREAKS(map_crosses_reservations) {
  static_cast<void>(m.map(m.neighbours(), 2, m.create(2)));
}
TESSERA_KEEPS(map_crosses_reservations) {
  const DeviceAddress first = m.neighbours();
  must(m.map(first, 1, m.create(1)));
  must(m.map(first + m.units(1), 1, m.create(1)));
}

TESSERA_BREAKS(map_over_mapping) { static_cast<void>(m.map(m.mapped(2), 1, m.create(1))); }
TESSERA_KEEPS(map_over_mapping) {
  const DeviceAddress address = m.mapped(1);
  must(m.unmap(address, 1));
  must(m.map(address, 1, m.create(1)));
}

TESSERA_BREAKS(map_not_whole_handle) { static_cast<void>(m.map(m.reserve(2), 1, m.create(2))); }
// One handle mapped twice, as a ring is.
TESSERA_KEEPS(map_not_whole_handle) {
  const AllocationHandle handle = m.create(1);
  const DeviceAddress address = m.reserve(2);
  must(m.map(address, 1, handle));
  must(m.map(address + m.units(1), 1, handle));
}

TESSERA_BREAKS(map_tile_pool) {
  static_cast<void>(m.map(m.reserve(1), 1, m.create(1, {.usage = 1})));
}
TESSERA_KEEPS(map_tile_pool) { must(m.map(m.reserve(1), 1, m.create(1, {.usage = 0}))); }

// Memory for GPU-direct RDMA mapped twice, whose first mapping is unmapped before the other gets
// access.
TESSERA_BREAKS(map_rdma_unregistered) {
  const auto row = m.rdma_row();
  must(m.unmap(row.first, 1));
  must(m.allow(row.second, 1));
  static_cast<void>(m.map(row.vacant, 1, row.handle));
}
// The same in an order that every buffer that moves keeps to: access, then the unmap.
TESSERA_KEEPS(map_rdma_unregistered) {
  const auto row = m.rdma_row();
  must(m.allow(row.second, 1));
  must(m.unmap(row.first, 1));
  must(m.map(row.vacant, 1, row.handle));
  must(m.allow(row.vacant, 1));
}

TESSERA_BREAKS(unmap_size_zero) { static_cast<void>(m.unmap(m.mapped(1), 0)); }
TESSERA_KEEPS(unmap_size_zero) { must(m.unmap(m.mapped(1), 1)); }

TESSERA_BREAKS(unmap_not_reserved) { static_cast<void>(m.unmap(DeviceAddress(0x10000000), 1)); }
TESSERA_KEEPS(unmap_not_reserved) { m.undo(m.mapped(1), 1); }

TESSERA_BREAKS(unmap_nothing) { static_cast<void>(m.unmap(m.reserve(4), 4)); }
TESSERA_KEEPS(unmap_nothing) { must(m.unmap(m.mapped(4), 4)); }

TESSERA_BREAKS(unmap_twice) {
  const DeviceAddress address = m.mapped(1);
  must(m.unmap(address, 1));
  static_cast<void>(m.unmap(address, 1));
}
TESSERA_KEEPS(unmap_twice) {
  const DeviceAddress address = m.mapped(1);
  must(m.unmap(address, 1));
  m.fill(address, 1);
  must(m.unmap(address, 1));
}

// A growth that failed half-way, undone as if it had not.
TESSERA_BREAKS(unmap_over_hole) {
  const DeviceAddress address = m.reserve(4);
  m.fill(address, 1);
  static_cast<void>(m.unmap(address, 4));
}
TESSERA_KEEPS(unmap_over_hole) {
  const DeviceAddress address = m.reserve(4);
  m.fill(address, 1);
  must(m.unmap(address, 1));
}

TESSERA_BREAKS(unmap_unaligned) {
  const DeviceAddress address = m.reserve(2);
  m.fill(address, 1);
  static_cast<void>(m->mem_unmap({.address = address, .size = m.units(1) + Bytes(1)}));
}
TESSERA_KEEPS(unmap_unaligned) {
  const DeviceAddress address = m.reserve(2);
  m.fill(address, 1);
  must(m->mem_unmap({.address = address, .size = m.units(1)}));
}

TESSERA_BREAKS(unmap_cuts_mapping) { static_cast<void>(m.unmap(m.mapped(2), 1)); }
TESSERA_KEEPS(unmap_cuts_mapping) {
  const DeviceAddress address = m.reserve(2);
  m.fill(address, 1);
  m.fill(address + m.units(1), 1);
  must(m.unmap(address, 1));
}

TESSERA_BREAKS(unmap_wraps) {
  const DeviceAddress address = m.mapped(1);
  static_cast<void>(m->mem_unmap({.address = address, .size = Bytes(~std::uint64_t{0} << 21U)}));
}
TESSERA_KEEPS(unmap_wraps) { must(m.unmap(m.mapped(1), 1)); }

TESSERA_BREAKS(unmap_several_mappings) {
  const DeviceAddress address = m.reserve(2);
  m.fill(address, 1);
  m.fill(address + m.units(1), 1);
  static_cast<void>(m.unmap(address, 2));
}
TESSERA_KEEPS(unmap_several_mappings) {
  const DeviceAddress address = m.reserve(2);
  m.fill(address, 1);
  m.fill(address + m.units(1), 1);
  must(m.unmap(address, 1));
  must(m.unmap(address + m.units(1), 1));
}

}  // namespace
}  // namespace tessera::rules
