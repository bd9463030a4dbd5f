#include <algorithm>

#include "scenario/perform.h"

namespace tessera::scenario {
namespace {

DeviceOrdinal ordinal(const std::optional<std::int32_t>& device) {
  return DeviceOrdinal(device.value_or(0));
}

// By its distance; what is too far away for one (no address at all, mostly) as a plain number.
Answer show_address(std::uint64_t value, std::uint64_t address) {
  constexpr std::uint64_t far = std::uint64_t{1} << 40U;
  const std::uint64_t distance = value > address ? value - address : address - value;
  if (distance >= far) {
    return Answer().add("v", value);
  }
  return Answer().add_signed("rel", static_cast<std::int64_t>(value - address));
}

}  // namespace

Answer show_attribute(PointerAttribute which, std::uint64_t value, std::uint64_t address) {
  switch (which) {
    case PointerAttribute::device_pointer:
    case PointerAttribute::host_pointer:
    case PointerAttribute::range_start_addr:
    case PointerAttribute::mapping_base_addr:
      return show_address(value, address);
    case PointerAttribute::context:
    case PointerAttribute::mempool_handle:
      return Answer().add("nonnull", std::uint64_t{value != 0});
    case PointerAttribute::buffer_id:
    case PointerAttribute::memory_block_id:
      return Answer().add("id", std::uint64_t{value != 0});
    default:
      return Answer().add_signed("v", static_cast<std::int64_t>(value));
  }
}

Answer perform(CaseState& state, const MemInfo& operation) {
  const auto info = state.driver().mem_get_info();
  if (!info) {
    return Answer(info.error());
  }
  Answer answer;
  answer.add_signed("used_delta",
                    static_cast<std::int64_t>(state.free_at_start() - info->free.value()));
  if (operation.total.value_or(0) != 0) {
    answer.add("total", info->total.value());
  }
  return answer;
}

Answer perform(CaseState& state, const MemInfoStart&) {
  state.start_accounting();
  return {};
}

Answer perform(CaseState& state, const Attribute& operation) {
  const DeviceAddress address = state.address(operation.address);
  const auto value =
      state.driver().pointer_get_attribute({.attribute = operation.which, .address = address});
  return value ? show_attribute(operation.which, *value, address.value()) : Answer(value.error());
}

Answer perform(CaseState& state, const SameBlock& operation) {
  const PointerAttribute which = operation.which.value_or(PointerAttribute::memory_block_id);
  const auto left = state.driver().pointer_get_attribute(
      {.attribute = which, .address = state.address(operation.left)});
  if (!left) {
    return Answer(left.error());
  }
  const auto right = state.driver().pointer_get_attribute(
      {.attribute = which, .address = state.address(operation.right)});
  return right ? Answer().add("equal", std::uint64_t{*left == *right}) : Answer(right.error());
}

Answer perform(CaseState& state, const AddressRangeOf& operation) {
  const DeviceAddress address = state.address(operation.address);
  const auto range = state.driver().mem_get_address_range(address);
  if (!range) {
    return Answer(range.error());
  }
  return Answer()
      .add_signed("rel", static_cast<std::int64_t>(range->begin().value() - address.value()))
      .add("size", range->size().value());
}

Answer perform(CaseState& state, const ContextRetain& operation) {
  return answer_of(state.retain_primary(operation.device.value_or(0)));
}

Answer perform(CaseState& state, const ContextRelease& operation) {
  const std::int32_t device = operation.device.value_or(0);
  const Status status = state.driver().device_primary_ctx_release(DeviceOrdinal(device));
  auto& primaries = state.ledger().primaries;
  if (const auto held = primaries.find(device); status && held != primaries.end()) {
    held->second.references -= std::min<std::uint64_t>(held->second.references, 1);
  }
  return answer_of(status);
}

Answer perform(CaseState& state, const ContextReset& operation) {
  state.ledger().tainted = true;
  return answer_of(state.driver().device_primary_ctx_reset(ordinal(operation.device)));
}

Answer perform(CaseState& state, const ContextNone&) {
  return answer_of(state.driver().ctx_set_current(ContextHandle()));
}

Answer perform(CaseState& state, const ContextCreate& operation) {
  state.ledger().tainted = true;
  const auto context = state.driver().ctx_create({.device = ordinal(operation.device)});
  state.symbols().set(operation.result, context ? context->value() : 0);
  if (!context) {
    return Answer(context.error());
  }
  state.ledger().contexts.push_back(*context);
  return {};
}

Answer perform(CaseState& state, const ContextSet& operation) {
  return answer_of(state.driver().ctx_set_current(ContextHandle(state.value(operation.context))));
}

Answer perform(CaseState& state, const ContextDestroy& operation) {
  const ContextHandle context(state.value(operation.context));
  const Status status = state.driver().ctx_destroy(context);
  if (status) {
    std::erase(state.ledger().contexts, context);
  }
  return answer_of(status);
}

Answer perform(CaseState& state, const ContextSync&) {
  return answer_of(state.driver().ctx_synchronize());
}

Answer perform(CaseState& state, const PeerCan& operation) {
  const auto can = state.driver().device_can_access_peer(
      {.device = DeviceOrdinal(operation.device), .peer = DeviceOrdinal(operation.peer)});
  return can ? Answer().add("can", std::uint64_t{*can}) : Answer(can.error());
}

Answer perform(CaseState& state, const PeerEnable& operation) {
  state.ledger().tainted = true;
  return answer_of(
      state.driver().ctx_enable_peer_access({.peer = state.primary(operation.device)}));
}

Answer perform(CaseState& state, const Version&) {
  const auto version = state.driver().driver_get_version();
  return version ? Answer().add_signed("v", *version) : Answer(version.error());
}

Answer perform(CaseState& state, const DeviceCount&) {
  const auto count = state.driver().device_get_count();
  return count ? Answer().add_signed("n", *count) : Answer(count.error());
}

Answer perform(CaseState& state, const DeviceName& operation) {
  const auto name = state.driver().device_get_name(ordinal(operation.device));
  if (!name) {
    return Answer(name.error());
  }
  std::string word = *name;
  std::replace(word.begin(), word.end(), ' ', '_');
  return Answer().add("name", word);
}

Answer perform(CaseState& state, const DeviceMemory& operation) {
  const auto bytes = state.driver().device_total_mem(ordinal(operation.device));
  return bytes ? Answer().add("bytes", bytes->value()) : Answer(bytes.error());
}

Answer perform(CaseState& state, const DeviceAttribute& operation) {
  const auto value = state.driver().device_get_attribute(
      {.attribute = operation.attribute, .device = ordinal(operation.device)});
  // Recordings show a value after an error too: the -1 that was there before the call.
  return value ? Answer().add_signed("v", *value) : Answer(value.error()).add_signed("v", -1);
}

}  // namespace tessera::scenario
