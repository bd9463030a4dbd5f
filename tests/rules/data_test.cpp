#include <unistd.h>

#include "rule_machine.h"

namespace tessera::rules {
namespace {

TESSERA_BREAKS(copy_not_mapped) {
  const DeviceAddress address = m.mapped(1);
  must(m.unmap(address, 1));
  static_cast<void>(m.put(address));
}
TESSERA_KEEPS(copy_not_mapped) {
  must(m.put(m.mapped(1)));
  must(m.put(must(m->mem_alloc(Bytes(16))), 16));
  must(m.put(must(m.simulator().mem_alloc(Bytes(16))), 16));  // not seen by the layer
}

TESSERA_BREAKS(copy_no_access) {
  const DeviceAddress address = m.reserve(1);
  m.fill(address, 1);
  static_cast<void>(m.put(address));
}
TESSERA_KEEPS(copy_no_access) {
  const DeviceAddress address = m.reserve(1);
  m.fill(address, 1);
  must(m.allow(address, 1));
  must(m.put(address));
}
// The driver refuses it under a context, and crashes without one.
Status copy_without_context(RuleMachine& m, DeviceAddress from) {
  const DeviceAddress to = m.mapped(1);
  const StreamHandle stream = must(m->stream_create(StreamFlags::blocking));
  must(m->ctx_set_current({}));
  return m->memcpy_dtod_async(
      {.copy = {.destination = to, .source = from, .size = 1_KiB}, .stream = stream});
}
TESSERA_BREAKS(copy_without_context) {
  const DeviceAddress address = m.reserve(1);
  m.fill(address, 1);
  static_cast<void>(copy_without_context(m, address));
}
TESSERA_KEEPS(copy_without_context) { must(copy_without_context(m, m.mapped(1))); }
TESSERA_BREAKS(copy_no_access_on_host) {
  const DeviceAddress address = m.reserve(1);
  must(m.map(address, 1, m.create(1, {.location = {.type = LocationType::host_numa}})));
  static_cast<void>(m.put(address));
}
TESSERA_KEEPS(copy_no_access_on_host) {
  const DeviceAddress address = m.reserve(1);
  must(m.map(address, 1, m.create(1, {.location = {.type = LocationType::host_numa}})));
  must(m.allow(address, 1));
  must(m.put(address));
  must(m->ctx_synchronize());
  // The host's access is enough: the CPU copies.
  must(m.allow_for(address, 1, {.type = LocationType::host}, AccessFlags::read_write));
  must(m.allow(address, 1, device_0, AccessFlags::none));
  must(m.put(address));
}
// All that the CPU copies has to be open to it: no device's memory, no hole, no other's.
TEST(Validation, LooksAtAllThatTheCpuWouldCopy) {
  RuleMachine m(h200(), ValidationMode::report);
  const DeviceAddress address = m.reserve(3);
  must(m.map(address, 1, m.create(1, {.location = {.type = LocationType::host_numa}})));
  must(m.allow_for(address, 1, {.type = LocationType::host}, AccessFlags::read));
  const DeviceAddress other = must(m->mem_alloc(RuleMachine::unit() * 2));
  const auto from = [&](Bytes size) {
    return m->memcpy_dtod({.destination = other, .source = address, .size = size});
  };
  must(from(RuleMachine::unit()));
  EXPECT_EQ(m->findings().size(), 0U);
  EXPECT_FALSE(from(RuleMachine::unit() * 2));  // a hole
  m.fill(address + m.units(1), 1);
  must(m.allow(address + m.units(1), 1));
  EXPECT_FALSE(from(RuleMachine::unit() * 2));  // a device's memory
  EXPECT_FALSE(m.put(address));                 // it can only be read
  ASSERT_EQ(m->findings().size(), 3U);
  for (const Finding& finding : m->findings()) {
    EXPECT_EQ(finding.rule, RuleId::copy_no_access_on_host);
  }
  EXPECT_EQ(m->findings()[1].values[0], (address + m.units(1)).value());
}
// A fill is the device's, whose access it needs.
TEST(Validation, TellsFillsOfHostMemoryFromCopies) {
  RuleMachine m(h200(), ValidationMode::report);
  const DeviceAddress address = m.reserve(1);
  must(m.map(address, 1, m.create(1, {.location = {.type = LocationType::host_numa}})));
  EXPECT_FALSE(m->memset_d8({.destination = address, .value = 1, .size = Bytes(1)}));
  EXPECT_EQ(m->findings().at(0).rule, RuleId::copy_no_access);
}
TEST(Validation, NamesThePeerThatLacksAccess) {
  RuleMachine m(h200(), ValidationMode::report);
  const DeviceAddress address = m.mapped(1);
  must(m->ctx_set_current(must(m->device_primary_ctx_retain(device_1))));
  EXPECT_FALSE(m.put(address));
  EXPECT_EQ(m->findings().at(0).rule, RuleId::copy_no_access);
  EXPECT_EQ(m->findings().at(0).values[1], 1U);
  must(m.allow(address, 1, device_1));
  must(m.put(address));
  EXPECT_EQ(m->findings().size(), 1U);
}
// Of several descriptors, those before one that is refused may have been set.
TEST(Validation, IsSilentWhereAFailedCallLeftTheAccessOpen) {
  RuleMachine m(h200(), ValidationMode::report);
  const DeviceAddress address = m.reserve(1);
  m.fill(address, 1);
  const std::array descriptors = {
      AccessDescriptor{.location = on_device(device_0), .flags = AccessFlags::read_write},
      AccessDescriptor{.location = {.type = LocationType::host}, .flags = AccessFlags::read}};
  EXPECT_FALSE(
      m->mem_set_access({.address = address, .size = m.units(1), .descriptors = descriptors}));
  must(m.put(address));
  EXPECT_EQ(m->findings().size(), 1U);
}

TESSERA_BREAKS(copy_crosses_reservations) {
  const DeviceAddress first = m.neighbours();
  const DeviceAddress second = first + m.units(1);
  for (const DeviceAddress address : {first, second}) {
    m.fill(address, 1);
    must(m.allow(address, 1));
  }
  static_cast<void>(m.put(second - Bytes(8), 16));
}
TESSERA_KEEPS(copy_crosses_reservations) {
  const DeviceAddress address = m.reserve(2);
  m.fill(address, 1);
  m.fill(address + m.units(1), 1);
  must(m.allow(address, 2));
  must(m.put(address + m.units(1) - Bytes(8), 16));
}

TESSERA_BREAKS(launch_not_mapped) { static_cast<void>(m.launch(m.reserve(1))); }
TESSERA_KEEPS(launch_not_mapped) { must(m.launch(m.mapped(1))); }

TESSERA_BREAKS(lost_by_unknown_memory) {
  must(m.launch(DeviceAddress(0x1000)));
  EXPECT_EQ(m->ctx_synchronize().error().code, ErrorCode::illegal_address);
}
TESSERA_BREAKS(lost_by_peer_memory) {
  const DeviceAddress address = must(m->mem_alloc(1_KiB));
  must(m->ctx_set_current(must(m->device_primary_ctx_retain(device_1))));
  must(m.launch(address));
  EXPECT_EQ(m->ctx_synchronize().error().code, ErrorCode::illegal_address);
}
TESSERA_KEEPS(lost_by_peer_memory) {
  const DeviceAddress address = must(m->mem_alloc(1_KiB));
  must(m->ctx_set_current(must(m->device_primary_ctx_retain(device_1))));
  must(m->ctx_enable_peer_access({.peer = m.primary()}));
  must(m.launch(address));
  must(m->ctx_synchronize());
}

TESSERA_KEEPS(lost_by_unknown_memory) {
  const DeviceAddress of_others = must(m.simulator().mem_alloc(1_KiB));
  must(m.launch(of_others));
  must(m->ctx_synchronize());
}

TESSERA_BREAKS(launch_no_access) {
  const DeviceAddress address = m.mapped(1);
  must(m.allow(address, 1, device_0, AccessFlags::read));
  static_cast<void>(m.launch(address));
}
TESSERA_KEEPS(launch_no_access) {
  const DeviceAddress address = m.mapped(1);
  must(m.launch(address));
  must(m->ctx_synchronize());
}

TESSERA_BREAKS(range_handle_unaligned) {
  static_cast<void>(
      m->mem_get_handle_for_address_range({.address = m.mapped(1), .size = Bytes(100)}));
}
TESSERA_KEEPS(range_handle_unaligned) {
  ::close(must(m->mem_get_handle_for_address_range({.address = m.mapped(1), .size = 4_KiB})));
}

TESSERA_BREAKS(range_handle_not_mapped) {
  const DeviceAddress address = m.reserve(2);
  m.fill(address, 1);
  must(m.allow(address, 1));
  static_cast<void>(m->mem_get_handle_for_address_range({.address = address, .size = m.units(2)}));
}
TESSERA_KEEPS(range_handle_not_mapped) {
  ::close(must(m->mem_get_handle_for_address_range({.address = m.mapped(2), .size = m.units(2)})));
}

}  // namespace
}  // namespace tessera::rules
