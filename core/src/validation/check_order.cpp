// Streams and events.
#include "validation/checks.h"

namespace tessera::validation {
namespace {

bool event_is_live(Inspection& look, EventHandle event) {
  if (event.is_null()) {
    return look.report(RuleId::event_null);
  }
  if (look.objects.event(event) != nullptr) {
    return true;
  }
  const DeadObject* gone = look.objects.dead(DeadKind::event, event.value());
  if (gone != nullptr) {
    look.report(RuleId::event_destroyed, {event.value()}, gone->ended);
  }
  return gone == nullptr;
}

}  // namespace

bool stream_is_live(Inspection& look, StreamHandle stream) {
  if (is_implicit(stream) || look.objects.stream(stream) != nullptr) {
    return true;
  }
  const DeadObject* gone = look.objects.dead(DeadKind::stream, stream.value());
  if (gone != nullptr) {
    look.report(RuleId::stream_destroyed, {stream.value()}, gone->ended);
  }
  return gone == nullptr;
}

TESSERA_CHECK_CALL(stream_create) { look.flags_are(number_of(request), 1); }

TESSERA_CHECK_CALL(stream_destroy) {
  if (is_implicit(request)) {
    look.report(RuleId::default_stream_destroyed, {request.value()});
    return;
  }
  stream_is_live(look, request);
}

TESSERA_CHECK_CALL(stream_synchronize) { stream_is_live(look, request); }

TESSERA_CHECK_CALL(stream_wait_event) {
  if (stream_is_live(look, request.stream) && event_is_live(look, request.event)) {
    look.flags_are(request.flags);
  }
}

TESSERA_CHECK_CALL(event_create) {
  constexpr std::uint32_t known_flags = 7;
  look.flags_are(number_of(request), known_flags);
}

TESSERA_CHECK_CALL(event_record) {
  if (!stream_is_live(look, request.stream) || !event_is_live(look, request.event)) {
    return;
  }
  const LiveOrder* event = look.objects.event(request.event);
  const auto context = look.objects.context_of(request.stream);
  const bool is_known = event != nullptr && !event->context.is_null() && context &&
                        look.objects.context(*context) != nullptr;
  if (is_known && event->context != *context &&
      (!is_implicit(request.stream) || look.facts.current_context() == *context)) {
    look.report(RuleId::event_of_other_context,
                {request.event.value(), event->context.value(), context->value()}, event->made);
  }
}

TESSERA_CHECK_CALL(event_query) { event_is_live(look, request); }
TESSERA_CHECK_CALL(event_synchronize) { event_is_live(look, request); }
TESSERA_CHECK_CALL(event_destroy) { event_is_live(look, request); }

}  // namespace tessera::validation
