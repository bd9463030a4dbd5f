#include <optional>

#include "validation/checks.h"

namespace tessera::validation {
namespace {

bool limit_is_known(Inspection& look, ContextLimit limit) {
  const bool is_known =
      limit <= ContextLimit::cig_enabled && limit != ContextLimit::dev_runtime_sync_depth;
  return look.holds(is_known, RuleId::limit_unknown, {number_of(limit)});
}

// Nothing: there is none, or it is not known.
std::optional<std::uint64_t> most_of(Inspection& look, ContextLimit limit) {
  switch (limit) {
    case ContextLimit::stack_size:
      return 523'712;  // [h200]
    case ContextLimit::max_l2_fetch_granularity:
      return 128;
    case ContextLimit::persisting_l2_cache_size: {
      const auto device = look.device_of(look.objects.current_context().value_or(ContextHandle()));
      return device ? look.facts.persisting_l2_cache_size(*device) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

TESSERA_CHECK_CALL(init) { look.flags_are(request); }

TESSERA_CHECK_CALL(device_get_name) { look.device_exists(request); }
TESSERA_CHECK_CALL(device_total_mem) { look.device_exists(request); }
TESSERA_CHECK_CALL(device_get_attribute) { look.device_exists(request.device); }
TESSERA_CHECK_CALL(device_can_access_peer) {
  if (look.device_exists(request.device)) {
    look.device_exists(request.peer);
  }
}

TESSERA_CHECK_CALL(device_primary_ctx_retain) { look.device_exists(request); }
TESSERA_CHECK_CALL(device_primary_ctx_release) {
  if (look.device_exists(request) && look.objects.primary_of(request) == nullptr) {
    look.report(RuleId::primary_not_retained, {number(request.value())});
  }
}
TESSERA_CHECK_CALL(device_primary_ctx_reset) { look.device_exists(request); }

TESSERA_CHECK_CALL(ctx_create) { look.device_exists(request.device); }

TESSERA_CHECK_CALL(ctx_destroy) {
  if (request.is_null()) {
    look.report(RuleId::null_handle);
    return;
  }
  if (const LiveContext* context = look.objects.context(request)) {
    if (context->is_primary) {
      look.report(RuleId::primary_context_destroyed, {request.value()}, context->made);
    }
    return;
  }
  if (const DeadObject* gone = look.objects.dead(DeadKind::context, request.value())) {
    look.report(RuleId::context_destroyed_twice, {request.value()}, gone->ended);
  }
}

TESSERA_CHECK_CALL(ctx_set_current) {
  if (request.is_null() || look.objects.context(request) != nullptr) {
    return;
  }
  if (const DeadObject* gone = look.objects.dead(DeadKind::context, request.value())) {
    look.report(RuleId::destroyed_context_made_current, {request.value()}, gone->ended);
  }
}

TESSERA_CHECK_CALL(ctx_set_limit) {
  if (!limit_is_known(look, request.limit)) {
    return;
  }
  const auto most = most_of(look, request.limit);
  if (request.limit >= ContextLimit::shmem_size) {
    look.report(RuleId::limit_read_only, {number_of(request.limit)});
  } else if (most && request.value.value() > *most) {
    look.report(RuleId::limit_too_large, {number_of(request.limit), request.value.value(), *most});
  }
}
TESSERA_CHECK_CALL(ctx_get_limit) { limit_is_known(look, request); }

TESSERA_CHECK_CALL(ctx_enable_peer_access) {
  if (!look.flags_are(request.flags)) {
    return;
  }
  const auto device = look.device_of(look.objects.current_context().value_or(ContextHandle()));
  const auto peer = look.device_of(request.peer);
  if (device && peer && (*device == *peer || look.facts.can_access(*device, *peer) == false)) {
    look.report(RuleId::peer_enable_unreachable, {number(device->value()), number(peer->value())});
  }
}

}  // namespace tessera::validation
