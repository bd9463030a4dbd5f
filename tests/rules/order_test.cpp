// Streams, events, contexts.
#include "rule_machine.h"

namespace tessera::rules {
namespace {

ContextHandle other_context(RuleMachine& m) { return must(m->ctx_create({.device = device_0})); }

TESSERA_BREAKS(stream_destroyed) {
  const StreamHandle stream = must(m->stream_create(StreamFlags::blocking));
  must(m->stream_destroy(stream));
  static_cast<void>(m->stream_synchronize(stream));
}
TESSERA_KEEPS(stream_destroyed) {
  const StreamHandle stream = must(m->stream_create(StreamFlags::blocking));
  must(m->stream_synchronize(stream));
  must(m->stream_destroy(stream));
}

TESSERA_BREAKS(limit_unknown) { static_cast<void>(m->ctx_get_limit(ContextLimit{14})); }
TESSERA_KEEPS(limit_unknown) {
  const Bytes limit = must(m->ctx_get_limit(ContextLimit::stack_size));
  must(m->ctx_set_limit({.limit = ContextLimit::stack_size, .value = limit}));
}

TESSERA_BREAKS(limit_read_only) {
  static_cast<void>(m->ctx_set_limit({.limit = ContextLimit::shmem_size, .value = 1_KiB}));
}
TESSERA_KEEPS(limit_read_only) {
  must(m->ctx_get_limit(ContextLimit::shmem_size));
  must(m->ctx_set_limit({.limit = ContextLimit::printf_fifo_size, .value = 1_MiB}));
}

TESSERA_BREAKS(limit_too_large) {
  static_cast<void>(
      m->ctx_set_limit({.limit = ContextLimit::max_l2_fetch_granularity, .value = 129_B}));
}
TESSERA_KEEPS(limit_too_large) {
  must(m->ctx_set_limit({.limit = ContextLimit::max_l2_fetch_granularity, .value = 128_B}));
}

TESSERA_BREAKS(default_stream_destroyed) { static_cast<void>(m->stream_destroy({})); }
TESSERA_KEEPS(default_stream_destroyed) { must(m->stream_synchronize({})); }

TESSERA_BREAKS(event_null) { static_cast<void>(m->event_query({})); }
TESSERA_KEEPS(event_null) { must(m->event_query(must(m->event_create(EventFlags::none)))); }

TESSERA_BREAKS(event_destroyed) {
  const EventHandle event = must(m->event_create(EventFlags::none));
  must(m->event_destroy(event));
  static_cast<void>(m->event_record({.event = event}));
}
TESSERA_KEEPS(event_destroyed) {
  const EventHandle event = must(m->event_create(EventFlags::none));
  must(m->event_record({.event = event}));
  must(m->event_destroy(event));
}

TESSERA_BREAKS(event_of_other_context) {
  const EventHandle event = must(m->event_create(EventFlags::none));
  other_context(m);
  static_cast<void>(m->event_record({.event = event}));
}
TESSERA_KEEPS(event_of_other_context) {
  const EventHandle event = must(m->event_create(EventFlags::none));
  const StreamHandle stream = must(m->stream_create(StreamFlags::blocking));
  other_context(m);
  must(m->event_record({.event = event, .stream = stream}));
}

TESSERA_BREAKS(launch_in_other_context) {
  const DeviceAddress address = m.mapped(1);
  const StreamHandle stream = must(m->stream_create(StreamFlags::blocking));
  other_context(m);
  static_cast<void>(m.launch(address, stream));
}
TESSERA_KEEPS(launch_in_other_context) {
  const DeviceAddress address = m.mapped(1);
  const StreamHandle stream = must(m->stream_create(StreamFlags::blocking));
  must(m->ctx_destroy(other_context(m)));
  must(m.launch(address, stream));
}

TESSERA_BREAKS(context_destroyed_twice) {
  const ContextHandle context = other_context(m);
  must(m->ctx_destroy(context));
  static_cast<void>(m->ctx_destroy(context));
}
TESSERA_KEEPS(context_destroyed_twice) {
  for (int i = 0; i < 2; ++i) {
    must(m->ctx_destroy(other_context(m)));
  }
}

TESSERA_BREAKS(destroyed_context_made_current) {
  const ContextHandle context = other_context(m);
  must(m->ctx_destroy(context));
  static_cast<void>(m->ctx_set_current(context));
}
TESSERA_KEEPS(destroyed_context_made_current) {
  const ContextHandle context = other_context(m);
  must(m->ctx_set_current(m.primary()));
  must(m->ctx_set_current(context));
  must(m->ctx_destroy(context));
}

TESSERA_BREAKS(primary_not_retained) { static_cast<void>(m->device_primary_ctx_release(device_1)); }
TESSERA_KEEPS(primary_not_retained) {
  must(m->device_primary_ctx_retain(device_1));
  must(m->device_primary_ctx_release(device_1));
}

TESSERA_BREAKS(primary_context_destroyed) { static_cast<void>(m->ctx_destroy(m.primary())); }
TESSERA_KEEPS(primary_context_destroyed) { must(m->device_primary_ctx_release(device_0)); }

TESSERA_BREAKS_ON(without_peers, peer_enable_unreachable) {
  const ContextHandle peer = must(m->device_primary_ctx_retain(device_1));
  static_cast<void>(m->ctx_enable_peer_access({.peer = peer}));
}
TESSERA_KEEPS(peer_enable_unreachable) {
  const ContextHandle peer = must(m->device_primary_ctx_retain(device_1));
  must(m->ctx_enable_peer_access({.peer = peer}));
}

TEST(Orders, AreDestroyedWithTheirContext) {
  RuleMachine m(h200(), ValidationMode::report);
  const ContextHandle context = other_context(m);
  const StreamHandle stream = must(m->stream_create(StreamFlags::blocking));
  const EventHandle event = must(m->event_create(EventFlags::none));
  must(m->ctx_destroy(context));
  must(m->ctx_set_current(m.primary()));
  static_cast<void>(m->stream_destroy(stream));
  static_cast<void>(m->event_destroy(event));
  ASSERT_EQ(m->findings().size(), 2U);
  EXPECT_EQ(m->findings()[0].rule, RuleId::stream_destroyed);
  EXPECT_EQ(m->findings()[0].object.call, Call::ctx_destroy);
  EXPECT_EQ(m->findings()[1].rule, RuleId::event_destroyed);
}

}  // namespace
}  // namespace tessera::rules
