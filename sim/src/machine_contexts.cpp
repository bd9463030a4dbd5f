#include <algorithm>
#include <utility>

#include "machine.h"

namespace tessera::sim {
namespace {

// Numbers that are none are told from limits that the device lacks [h200].
Result<const LimitRule*> rule_of(const LimitRules& rules, ContextLimit limit) {
  const auto number = static_cast<std::size_t>(limit);
  if (number >= rules.size()) {
    return refuse(ErrorCode::invalid_value, Reason::unknown_limit, number);
  }
  if (rules.at(number).use == LimitRule::Use::unsupported) {
    return refuse(ErrorCode::unsupported_limit, Reason::unknown_limit, number);
  }
  return &rules.at(number);
}

}  // namespace

Result<Context*> Machine::need_context() {
  Context* context = contexts_.current();
  if (context == nullptr) {
    const ContextHandle handle = contexts_.current_handle();
    if (handle.is_null()) {
      return refuse(ErrorCode::invalid_context, Reason::no_current_context);
    }
    return refuse(ErrorCode::context_is_destroyed, Reason::context_destroyed, handle.value());
  }
  TESSERA_TRY(check_not_lost());
  return context;
}

Status Machine::check_current() {
  if (contexts_.current_handle().is_null()) {
    return {};
  }
  TESSERA_TRY(need_context());
  return {};
}

Result<ContextResources> Machine::resources_for(DeviceOrdinal device) {
  TESSERA_TRY(check_not_lost());
  ContextResources resources(profile_.heap_alignment);
  DeviceMemory& memory = memory_of(device);
  const Bytes stacks = stack_share(profile_.stack_size);
  const auto static_piece = memory.take(profile_.context_static - stacks);
  if (!static_piece) {
    return out_of_memory(profile_.context_static, device);
  }
  const auto stack_piece = memory.take(stacks);
  if (!stack_piece) {
    memory.give_back(*static_piece);
    return out_of_memory(profile_.context_static, device);
  }
  resources.static_piece = *static_piece;
  resources.stack_piece = *stack_piece;
  return resources;
}

void Machine::give_resources(ContextHandle context, ContextResources resources) {
  resources_.emplace(context, std::move(resources));
  take_driver_addresses();
}

void Machine::take_resources(const Context& context) {
  timeline_.drop_context(context.handle);
  free_legacy_of(context.handle);
  trim_pools();
  const auto found = resources_.find(context.handle);
  TESSERA_CHECK(found != resources_.end());
  memory_of(context.device).give_back(found->second.static_piece);
  memory_of(context.device).give_back(found->second.stack_piece);
  resources_.erase(found);
}

void Machine::take_driver_addresses() {
  // The first context of a process puts blocks of the driver's own into the address space; later
  // reservations lie between them, and unmap and set access find them.
  if (has_driver_addresses_) {
    return;
  }
  has_driver_addresses_ = true;
  if (!profile_.driver_addresses.is_zero()) {
    const std::vector<AddressRange> none;
    space_.add_driver_addresses(
        profile_.driver_addresses, profile_.driver_free,
        options_.devices == 1 ? profile_.driver_mapped_single_device : none);
  }
}

// A fault ends the process for CUDA: all its contexts, on every device, are lost, and no new one
// can be made, whatever is destroyed or reset. Virtual memory calls go on [h200].
void Machine::lose(const Error& cause) {
  // What was touched is the first value of every refused access.
  lost_ = refuse(ErrorCode::illegal_address, Reason::process_lost, cause.values[0]);
  for (const auto& [handle, resources] : resources_) {
    timeline_.drop_work(handle);
  }
}

Status Machine::check_not_lost() const {
  if (lost_) {
    return *lost_;
  }
  return {};
}

void Machine::wait_for_work(std::optional<DeviceOrdinal> device) {
  Timeline::Time end = 0;
  for (const auto& [handle, resources] : resources_) {
    if (!device || contexts_.find(handle)->device == *device) {
      end = std::max(end, timeline_.context_end(handle));
    }
  }
  timeline_.advance_to(end);
}

Result<ContextHandle> Machine::device_primary_ctx_retain(DeviceOrdinal device) {
  TESSERA_TRY(check_device(device));
  // One that is there is given out also when it is lost [h200].
  if (contexts_.primary(device) != nullptr) {
    return contexts_.retain_primary(device).context->handle;
  }
  // It takes as long to make as others.
  timeline_.advance(duration_of(Call::ctx_create, Bytes()));
  TESSERA_TRY_ASSIGN(ContextResources resources, resources_for(device));
  const ContextHandle context = contexts_.retain_primary(device).context->handle;
  give_resources(context, std::move(resources));
  return context;
}

Status Machine::device_primary_ctx_release(DeviceOrdinal device) {
  TESSERA_TRY(check_device(device));
  if (contexts_.is_last_reference(device)) {
    wait_for_work();
  }
  const Contexts::Released released = contexts_.release_primary(device);
  if (!released.released) {
    return refuse(ErrorCode::invalid_context, Reason::primary_context_not_retained,
                  static_cast<std::uint64_t>(device.value()));
  }
  if (released.destroyed) {
    take_resources(*released.destroyed);
  }
  return {};
}

Status Machine::device_primary_ctx_reset(DeviceOrdinal device) {
  TESSERA_TRY(check_device(device));
  if (contexts_.primary(device) != nullptr) {
    wait_for_work();
  }
  if (const auto destroyed = contexts_.reset_primary(device)) {
    take_resources(*destroyed);
  }
  return {};
}

Result<ContextHandle> Machine::ctx_create(const ContextCreateRequest& request) {
  constexpr std::uint32_t known_flags = 0xff;
  if ((request.flags & ~known_flags) != 0) {
    return invalid(Reason::unknown_flags, request.flags, known_flags);
  }
  TESSERA_TRY(check_device(request.device));
  TESSERA_TRY_ASSIGN(ContextResources resources, resources_for(request.device));
  const ContextHandle context = contexts_.create(request.device)->handle;
  give_resources(context, std::move(resources));
  return context;
}

Status Machine::ctx_destroy(ContextHandle context) {
  if (context.is_null()) {
    return invalid(Reason::null_handle);
  }
  if (contexts_.is_destroyed(context)) {
    return refuse(ErrorCode::context_is_destroyed, Reason::context_is_gone, context.value());
  }
  const Context* found = contexts_.find(context);
  if (found != nullptr && !found->is_primary) {
    wait_for_work();
  }
  const auto destroyed = contexts_.destroy(context);
  if (!destroyed) {
    return refuse(ErrorCode::invalid_context, Reason::not_a_created_context, context.value());
  }
  take_resources(*destroyed);
  return {};
}

Status Machine::ctx_set_current(ContextHandle context) {
  if (!contexts_.set_current(context)) {
    return refuse(ErrorCode::invalid_context, Reason::not_a_context, context.value());
  }
  return {};
}

Result<ContextHandle> Machine::ctx_get_current() { return contexts_.current_handle(); }

Status Machine::ctx_synchronize() {
  TESSERA_TRY_ASSIGN(const Context* context, need_context());
  return wait_until(timeline_.context_end(context->handle));
}

Status Machine::ctx_enable_peer_access(const PeerAccessRequest& request) {
  TESSERA_TRY_ASSIGN(Context * context, need_context());
  if (request.flags != 0) {
    return invalid(Reason::flags_not_zero, request.flags);
  }
  const Context* peer = contexts_.find(request.peer);
  if (peer == nullptr) {
    return refuse(ErrorCode::invalid_context, Reason::not_a_context, request.peer.value());
  }
  const DeviceOrdinal from = context->device;
  const DeviceOrdinal to = peer->device;
  if (from == to || !can_reach(from, to)) {
    return refuse(ErrorCode::peer_access_unsupported, Reason::not_peers,
                  static_cast<std::uint64_t>(from.value()), static_cast<std::uint64_t>(to.value()));
  }
  if (!context->peers_enabled.insert(peer->handle).second) {
    return refuse(ErrorCode::peer_access_already_enabled, Reason::peer_access_already_enabled,
                  static_cast<std::uint64_t>(to.value()));
  }
  return {};
}

// Whole granules for the stacks of all threads that can be resident.
Bytes Machine::stack_share(Bytes stack_size) const {
  return align_down(stack_size * profile_.resident_threads, profile_.heap_block);
}

Status Machine::ctx_set_limit(const SetLimitRequest& request) {
  TESSERA_TRY_ASSIGN(Context * context, need_context());
  TESSERA_TRY_ASSIGN(const LimitRule* rule, rule_of(limit_rules_, request.limit));
  const auto number = static_cast<std::size_t>(request.limit);
  if (rule->use == LimitRule::Use::read_only) {
    return refuse(ErrorCode::not_permitted, Reason::limit_read_only, number);
  }
  Bytes value = request.value;
  if (!rule->adjust(value)) {
    return invalid(Reason::limit_too_large, request.value.value());
  }
  // The heap's and the buffer's memory is taken by the first kernel that uses them, and the
  // simulator's kernel uses neither; the stacks' is taken at once [h200].
  if (request.limit == ContextLimit::stack_size) {
    // What rounds to the stack there is changes nothing, and is kept as it was given [h200].
    Bytes before = context->limits.at(number);
    static_cast<void>(rule->adjust(before));
    if (value == before) {
      value = request.value;
    } else {
      TESSERA_TRY(take_stacks(*context, value));
    }
  }
  context->limits.at(number) = value;
  return {};
}

Status Machine::take_stacks(const Context& context, Bytes stack_size) {
  DeviceMemory& memory = memory_of(context.device);
  DeviceMemory::Piece& piece = resources_.at(context.handle).stack_piece;
  const DeviceMemory::Piece before = piece;
  memory.give_back(before);
  const auto taken = memory.take(stack_share(stack_size));
  if (!taken) {
    const auto again = memory.take(before.size);
    TESSERA_CHECK(again.has_value());  // it was given back a moment ago
    piece = *again;
    return out_of_memory(stack_share(stack_size), context.device);
  }
  piece = *taken;
  return {};
}

Result<Bytes> Machine::ctx_get_limit(ContextLimit limit) {
  TESSERA_TRY_ASSIGN(const Context* context, need_context());
  TESSERA_TRY(rule_of(limit_rules_, limit));
  return context->limits.at(static_cast<std::size_t>(limit));
}

}  // namespace tessera::sim
