// What is done in the order of streams, and the calls whose operations came with it.
#include "layers/trace_recorder.h"
#include "scenario/perform.h"
#include "scenario/unless.h"

namespace tessera {

using scenario::Answer;
using scenario::answer_of;
using scenario::Operand;
using scenario::Symbol;
using scenario::SymbolKind;
using scenario::unless;

// --- Streams and events ---

Operand TraceRecorder::offset_of(Bytes offset) const {
  return offset.is_zero() ? Operand() : names_.size(offset);
}

Operand TraceRecorder::unless_default(StreamHandle stream) const {
  return stream.is_null() ? Operand() : names_.stream(stream);
}

void TraceRecorder::record(Tag<Call::stream_create>, const StreamFlags& flags,
                           const Result<StreamHandle>& result) {
  const Symbol symbol = names_.next(SymbolKind::stream);
  if (result) {
    names_.name_stream(*result, symbol);
  }
  add(scenario::StreamCreate{.result = symbol, .flags = unless(static_cast<std::uint32_t>(flags))},
      answer_of(result));
}

void TraceRecorder::record(Tag<Call::stream_destroy>, const StreamHandle& stream,
                           const Status& status) {
  add(scenario::StreamDestroy{.stream = names_.stream(stream)}, answer_of(status));
}

void TraceRecorder::record(Tag<Call::stream_synchronize>, const StreamHandle& stream,
                           const Status& status) {
  add(scenario::StreamSync{.stream = names_.stream(stream)}, answer_of(status));
}

void TraceRecorder::record(Tag<Call::stream_wait_event>, const StreamWaitEventRequest& request,
                           const Status& status) {
  add(scenario::StreamWait{.stream = names_.stream(request.stream),
                           .event = names_.event(request.event),
                           .flags = unless(request.flags)},
      answer_of(status));
}

void TraceRecorder::record(Tag<Call::event_create>, const EventFlags& flags,
                           const Result<EventHandle>& result) {
  const Symbol symbol = names_.next(SymbolKind::event);
  if (result) {
    names_.name_event(*result, symbol);
  }
  add(scenario::EventCreate{.result = symbol, .flags = unless(static_cast<std::uint32_t>(flags))},
      answer_of(result));
}

void TraceRecorder::record(Tag<Call::event_record>, const EventRecordRequest& request,
                           const Status& status) {
  add(scenario::EventRecord{.event = names_.event(request.event),
                            .stream = unless_default(request.stream)},
      answer_of(status));
}

void TraceRecorder::record(Tag<Call::event_query>, const EventHandle& event, const Status& status) {
  // A replay waits more often, so what was under way may be done.
  const bool is_under_way = !status && status.error().code == ErrorCode::not_ready;
  add(scenario::EventQuery{.event = names_.event(event)},
      is_under_way ? std::nullopt : std::optional(answer_of(status)));
}

void TraceRecorder::record(Tag<Call::event_synchronize>, const EventHandle& event,
                           const Status& status) {
  add(scenario::EventSync{.event = names_.event(event)}, answer_of(status));
}

void TraceRecorder::record(Tag<Call::event_destroy>, const EventHandle& event,
                           const Status& status) {
  add(scenario::EventDestroy{.event = names_.event(event)}, answer_of(status));
}

// --- Work in a stream: when it is done the trace does not know, nor what memory holds then ---

void TraceRecorder::record(Tag<Call::memset_d8_async>, const MemsetD8AsyncRequest& request,
                           const Status& status) {
  written_by_others();
  add(scenario::Memset{.address = names_.address(request.set.destination),
                       .size = names_.size(request.set.size),
                       .value = request.set.value,
                       .stream = names_.stream(request.stream)},
      answer_of(status));
}

void TraceRecorder::record(Tag<Call::memcpy_dtod_async>, const MemcpyDtodAsyncRequest& request,
                           const Status& status) {
  written_by_others();
  add(scenario::Dtod{.destination = names_.address(request.copy.destination),
                     .source = names_.address(request.copy.source),
                     .size = names_.size(request.copy.size),
                     .stream = names_.stream(request.stream)},
      answer_of(status));
}

void TraceRecorder::record(Tag<Call::mem_alloc_async>, const AllocAsyncRequest& request,
                           const Result<DeviceAddress>& result) {
  const Symbol symbol = names_.next(SymbolKind::pointer);
  if (result) {
    names_.name_range(*result, request.size, symbol);
  }
  add(scenario::AllocAsync{.result = symbol,
                           .size = Operand(request.size),
                           .stream = unless_default(request.stream)},
      answer_of(result));
}

void TraceRecorder::record(Tag<Call::mem_free_async>, const FreeAsyncRequest& request,
                           const Status& status) {
  add(scenario::FreeAsync{.address = names_.address(request.address),
                          .stream = unless_default(request.stream)},
      answer_of(status));
}

// --- Others ---

void TraceRecorder::record(Tag<Call::mem_alloc_pitch>, const AllocPitchRequest& request,
                           const Result<PitchedAllocation>& result) {
  const Symbol symbol = names_.next(SymbolKind::pointer);
  if (result) {
    names_.name_range(result->address, result->pitch * request.height, symbol);
  }
  add(scenario::AllocPitch{.result = symbol,
                           .width = Operand(request.width),
                           .height = request.height,
                           .element_size = request.element_size},
      result ? Answer().add("pitch", result->pitch.value()) : Answer(result.error()));
}

void TraceRecorder::record(Tag<Call::ctx_set_limit>, const SetLimitRequest& request,
                           const Status& status) {
  add(scenario::LimitSet{.which = static_cast<std::uint32_t>(request.limit),
                         .value = Operand(request.value)},
      answer_of(status));
}

void TraceRecorder::record(Tag<Call::ctx_get_limit>, const ContextLimit& limit,
                           const Result<Bytes>& result) {
  add(scenario::LimitGet{.which = static_cast<std::uint32_t>(limit)},
      result ? Answer().add("v", result->value()) : Answer(result.error()));
}

void TraceRecorder::record(Tag<Call::multicast_create>, const MulticastProperties& properties,
                           const Result<AllocationHandle>& result) {
  if (properties.handle_types != HandleTypes::none || properties.flags != 0) {
    comment(Call::multicast_create, describe(properties), result ? nullptr : &result.error());
    return;
  }
  const Symbol symbol = names_.next(SymbolKind::handle);
  if (result) {
    names_.name_created(*result, symbol);
  }
  add(scenario::MulticastCreate{.result = symbol,
                                .devices = properties.device_count,
                                .size = names_.size(properties.size)},
      answer_of(result));
}

void TraceRecorder::record(Tag<Call::multicast_add_device>,
                           const MulticastAddDeviceRequest& request, const Status& status) {
  add(scenario::MulticastAdd{.multicast = names_.handle(request.multicast),
                             .device = request.device.value()},
      answer_of(status));
}

void TraceRecorder::record(Tag<Call::multicast_bind_mem>, const MulticastBindMemRequest& request,
                           const Status& status) {
  if (!request.memory_offset.is_zero() || request.flags != 0) {
    comment(Call::multicast_bind_mem, describe(request), status ? nullptr : &status.error());
    return;
  }
  add(scenario::MulticastBind{.multicast = names_.handle(request.multicast),
                              .memory = names_.handle(request.memory),
                              .size = names_.size(request.size),
                              .offset = offset_of(request.multicast_offset)},
      answer_of(status));
}

void TraceRecorder::record(Tag<Call::multicast_unbind>, const MulticastUnbindRequest& request,
                           const Status& status) {
  add(scenario::MulticastUnbind{.multicast = names_.handle(request.multicast),
                                .device = request.device.value(),
                                .size = names_.size(request.size),
                                .offset = offset_of(request.multicast_offset)},
      answer_of(status));
}

}  // namespace tessera
