#include "contexts.h"

#include <utility>

#include "tessera/check.h"
#include "thread_number.h"

namespace tessera::sim {

namespace {

// Handles count up from here. Far from zero, so that a small number passed by mistake is no
// handle, and a context's handle is told from a stream's in a printout.
constexpr std::uint64_t handle_base = 0xc000'0000;

}  // namespace

Contexts::Contexts(std::int32_t devices, const Context& defaults) : defaults_(defaults) {
  TESSERA_CHECK(devices >= 0);
  primaries_.resize(static_cast<std::size_t>(devices));
}

Context* Contexts::primary(DeviceOrdinal device) { return find(primary_slot(device).handle); }

Contexts::Retained Contexts::retain_primary(DeviceOrdinal device) {
  Primary& slot = primary_slot(device);
  ++slot.references;
  if (Context* active = find(slot.handle)) return {.context = active, .is_new = false};
  if (slot.handle.is_null()) slot.handle = new_handle();
  return {.context = make(slot.handle, device, true), .is_new = true};
}

Contexts::Released Contexts::release_primary(DeviceOrdinal device) {
  Primary& slot = primary_slot(device);
  if (slot.references == 0) return {.released = false, .destroyed = std::nullopt};
  --slot.references;
  if (slot.references > 0) return {.released = true, .destroyed = std::nullopt};
  return {.released = true, .destroyed = take_out(slot.handle)};
}

bool Contexts::is_last_reference(DeviceOrdinal device) {
  return primary_slot(device).references == 1 && primary(device) != nullptr;
}

std::optional<Context> Contexts::reset_primary(DeviceOrdinal device) {
  return take_out(primary_slot(device).handle);
}

Context* Contexts::create(DeviceOrdinal device) {
  static_cast<void>(primary_slot(device));  // the device exists
  Context* context = make(new_handle(), device, false);
  stacks_[this_thread_number()].push_back(context->handle);
  return context;
}

std::optional<Context> Contexts::destroy(ContextHandle context) {
  const Context* found = find(context);
  if (found == nullptr || found->is_primary) return std::nullopt;
  if (current_handle() == context) pop_current();
  return take_out(context);
}

Context* Contexts::find(ContextHandle context) {
  const auto found = live_.find(context);
  return found == live_.end() ? nullptr : &found->second;
}

bool Contexts::is_destroyed(ContextHandle context) const {
  return was_given(context) && !live_.contains(context);
}

Context* Contexts::current() { return find(current_handle()); }

ContextHandle Contexts::current_handle() const {
  const auto stack = stacks_.find(this_thread_number());
  return stack == stacks_.end() ? ContextHandle() : stack->second.back();
}

bool Contexts::set_current(ContextHandle context) {
  if (context.is_null()) {
    pop_current();
    return true;
  }
  if (!was_given(context)) return false;
  std::vector<ContextHandle>& stack = stacks_[this_thread_number()];
  if (stack.empty()) {
    stack.push_back(context);
  } else {
    stack.back() = context;
  }
  return true;
}

Contexts::Primary& Contexts::primary_slot(DeviceOrdinal device) {
  TESSERA_CHECK(device.value() >= 0);
  const auto index = static_cast<std::size_t>(device.value());
  TESSERA_CHECK(index < primaries_.size());
  return primaries_[index];
}

ContextHandle Contexts::new_handle() {
  ++handles_given_;
  return ContextHandle(handle_base + handles_given_);
}

bool Contexts::was_given(ContextHandle context) const {
  return context.value() > handle_base && context.value() - handle_base <= handles_given_;
}

Context* Contexts::make(ContextHandle handle, DeviceOrdinal device, bool is_primary) {
  Context context = defaults_;
  context.handle = handle;
  context.device = device;
  context.is_primary = is_primary;
  const auto [position, inserted] = live_.emplace(handle, std::move(context));
  TESSERA_CHECK(inserted);
  return &position->second;
}

std::optional<Context> Contexts::take_out(ContextHandle context) {
  const auto found = live_.find(context);
  if (found == live_.end()) return std::nullopt;
  std::optional<Context> taken = std::move(found->second);
  live_.erase(found);
  // A primary context comes back under the same handle, and peers then have to enable it anew.
  for (auto& [handle, other] : live_) other.peers_enabled.erase(context);
  return taken;
}

void Contexts::pop_current() {
  const auto stack = stacks_.find(this_thread_number());
  if (stack == stacks_.end()) return;
  stack->second.pop_back();
  if (stack->second.empty()) stacks_.erase(stack);
}

}  // namespace tessera::sim
