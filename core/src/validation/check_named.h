// Streams, events and contexts that nobody gave: the driver refuses to know them. They may have
// come from calls that the layer does not see, so only its answer tells.
#pragma once

#include "validation/checks.h"

namespace tessera::validation {

// After a call that was refused and of which nothing is known to be wrong.
template <Call call, class Request>
void check_named(Inspection& look, const Request& request, ErrorCode refusal) {
  const auto stream = named<StreamHandle>(request);
  const auto event = named<EventHandle>(request);
  const bool is_stream_known =
      !stream || is_implicit(*stream) || look.objects.stream(*stream) != nullptr;
  if (refusal == ErrorCode::invalid_context && !is_stream_known) {
    look.report(RuleId::unknown_handle, {stream->value()});
    return;
  }
  // Beside a default stream it may be the current context that was destroyed.
  const bool is_events_fault = event && (!stream || (is_stream_known && !is_implicit(*stream)));
  if (refusal == ErrorCode::context_is_destroyed && is_events_fault &&
      look.objects.event(*event) == nullptr) {
    look.report(RuleId::unknown_handle, {event->value()});
    return;
  }
  if constexpr (call == Call::ctx_set_current) {
    if (refusal == ErrorCode::invalid_context && look.objects.context(request) == nullptr) {
      look.report(RuleId::unknown_handle, {request.value()});
    }
  }
}

}  // namespace tessera::validation
