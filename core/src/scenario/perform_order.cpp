#include <vector>

#include "scenario/perform.h"

namespace tessera::scenario {
namespace {

// Keeps what a call gave under its name, and in the list of what is to be undone.
template <class T>
Answer remember(CaseState& state, Symbol symbol, std::vector<T>& list, const Result<T>& result) {
  state.symbols().set(symbol, result ? result->value() : 0);
  if (!result) {
    return Answer(result.error());
  }
  list.push_back(*result);
  return {};
}

// The answer of a call that destroyed it, if it did.
template <class T>
Answer forget(std::vector<T>& list, const T& object, const Status& status) {
  if (status) {
    std::erase(list, object);
  }
  return answer_of(status);
}

StreamHandle stream(CaseState& state, const Operand& operand) {
  return StreamHandle(state.value(operand));
}
EventHandle event(CaseState& state, const Operand& operand) {
  return EventHandle(state.value(operand));
}

}  // namespace

Answer perform(CaseState& state, const StreamCreate& operation) {
  return remember(
      state, operation.result, state.ledger().streams,
      state.driver().stream_create(static_cast<StreamFlags>(operation.flags.value_or(0))));
}

Answer perform(CaseState& state, const StreamDestroy& operation) {
  const StreamHandle destroyed = stream(state, operation.stream);
  return forget(state.ledger().streams, destroyed, state.driver().stream_destroy(destroyed));
}

Answer perform(CaseState& state, const StreamSync& operation) {
  return answer_of(state.driver().stream_synchronize(stream(state, operation.stream)));
}

Answer perform(CaseState& state, const StreamWait& operation) {
  return answer_of(state.driver().stream_wait_event({.stream = stream(state, operation.stream),
                                                     .event = event(state, operation.event),
                                                     .flags = operation.flags.value_or(0)}));
}

Answer perform(CaseState& state, const EventCreate& operation) {
  return remember(
      state, operation.result, state.ledger().events,
      state.driver().event_create(static_cast<EventFlags>(operation.flags.value_or(0))));
}

Answer perform(CaseState& state, const EventRecord& operation) {
  return answer_of(state.driver().event_record(
      {.event = event(state, operation.event), .stream = stream(state, operation.stream)}));
}

Answer perform(CaseState& state, const EventQuery& operation) {
  return answer_of(state.driver().event_query(event(state, operation.event)));
}

Answer perform(CaseState& state, const EventSync& operation) {
  return answer_of(state.driver().event_synchronize(event(state, operation.event)));
}

Answer perform(CaseState& state, const EventDestroy& operation) {
  const EventHandle destroyed = event(state, operation.event);
  return forget(state.ledger().events, destroyed, state.driver().event_destroy(destroyed));
}

Answer perform(CaseState& state, const Launch& operation) {
  return answer_of(state.driver().launch_touch({.address = state.address(operation.address),
                                                .touch = operation.touch,
                                                .value = operation.value.value_or(0),
                                                .duration_ns = operation.duration_ns.value_or(0),
                                                .stream = stream(state, operation.stream)}));
}

Answer perform(CaseState& state, const FreeAsync& operation) {
  const DeviceAddress address = state.address(operation.address);
  return forget(state.ledger().device_memory, address,
                state.driver().mem_free_async(
                    {.address = address, .stream = stream(state, operation.stream)}));
}

Answer perform(CaseState& state, const AllocPitch& operation) {
  const auto memory = state.driver().mem_alloc_pitch({.width = state.bytes(operation.width),
                                                      .height = operation.height,
                                                      .element_size = operation.element_size});
  state.symbols().set(operation.result, memory ? memory->address.value() : 0);
  if (!memory) {
    return Answer(memory.error());
  }
  state.ledger().device_memory.push_back(memory->address);
  return Answer().add("pitch", memory->pitch.value());
}

Answer perform(CaseState& state, const LimitSet& operation) {
  state.ledger().tainted = true;
  return answer_of(
      state.driver().ctx_set_limit({.limit = static_cast<ContextLimit>(operation.which),
                                    .value = state.bytes(operation.value)}));
}

Answer perform(CaseState& state, const LimitGet& operation) {
  const auto value = state.driver().ctx_get_limit(static_cast<ContextLimit>(operation.which));
  return value ? Answer().add("v", value->value()) : Answer(value.error());
}

Answer perform(CaseState& state, const MulticastCreate& operation) {
  const auto handle = state.driver().multicast_create(
      {.device_count = operation.devices, .size = state.bytes(operation.size)});
  state.symbols().set(operation.result, handle ? handle->value() : 0);
  if (!handle) {
    return Answer(handle.error());
  }
  ++state.ledger().references[handle->value()];
  state.name_handle(handle->value(), operation.result);
  return {};
}

Answer perform(CaseState& state, const MulticastAdd& operation) {
  return answer_of(state.driver().multicast_add_device(
      {.multicast = state.handle(operation.multicast), .device = DeviceOrdinal(operation.device)}));
}

Answer perform(CaseState& state, const MulticastBind& operation) {
  return answer_of(
      state.driver().multicast_bind_mem({.multicast = state.handle(operation.multicast),
                                         .multicast_offset = state.bytes(operation.offset),
                                         .memory = state.handle(operation.memory),
                                         .size = state.bytes(operation.size)}));
}

Answer perform(CaseState& state, const MulticastUnbind& operation) {
  return answer_of(
      state.driver().multicast_unbind({.multicast = state.handle(operation.multicast),
                                       .device = DeviceOrdinal(operation.device),
                                       .multicast_offset = state.bytes(operation.offset),
                                       .size = state.bytes(operation.size)}));
}

}  // namespace tessera::scenario
