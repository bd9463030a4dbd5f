// Contexts of the naive model.
#include <algorithm>

#include "model/naive_model.h"

namespace tessera::model {
namespace {

constexpr std::int32_t shared_memory_attribute = 97;
constexpr std::int32_t l2_attribute = 108;

}  // namespace

const ModelContext* NaiveModel::context_of(std::uint64_t handle) const noexcept {
  for (const ModelContext& context : state_.contexts) {
    if (context.is_alive && context.handle == handle) {
      return &context;
    }
  }
  return nullptr;
}

ModelContext* NaiveModel::context_of(std::uint64_t handle) noexcept {
  for (ModelContext& context : state_.contexts) {
    if (context.is_alive && context.handle == handle) {
      return &context;
    }
  }
  return nullptr;
}

bool NaiveModel::was_context(std::uint64_t handle) const noexcept {
  return std::any_of(state_.contexts.begin(), state_.contexts.end(),
                     [&](const ModelContext& context) { return context.handle == handle; });
}

std::uint64_t NaiveModel::current_context() const noexcept {
  return state_.context_stack.empty() ? 0 : state_.context_stack.back();
}

ErrorCode NaiveModel::need_context() const noexcept {
  const std::uint64_t current = current_context();
  if (current == 0) {
    return ErrorCode::invalid_context;
  }
  if (context_of(current) == nullptr) {
    return ErrorCode::context_is_destroyed;
  }
  return state_.is_lost ? ErrorCode::illegal_address : ok;
}

ErrorCode NaiveModel::check_current() const noexcept {
  return current_context() == 0 ? ok : need_context();
}

std::int32_t NaiveModel::current_device() const noexcept {
  const ModelContext* context = context_of(current_context());
  return context != nullptr ? context->device : 0;
}

bool NaiveModel::is_device(std::int64_t device) const noexcept {
  return device >= 0 && device < devices_;
}

bool NaiveModel::can_reach(std::int32_t from, std::int32_t to) const noexcept {
  return from == to || profile_.peers.empty() ||
         profile_.peers[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

// The stacks of all threads, in whole blocks.
std::uint64_t NaiveModel::stack_share(std::uint64_t stack_size) const noexcept {
  const std::uint64_t block = profile_.heap_block.value();
  return stack_size * profile_.resident_threads / block * block;
}

// An attribute of the device; zero where the profile has none.
std::uint64_t NaiveModel::attribute_of(std::int32_t number) const {
  const auto found = profile_.device_attributes.find(number);
  return found == profile_.device_attributes.end() ? 0 : static_cast<std::uint64_t>(found->second);
}

// In such parts L2 is set aside.
std::uint64_t NaiveModel::l2_tenth() const { return attribute_of(l2_attribute) / 10; }

std::array<std::uint64_t, 10> NaiveModel::initial_limits() const {
  return {profile_.stack_size.value(),
          profile_.printf_fifo_size.value(),
          profile_.malloc_heap_size.value(),
          0,
          2048,
          64,
          l2_tenth() * 3,
          attribute_of(shared_memory_attribute)};
}

void NaiveModel::add_context(std::uint64_t handle, std::int32_t device, bool is_primary) {
  has_changed_ = true;
  state_.contexts.push_back({.handle = handle,
                             .device = device,
                             .is_primary = is_primary,
                             .limits = initial_limits(),
                             .memory = profile_.context_static.value()});
}

// All that a context has goes with it, once all that is queued anywhere is done; what mem_create
// made stays.
void NaiveModel::end_context(ModelContext& context) {
  for (const ModelContext& other : state_.contexts) {
    if (other.is_alive) {
      advance_to(std::max(state_.now, other.all_end));
    }
  }
  const std::uint64_t handle = context.handle;
  context.is_alive = false;
  has_changed_ = true;
  std::erase_if(state_.streams, [&](const ModelStream& of) { return of.context == handle; });
  std::erase_if(state_.events, [&](const ModelEvent& of) { return of.context == handle; });
  std::erase_if(state_.work, [&](const ModelWork& of) { return of.context == handle; });
  for (ModelContext& other : state_.contexts) {
    std::erase(other.peers, handle);
  }
  std::vector<std::uint64_t> owned;
  for (const ModelLegacy& legacy : state_.legacy) {
    if (legacy.context == handle) {
      owned.push_back(legacy.id);
    }
  }
  for (const std::uint64_t id : owned) {
    free_legacy(id);
  }
  trim_pools();
}

ErrorCode NaiveModel::retain_primary(const Op& op, const Outcome& outcome) {
  if (!is_device(op.device)) {
    return ErrorCode::invalid_device;
  }
  std::uint64_t known = 0;  // the device's primary context has one handle for good
  bool is_active = false;
  for (const ModelContext& context : state_.contexts) {
    if (context.is_primary && context.device == op.device) {
      known = context.handle;
      is_active = is_active || context.is_alive;
    }
  }
  if (!is_active) {
    enter(Call::ctx_create);
    if (state_.is_lost) {
      return ErrorCode::illegal_address;
    }
    if (profile_.context_static.value() > free_memory(op.device)) {
      return ErrorCode::out_of_memory;
    }
    if (!outcome.is_ok()) {
      // Memory that must be in one piece may be in too many.
      return profile_.contiguous_memory ? ErrorCode::out_of_memory : ok;
    }
    if (known == 0 && was_context(outcome.value)) {
      complain("the context's handle is another context's");
    }
    std::erase_if(state_.contexts, [&](const ModelContext& context) {
      return context.is_primary && context.device == op.device;
    });
    add_context(outcome.value, op.device, true);
  }
  ++state_.primary_references[static_cast<std::size_t>(op.device)];
  if (known != 0) {
    expect(known);
  }
  enter(Call::ctx_set_current);
  return set_current(outcome.value);
}

ErrorCode NaiveModel::create_context(const Op& op, const Outcome& outcome) {
  if (!is_device(op.device)) {
    return ErrorCode::invalid_device;
  }
  if (state_.is_lost) {
    return ErrorCode::illegal_address;
  }
  if (profile_.context_static.value() > free_memory(op.device)) {
    return ErrorCode::out_of_memory;
  }
  if (!outcome.is_ok()) {
    return profile_.contiguous_memory ? ErrorCode::out_of_memory : ok;
  }
  if (was_context(outcome.value)) {
    complain("the new context's handle was given before");
  }
  add_context(outcome.value, op.device, false);
  state_.context_stack.push_back(outcome.value);
  return ok;
}

ErrorCode NaiveModel::destroy_context(std::uint64_t handle) {
  if (handle == 0) {
    return ErrorCode::invalid_value;
  }
  ModelContext* context = context_of(handle);
  if (context == nullptr) {
    return was_context(handle) ? ErrorCode::context_is_destroyed : ErrorCode::invalid_context;
  }
  if (context->is_primary) {
    return ErrorCode::invalid_context;
  }
  if (current_context() == handle) {
    state_.context_stack.pop_back();
  }
  end_context(*context);
  return ok;
}

ErrorCode NaiveModel::set_current(std::uint64_t handle) {
  if (handle == 0) {
    if (!state_.context_stack.empty()) {
      state_.context_stack.pop_back();
    }
    return ok;
  }
  if (!was_context(handle)) {
    return ErrorCode::invalid_context;
  }
  if (!state_.context_stack.empty()) {
    state_.context_stack.pop_back();
  }
  state_.context_stack.push_back(handle);
  return ok;
}

ErrorCode NaiveModel::enable_peer(const Op& op) {
  if (const ErrorCode code = need_context(); code != ok) {
    return code;
  }
  const auto is_primary_of = [&](const ModelContext& context) {
    return context.is_alive && context.is_primary && context.device == op.device;
  };
  const auto found = std::find_if(state_.contexts.begin(), state_.contexts.end(), is_primary_of);
  if (found == state_.contexts.end()) {
    return ErrorCode::invalid_context;
  }
  ModelContext& context = *context_of(current_context());
  if (context.device == found->device || !can_reach(context.device, found->device)) {
    return ErrorCode::peer_access_unsupported;
  }
  if (std::find(context.peers.begin(), context.peers.end(), found->handle) != context.peers.end()) {
    return ErrorCode::peer_access_already_enabled;
  }
  context.peers.push_back(found->handle);
  return ok;
}

ErrorCode NaiveModel::set_limit(const Op& op, const Arguments& arguments, const Outcome& outcome) {
  if (const ErrorCode code = need_context(); code != ok) {
    return code;
  }
  ModelContext& context = *context_of(current_context());
  const std::uint64_t value = arguments.extra;
  const auto up_to = [](std::uint64_t number, std::uint64_t unit) {
    const std::uint64_t rest = number % unit;
    return rest == 0 ? number : number + (unit - rest);
  };
  switch (op.choice) {
    case 0:
      break;
    case 1:
      context.limits[1] =
          std::min<std::uint64_t>(up_to(std::max<std::uint64_t>(value, 524'288), 256), 1ULL << 31U);
      return ok;
    case 2:
      context.limits[2] = std::min<std::uint64_t>(
          up_to(std::max<std::uint64_t>(value, 4'194'304), 65'536), 17'681'179'680);
      return ok;
    case 4:
      context.limits[4] = std::clamp<std::uint64_t>(value, 32, 599'186);
      return ok;
    case 5:
      if (value > 128) {
        return ErrorCode::invalid_value;
      }
      context.limits[5] = value;
      return ok;
    case 6:
      if (value > attribute_of(l2_attribute)) {
        return ErrorCode::invalid_value;
      }
      context.limits[6] = value == 0 ? 0 : up_to(value, l2_tenth());
      return ok;
    case 7:
    case 8:
      return ErrorCode::not_permitted;
    default:
      return op.choice <= 9 ? ErrorCode::unsupported_limit : ErrorCode::invalid_value;
  }
  if (value > 523'712) {
    return ErrorCode::invalid_value;
  }
  const std::uint64_t rounded = up_to(value, 16);
  const std::uint64_t before = up_to(context.limits[0], 16);
  if (rounded == before) {
    context.limits[0] = value;
    has_changed_ = true;
    return ok;
  }
  if (stack_share(rounded) > free_memory(context.device) + stack_share(before)) {
    return ErrorCode::out_of_memory;
  }
  if (!outcome.is_ok() && profile_.contiguous_memory) {
    return ErrorCode::out_of_memory;
  }
  context.memory += stack_share(rounded) - stack_share(before);
  context.limits[0] = rounded;
  has_changed_ = true;
  return ok;
}

ErrorCode NaiveModel::get_limit(const Op& op) {
  if (const ErrorCode code = need_context(); code != ok) {
    return code;
  }
  if (op.choice == 3 || op.choice >= 9) {
    return op.choice <= 9 ? ErrorCode::unsupported_limit : ErrorCode::invalid_value;
  }
  expect(context_of(current_context())->limits[op.choice]);
  return ok;
}

ErrorCode NaiveModel::judge_context(const Op& op, const Arguments& arguments,
                                    const Outcome& outcome) {
  switch (op.kind) {
    case OpKind::ctx_retain:
      enter(Call::device_primary_ctx_retain);
      return retain_primary(op, outcome);
    case OpKind::ctx_release: {
      enter(Call::device_primary_ctx_release);
      if (!is_device(op.device)) {
        return ErrorCode::invalid_device;
      }
      std::uint64_t& references = state_.primary_references[static_cast<std::size_t>(op.device)];
      if (references == 0) {
        return ErrorCode::invalid_context;
      }
      --references;
      for (ModelContext& context : state_.contexts) {
        if (references == 0 && context.is_alive && context.is_primary &&
            context.device == op.device) {
          end_context(context);
        }
      }
      return ok;
    }
    case OpKind::ctx_reset:
      enter(Call::device_primary_ctx_reset);
      if (!is_device(op.device)) {
        return ErrorCode::invalid_device;
      }
      for (ModelContext& context : state_.contexts) {
        if (context.is_alive && context.is_primary && context.device == op.device) {
          end_context(context);
        }
      }
      return ok;
    case OpKind::ctx_create:
      enter(Call::ctx_create);
      return create_context(op, outcome);
    case OpKind::ctx_destroy:
      enter(Call::ctx_destroy);
      return destroy_context(arguments.object);
    case OpKind::ctx_set:
    case OpKind::ctx_none:
      enter(Call::ctx_set_current);
      return set_current(op.kind == OpKind::ctx_none ? 0 : arguments.object);
    case OpKind::peer_can:
      enter(Call::device_can_access_peer);
      if (!is_device(op.device) || !is_device(op.other)) {
        return ErrorCode::invalid_device;
      }
      expect(op.device != op.other && can_reach(op.device, op.other) ? 1 : 0);
      return ok;
    case OpKind::peer_enable:
      enter(Call::ctx_enable_peer_access);
      return enable_peer(op);
    case OpKind::limit_set:
      enter(Call::ctx_set_limit);
      return set_limit(op, arguments, outcome);
    case OpKind::limit_get:
      enter(Call::ctx_get_limit);
      return get_limit(op);
    default:
      enter(Call::ctx_synchronize);
      if (const ErrorCode code = need_context(); code != ok) {
        return code;
      }
      return wait_until(context_of(current_context())->all_end);
  }
}

}  // namespace tessera::model
