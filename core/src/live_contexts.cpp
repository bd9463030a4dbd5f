// The part of LiveObjects about contexts: which there are, and which is current on which thread.
#include <algorithm>
#include <vector>

#include "tessera/live_objects.h"

namespace tessera {

void LiveObjects::add_context(ContextHandle context, DeviceOrdinal device, bool is_primary,
                              const MadeBy& made) {
  const auto [found, is_new] = contexts_.try_emplace(
      context, LiveContext{.handle = context,
                           .device = device,
                           .is_primary = is_primary,
                           .is_reset = false,
                           .is_held_elsewhere = made_elsewhere_.contains(context),
                           .references = 1,
                           .made = made});
  found->second.references += is_new ? 0U : 1U;
  found->second.is_reset = false;
  if (is_primary) {
    primaries_.insert_or_assign(device, context);
  }
}

// Its allocations, streams and events go with it; what mem_create made, mappings and what lies in
// pools stay.
void LiveObjects::end_context(ContextHandle context, const MadeBy& ended) {
  std::erase_if(allocations_, [&](const auto& entry) {
    const bool goes = entry.second.context == context;
    if (goes) {
      remember({DeadKind::allocation, entry.first.value(), entry.second.range.size(),
                entry.second.made, ended});
    }
    return goes;
  });
  const auto end_orders = [&](auto& orders, DeadKind kind) {
    std::erase_if(orders, [&](const auto& entry) {
      const bool goes = entry.second.context == context;
      if (goes) {
        remember({kind, entry.first.value(), Bytes(), entry.second.made, ended});
      }
      return goes;
    });
  };
  end_orders(streams_, DeadKind::stream);
  end_orders(events_, DeadKind::event);
  if (const auto found = contexts_.find(context); found != contexts_.end()) {
    remember({DeadKind::context, context.value(), Bytes(), found->second.made, ended});
  }
}

void LiveObjects::release_primary(DeviceOrdinal device, const MadeBy& ended) {
  const auto primary = primaries_.find(device);
  if (primary == primaries_.end()) {
    return;
  }
  const ContextHandle context = primary->second;
  LiveContext& entry = contexts_.find(context)->second;
  if (--entry.references == 0) {
    if (!entry.is_held_elsewhere) {
      end_context(context, ended);
    }
    contexts_.erase(context);
    primaries_.erase(primary);
  }
}

// Its references stay: it can be used again.
void LiveObjects::reset_primary(DeviceOrdinal device, const MadeBy& ended) {
  if (const auto primary = primaries_.find(device); primary != primaries_.end()) {
    end_context(primary->second, ended);
    contexts_.find(primary->second)->second.is_reset = true;
  }
}

void LiveObjects::remove_context(ContextHandle context, const MadeBy& ended) {
  end_context(context, ended);
  contexts_.erase(context);
  auto& stack = current_[std::this_thread::get_id()];
  if (!stack.empty() && stack.back() == context) {
    stack.pop_back();
  }
  if (stack.empty()) {
    current_.erase(std::this_thread::get_id());
  }
}

void LiveObjects::see_context(ContextHandle context) {
  if (!context.is_null() && !contexts_.contains(context) &&
      dead(DeadKind::context, context.value()) == nullptr) {
    made_elsewhere_.insert(context);
  }
}

void LiveObjects::push_context(ContextHandle context) {
  current_[std::this_thread::get_id()].push_back(context);
}

void LiveObjects::set_current(ContextHandle context) {
  see_context(context);
  auto& stack = current_[std::this_thread::get_id()];
  if (stack.empty()) {
    stack.push_back(context);
  } else {
    stack.back() = context;
  }
  // Null pops; what is below is current then, or unknown.
  if (context.is_null()) {
    stack.pop_back();
    if (stack.empty()) {
      current_.erase(std::this_thread::get_id());
    }
  }
}

std::optional<ContextHandle> LiveObjects::current_context() const {
  const auto found = current_.find(std::this_thread::get_id());
  return found == current_.end() ? std::nullopt : std::optional(found->second.back());
}

const LiveContext* LiveObjects::context(ContextHandle context) const {
  const auto found = contexts_.find(context);
  return found == contexts_.end() ? nullptr : &found->second;
}

const LiveContext* LiveObjects::primary_of(DeviceOrdinal device) const {
  const auto found = primaries_.find(device);
  return found == primaries_.end() ? nullptr : context(found->second);
}

}  // namespace tessera
