// Streams and events.
#include <algorithm>

#include "machine.h"

namespace tessera::sim {

Result<Context*> Machine::need_stream(StreamHandle stream) {
  // A created stream knows its context: none need be current [h200].
  if (is_implicit(stream)) {
    return need_context();
  }
  Context* context = contexts_.find(timeline_.stream_context(ContextHandle(), stream));
  if (context == nullptr) {
    return refuse(ErrorCode::invalid_context, Reason::not_a_stream, stream.value());
  }
  TESSERA_TRY(check_not_lost());
  return context;
}

Result<Context*> Machine::need_event(EventHandle event) {
  if (event.is_null()) {
    return refuse(ErrorCode::invalid_handle, Reason::null_handle);
  }
  Context* context = contexts_.find(timeline_.event_context(event));
  if (context == nullptr) {
    return refuse(ErrorCode::context_is_destroyed, Reason::not_an_event, event.value());
  }
  TESSERA_TRY(check_not_lost());
  return context;
}

Status Machine::wait_until(Timeline::Time time) {
  timeline_.advance_to(std::max(timeline_.now(), time));
  // Pools give unused memory back when somebody synchronizes (their release threshold is zero).
  trim_pools();
  return check_not_lost();
}

Result<StreamHandle> Machine::stream_create(StreamFlags flags) {
  // The flags are looked at before the context [h200].
  if (flags != StreamFlags::blocking && flags != StreamFlags::non_blocking) {
    return invalid(Reason::unknown_flags, static_cast<std::uint64_t>(flags), 1);
  }
  TESSERA_TRY_ASSIGN(const Context* context, need_context());
  return timeline_.create_stream(context->handle, flags);
}

Status Machine::stream_destroy(StreamHandle stream) {
  if (is_implicit(stream)) {
    return refuse(ErrorCode::invalid_handle, Reason::default_stream_not_destroyable,
                  stream.value());
  }
  TESSERA_TRY(need_stream(stream));
  static_cast<void>(timeline_.destroy_stream(stream));
  return {};
}

Status Machine::stream_synchronize(StreamHandle stream) {
  TESSERA_TRY_ASSIGN(const Context* context, need_stream(stream));
  return wait_until(timeline_.stream_end(context->handle, stream));
}

Status Machine::stream_wait_event(const StreamWaitEventRequest& request) {
  TESSERA_TRY_ASSIGN(const Context* context, need_stream(request.stream));
  TESSERA_TRY(need_event(request.event));
  // An external wait (1) belongs into a graph that is being captured, which there is none of.
  if (request.flags != 0) {
    const ErrorCode code = request.flags == 1 ? ErrorCode::illegal_state : ErrorCode::invalid_value;
    return refuse(code, Reason::unknown_flags, request.flags, 0);
  }
  timeline_.wait_event(context->handle, request.stream, request.event);
  return {};
}

Result<EventHandle> Machine::event_create(EventFlags flags) {
  TESSERA_TRY_ASSIGN(const Context* context, need_context());
  // Interprocess events (4) take no timing (2).
  const auto bits = static_cast<std::uint32_t>(flags);
  if (bits > 7 || (bits & 6U) == 4) {
    return invalid(Reason::unknown_flags, bits, 7);
  }
  return timeline_.create_event(context->handle);
}

Status Machine::event_record(const EventRecordRequest& request) {
  TESSERA_TRY_ASSIGN(const Context* context, need_stream(request.stream));
  TESSERA_TRY(need_event(request.event));
  if (timeline_.event_context(request.event) != context->handle) {
    return refuse(ErrorCode::invalid_handle, Reason::event_of_other_context, request.event.value(),
                  context->handle.value());
  }
  timeline_.record_event(request.event, context->handle, request.stream);
  return {};
}

Status Machine::event_query(EventHandle event) {
  TESSERA_TRY(need_event(event));
  const Timeline::Time end = timeline_.event_end(event);
  if (end > timeline_.now()) {
    return refuse(ErrorCode::not_ready, Reason::event_not_ready, event.value(),
                  end - timeline_.now());
  }
  return {};
}

Status Machine::event_synchronize(EventHandle event) {
  TESSERA_TRY(need_event(event));
  return wait_until(timeline_.event_end(event));
}

Status Machine::event_destroy(EventHandle event) {
  TESSERA_TRY(need_event(event));
  timeline_.destroy_event(event);
  return {};
}

}  // namespace tessera::sim
