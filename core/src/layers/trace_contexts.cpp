#include <algorithm>

#include "layers/trace_recorder.h"
#include "scenario/perform.h"

namespace tessera {

using scenario::Answer;
using scenario::answer_of;
using scenario::Symbol;
using scenario::SymbolKind;

namespace {

std::optional<std::int32_t> device_key(DeviceOrdinal device) {
  return device.value() == 0 ? std::nullopt : std::optional(device.value());
}

}  // namespace

// No operation starts the driver: a case's beginning does. Before that nothing can be made, so the
// calls that came before make a case of their own.
void TraceRecorder::record(Tag<Call::init>, const std::uint32_t& flags, const Status& status) {
  if (!status || current_case().start != scenario::Start::nothing) {
    comment(Call::init, describe(flags), status ? nullptr : &status.error());
    return;
  }
  if (!current_case().calls.empty()) {
    current_case().name += "-before-init";
    current_case().lines_before_end = std::exchange(lines_before_next_, {});
    trace_.cases.push_back({.name = options_.case_name});
  }
  current_case().start = scenario::Start::no_context;
  last_ = Last::other;
}

void TraceRecorder::record(Tag<Call::driver_get_version>, const NoRequest& /*request*/,
                           const Result<std::int32_t>& result) {
  add(scenario::Version{}, result ? Answer().add_signed("v", *result) : Answer(result.error()));
}

void TraceRecorder::record(Tag<Call::device_get_count>, const NoRequest& /*request*/,
                           const Result<std::int32_t>& result) {
  add(scenario::DeviceCount{}, result ? Answer().add_signed("n", *result) : Answer(result.error()));
}

void TraceRecorder::record(Tag<Call::device_get_name>, const DeviceOrdinal& device,
                           const Result<std::string>& result) {
  Answer answer;
  if (result) {
    std::string word = *result;
    std::replace(word.begin(), word.end(), ' ', '_');
    answer.add("name", word);
  } else {
    answer = Answer(result.error());
  }
  add(scenario::DeviceName{.device = device_key(device)}, std::move(answer));
}

void TraceRecorder::record(Tag<Call::device_total_mem>, const DeviceOrdinal& device,
                           const Result<Bytes>& result) {
  add(scenario::DeviceMemory{.device = device_key(device)},
      result ? Answer().add("bytes", result->value()) : Answer(result.error()));
}

void TraceRecorder::record(Tag<Call::device_get_attribute>, const DeviceAttributeRequest& request,
                           const Result<std::int32_t>& result) {
  add(scenario::DeviceAttribute{.attribute = request.attribute,
                                .device = device_key(request.device)},
      result ? Answer().add_signed("v", *result) : Answer(result.error()));
}

void TraceRecorder::record(Tag<Call::device_can_access_peer>, const PeerQuery& query,
                           const Result<bool>& result) {
  add(scenario::PeerCan{.device = query.device.value(), .peer = query.peer.value()},
      result ? Answer().add("can", std::uint64_t{*result}) : Answer(result.error()));
}

// `ctx.retain` makes the context current, too, which this call does not: what was current is set
// again, unless the program's next call makes the new one current.
void TraceRecorder::record(Tag<Call::device_primary_ctx_retain>, const DeviceOrdinal& device,
                           const Result<ContextHandle>& result) {
  add(scenario::ContextRetain{.device = device_key(device)}, answer_of(result));
  if (!result || device.value() < 0) {
    return;
  }
  names_.name_context(*result, {SymbolKind::primary, static_cast<std::uint32_t>(device.value())});
  if (context_stack_.empty()) {
    add(scenario::ContextNone{}, Answer());
  } else if (context_stack_.back() != *result) {
    add(scenario::ContextSet{.context = names_.context(context_stack_.back())}, Answer());
  } else {
    return;
  }
  last_ = Last::restoring;
  last_retained_ = *result;
}

void TraceRecorder::record(Tag<Call::device_primary_ctx_release>, const DeviceOrdinal& device,
                           const Status& status) {
  add(scenario::ContextRelease{.device = device_key(device)}, answer_of(status));
}

void TraceRecorder::record(Tag<Call::device_primary_ctx_reset>, const DeviceOrdinal& device,
                           const Status& status) {
  add(scenario::ContextReset{.device = device_key(device)}, answer_of(status));
}

void TraceRecorder::record(Tag<Call::ctx_create>, const ContextCreateRequest& request,
                           const Result<ContextHandle>& result) {
  if (result) {
    context_stack_.push_back(*result);
  }
  if (request.flags != 0) {
    comment(Call::ctx_create, describe(request), result ? nullptr : &result.error());
    return;
  }
  const Symbol symbol = names_.next(SymbolKind::context);
  if (result) {
    names_.name_context(*result, symbol);
  }
  add(scenario::ContextCreate{.result = symbol, .device = device_key(request.device)},
      answer_of(result));
}

void TraceRecorder::record(Tag<Call::ctx_destroy>, const ContextHandle& context,
                           const Status& status) {
  add(scenario::ContextDestroy{.context = names_.context(context)}, answer_of(status));
  if (status && !context_stack_.empty() && context_stack_.back() == context) {
    context_stack_.pop_back();
  }
}

void TraceRecorder::record(Tag<Call::ctx_set_current>, const ContextHandle& context,
                           const Status& status) {
  if (status) {
    if (!context_stack_.empty()) {
      context_stack_.pop_back();
    }
    if (!context.is_null()) {
      context_stack_.push_back(context);
    }
    if (last_ == Last::restoring && context == last_retained_) {
      current_case().calls.pop_back();
      last_ = Last::other;
      return;
    }
  }
  if (context.is_null()) {
    add(scenario::ContextNone{}, answer_of(status));
  } else {
    add(scenario::ContextSet{.context = names_.context(context)}, answer_of(status));
  }
}

void TraceRecorder::record(Tag<Call::ctx_synchronize>, const NoRequest& /*request*/,
                           const Status& status) {
  if (last_ == Last::synchronizing) {
    current_case().calls.back().expected = answer_of(status);
    last_ = Last::other;
    return;
  }
  add(scenario::ContextSync{}, answer_of(status));
}

void TraceRecorder::record(Tag<Call::ctx_enable_peer_access>, const PeerAccessRequest& request,
                           const Status& status) {
  const auto device = names_.device_of_primary(request.peer);
  if (!device || request.flags != 0) {
    comment(Call::ctx_enable_peer_access, describe(request), status ? nullptr : &status.error());
    return;
  }
  add(scenario::PeerEnable{.device = *device}, answer_of(status));
}

}  // namespace tessera
