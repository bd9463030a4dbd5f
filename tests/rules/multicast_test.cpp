// Multicast objects are simulated only.
#include "rule_machine.h"

namespace tessera::rules {
namespace {

AllocationHandle object(RuleMachine& m, std::uint64_t units = 1) {
  return must(m->multicast_create({.device_count = 2, .size = m.units(units)}));
}
AllocationHandle full_object(RuleMachine& m, std::uint64_t units = 1) {
  const AllocationHandle multicast = object(m, units);
  must(m->multicast_add_device({.multicast = multicast, .device = device_0}));
  must(m->multicast_add_device({.multicast = multicast, .device = device_1}));
  return multicast;
}
Status bind(RuleMachine& m, AllocationHandle multicast, AllocationHandle memory,
            Bytes size = 2_MiB) {
  return m->multicast_bind_mem({.multicast = multicast, .memory = memory, .size = size});
}
Status unbind(RuleMachine& m, AllocationHandle multicast, std::uint64_t units = 1) {
  return m->multicast_unbind({.multicast = multicast, .device = device_0, .size = m.units(units)});
}
// The address of one that is bound and has access.
DeviceAddress mapped_object(RuleMachine& m) {
  const AllocationHandle multicast = full_object(m);
  must(bind(m, multicast, m.create(1)));
  must(bind(m, multicast, m.create(1, {.location = on_device(device_1)})));
  const DeviceAddress address = m.reserve(1);
  must(m.map(address, 1, multicast));
  must(m.allow(address, 1));
  return address;
}

TESSERA_BREAKS(multicast_device_count) {
  static_cast<void>(m->multicast_create({.device_count = 3, .size = m.units(1)}));
}
TESSERA_KEEPS(multicast_device_count) { object(m); }

TESSERA_BREAKS(multicast_size) {
  static_cast<void>(m->multicast_create({.device_count = 2, .size = 1_MiB}));
}
TESSERA_KEEPS(multicast_size) { object(m, 3); }

TESSERA_BREAKS(not_multicast) {
  static_cast<void>(m->multicast_add_device({.multicast = m.create(1), .device = device_0}));
}
TESSERA_KEEPS(not_multicast) { full_object(m); }

TESSERA_BREAKS(multicast_device_twice) {
  const AllocationHandle multicast = object(m);
  must(m->multicast_add_device({.multicast = multicast, .device = device_0}));
  static_cast<void>(m->multicast_add_device({.multicast = multicast, .device = device_0}));
}
TESSERA_KEEPS(multicast_device_twice) { full_object(m); }

TESSERA_BREAKS(multicast_devices_missing) { static_cast<void>(bind(m, object(m), m.create(1))); }
TESSERA_KEEPS(multicast_devices_missing) { must(bind(m, full_object(m), m.create(1))); }

TESSERA_BREAKS(binding_unaligned) {
  static_cast<void>(bind(m, full_object(m), m.create(1), 1_MiB));
}
TESSERA_KEEPS(binding_unaligned) { must(bind(m, full_object(m), m.create(1), 2_MiB)); }

TESSERA_BREAKS(binding_outside) {
  static_cast<void>(bind(m, full_object(m, 1), m.create(2), 4_MiB));
}
TESSERA_KEEPS(binding_outside) { must(bind(m, full_object(m, 2), m.create(2), 4_MiB)); }

TESSERA_BREAKS(binding_device_not_added) {
  const AllocationHandle multicast =
      must(m->multicast_create({.device_count = 1, .size = m.units(1)}));
  must(m->multicast_add_device({.multicast = multicast, .device = device_1}));
  static_cast<void>(bind(m, multicast, m.create(1)));
}
TESSERA_KEEPS(binding_device_not_added) {
  const AllocationHandle multicast =
      must(m->multicast_create({.device_count = 1, .size = m.units(1)}));
  must(m->multicast_add_device({.multicast = multicast, .device = device_1}));
  must(bind(m, multicast, m.create(1, {.location = on_device(device_1)})));
}

TESSERA_BREAKS(binding_overlaps) {
  const AllocationHandle multicast = full_object(m);
  must(bind(m, multicast, m.create(1)));
  static_cast<void>(bind(m, multicast, m.create(1)));
}
TESSERA_KEEPS(binding_overlaps) {
  const AllocationHandle multicast = full_object(m);
  must(bind(m, multicast, m.create(1)));
  must(unbind(m, multicast));
  must(bind(m, multicast, m.create(1)));
}

TESSERA_BREAKS(unbind_not_bound) { static_cast<void>(unbind(m, full_object(m))); }
TESSERA_KEEPS(unbind_not_bound) {
  const AllocationHandle multicast = full_object(m);
  must(bind(m, multicast, m.create(1)));
  must(unbind(m, multicast));
}

TESSERA_BREAKS(released_while_bound) {
  const AllocationHandle memory = m.create(1);
  must(bind(m, full_object(m), memory));
  static_cast<void>(m->mem_release(memory));
}
TESSERA_KEEPS(released_while_bound) {
  const AllocationHandle multicast = full_object(m);
  const AllocationHandle memory = m.create(1);
  must(bind(m, multicast, memory));
  must(unbind(m, multicast));
  must(m->mem_release(memory));
  must(m->mem_release(multicast));
}

TESSERA_BREAKS(multicast_read) {
  std::array<std::byte, 1> byte = {};
  static_cast<void>(m->memcpy_dtoh({.destination = byte, .source = mapped_object(m)}));
}
TESSERA_KEEPS(multicast_read) { must(m.put(mapped_object(m))); }

TESSERA_BREAKS(launch_multicast_read) {
  static_cast<void>(m->launch_touch({.address = mapped_object(m), .touch = Touch::read}));
}
TESSERA_KEEPS(launch_multicast_read) { must(m.launch(mapped_object(m))); }

TESSERA_BREAKS(binding_address_not_mapped) {
  static_cast<void>(m->multicast_bind_addr(
      {.multicast = full_object(m), .address = m.reserve(1), .size = m.units(1)}));
}
TESSERA_KEEPS(binding_address_not_mapped) {
  must(m->multicast_bind_addr(
      {.multicast = full_object(m), .address = m.mapped(1), .size = m.units(1)}));
}

}  // namespace
}  // namespace tessera::rules
