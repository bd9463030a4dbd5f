// What check_leaks finds at the end; TESSERA_LEAKS names what cannot but leak with it. The context
// that every test has is given back first.
#include <unistd.h>

#include "rule_machine.h"
#include "tessera/layers/ledger_driver.h"

namespace tessera::rules {
namespace {

void end(RuleMachine& m) {
  must(m->device_primary_ctx_release(device_0));
  m->check_leaks();
}

TESSERA_LEAKS(leak_create_reference) {
  m.create(1);
  end(m);
}
TESSERA_KEEPS(leak_create_reference) {
  must(m->mem_release(m.create(1)));
  end(m);
}

// Retain, unmap, free, release: one reference is left, and it is the create's or the retain's.
TESSERA_LEAKS(leak_retain_reference) {
  const DeviceAddress address = m.mapped(1);
  must(m->mem_retain_allocation_handle(address));
  m.undo(address, 1);
  end(m);
}
TESSERA_KEEPS(leak_retain_reference) {
  const DeviceAddress address = m.mapped(1);
  const AllocationHandle handle = must(m->mem_retain_allocation_handle(address));
  m.undo(address, 1);
  must(m->mem_release(handle));
  end(m);
}

TESSERA_LEAKS(leak_import_reference) {
  const AllocationHandle handle = m.exportable();
  const auto exported = must(m->mem_export_to_shareable_handle({.handle = handle}));
  must(m->mem_import_from_shareable_handle(exported));
  ::close(exported.file_descriptor);
  must(m->mem_release(handle));
  end(m);
}
TESSERA_KEEPS(leak_import_reference) {
  const AllocationHandle handle = m.exportable();
  const auto exported = must(m->mem_export_to_shareable_handle({.handle = handle}));
  must(m->mem_release(must(m->mem_import_from_shareable_handle(exported))));
  ::close(exported.file_descriptor);
  must(m->mem_release(handle));
  end(m);
}

TESSERA_LEAKS(leak_mapping, RuleId::leak_reservation) {
  m.mapped(1);
  end(m);
}
TESSERA_KEEPS(leak_mapping) {
  m.undo(m.mapped(1), 1);
  end(m);
}

AllocationHandle bound_object(RuleMachine& m) {
  const AllocationHandle multicast =
      must(m->multicast_create({.device_count = 1, .size = m.units(1)}));
  must(m->multicast_add_device({.multicast = multicast, .device = device_0}));
  const DeviceAddress address = m.mapped(1);
  must(m->multicast_bind_addr({.multicast = multicast, .address = address, .size = m.units(1)}));
  m.undo(address, 1);  // the binding holds the memory
  return multicast;
}
TESSERA_LEAKS(leak_binding, RuleId::leak_create_reference) {
  bound_object(m);
  end(m);
}
TESSERA_KEEPS(leak_binding) {
  const AllocationHandle multicast = bound_object(m);
  must(m->multicast_unbind({.multicast = multicast, .device = device_0, .size = m.units(1)}));
  must(m->mem_release(multicast));
  end(m);
}

TESSERA_LEAKS(leak_descriptor) {
  const AllocationHandle handle = m.exportable();
  const auto exported = must(m->mem_export_to_shareable_handle({.handle = handle}));
  must(m->mem_release(handle));
  end(m);
  ::close(exported.file_descriptor);
}
TESSERA_KEEPS(leak_descriptor) {
  const AllocationHandle handle = m.exportable();
  const auto exported = must(m->mem_export_to_shareable_handle({.handle = handle}));
  must(m->mem_release(handle));
  ::close(exported.file_descriptor);
  end(m);
}

TESSERA_LEAKS(leak_reservation) {
  m.reserve(1);
  end(m);
}
TESSERA_KEEPS(leak_reservation) {
  must(m.free(m.reserve(1), 1));
  end(m);
}

TESSERA_LEAKS(leak_allocation, RuleId::leak_context) {
  must(m->mem_alloc(Bytes(16)));
  m->check_leaks();
}
// What a context allocated goes with it.
TESSERA_KEEPS(leak_allocation) {
  must(m->mem_alloc(Bytes(16)));
  end(m);
}

TESSERA_LEAKS(leak_stream, RuleId::leak_context) {
  must(m->stream_create(StreamFlags::blocking));
  m->check_leaks();
}
TESSERA_KEEPS(leak_stream) {
  must(m->stream_destroy(must(m->stream_create(StreamFlags::blocking))));
  end(m);
}

TESSERA_LEAKS(leak_event, RuleId::leak_context) {
  must(m->event_create(EventFlags::none));
  m->check_leaks();
}
TESSERA_KEEPS(leak_event) {
  must(m->event_destroy(must(m->event_create(EventFlags::none))));
  end(m);
}

TESSERA_LEAKS(leak_context) { m->check_leaks(); }
TESSERA_KEEPS(leak_context) { end(m); }

// Once a fault has lost the contexts, nobody can give back what was made in them.
TEST(Leaks, AreNotWhatWasLostWithTheContexts) {
  RuleMachine m(*sim::built_in_profile("h200"), ValidationMode::report);
  must(m->mem_alloc(1_MiB));
  must(m->stream_create(StreamFlags::blocking));
  must(m->event_create(EventFlags::none));
  const AllocationHandle handle = m.create(1);
  must(m->launch_touch({.address = DeviceAddress(4096), .touch = Touch::write}));
  EXPECT_FALSE(m->ctx_synchronize());
  const LeakReport report = m.driver().check_leaks();
  ASSERT_EQ(report.entries.size(), 2U) << to_string(report);
  EXPECT_EQ(report.entries[0].kind, LeakKind::create_reference);
  EXPECT_EQ(report.entries[0].value, handle.value());
  EXPECT_EQ(report.entries[1].kind, LeakKind::context);
}

// What lies in a pool outlives the context in whose stream it was asked for, and the primary one.
TEST(Leaks, AreOfPoolsAfterAllContexts) {
  RuleMachine m(*sim::built_in_profile("h200"), ValidationMode::report);
  const ContextHandle context = must(m->ctx_create({.device = device_0}));
  const StreamHandle stream = must(m->stream_create(StreamFlags::blocking));
  const DeviceAddress memory = must(m->mem_alloc_async({.size = 1_MiB, .stream = stream}));
  must(m->ctx_destroy(context));
  must(m->device_primary_ctx_release(device_0));
  const LeakReport report = m.driver().check_leaks();
  ASSERT_EQ(report.entries.size(), 1U) << to_string(report);
  EXPECT_EQ(report.entries[0].kind, LeakKind::allocation);
  EXPECT_EQ(report.entries[0].value, memory.value());
}

// The books know it without validation, too, whichever call says it.
TEST(Leaks, OfALedgerAreNotWhatWasLostWithTheContexts) {
  sim::SimDriver simulator(*sim::built_in_profile("h200"));
  LedgerDriver driver(&simulator);
  must(driver.init(0));
  must(driver.ctx_set_current(must(driver.device_primary_ctx_retain(device_0))));
  must(driver.mem_alloc(1_MiB));
  must(driver.stream_create(StreamFlags::blocking));
  EXPECT_EQ(driver.ledger().leak_report().entries.size(), 3U);
  must(driver.launch_touch({.address = DeviceAddress(4096), .touch = Touch::write}));
  EXPECT_FALSE(driver.ctx_synchronize());
  const LeakReport report = driver.ledger().leak_report();
  ASSERT_EQ(report.entries.size(), 1U) << to_string(report);
  EXPECT_EQ(report.entries[0].kind, LeakKind::context);
}

}  // namespace
}  // namespace tessera::rules
