// Queries and multicast objects of the naive model.
#include <algorithm>

#include "model/naive_model.h"

namespace tessera::model {
namespace {

constexpr std::uint64_t on_host = 1;
constexpr std::uint64_t on_device = 2;

std::uint64_t signed_value(std::int32_t value) noexcept {
  return static_cast<std::uint64_t>(std::int64_t{value});
}

}  // namespace

bool NaiveModel::is_host_mapping(const ModelBlock& block) const {
  if (block.kind != BlockKind::mapping || state_.handles[block.handle].is_multicast) {
    return false;
  }
  const ModelMemory& memory = state_.memories[state_.handles[block.handle].object];
  return memory.properties.location.type == LocationType::host_numa;
}

// The mapping with access, or the allocation.
Outcome NaiveModel::expected_range(std::uint64_t address) const {
  if (const ErrorCode code = need_context(); code != ok) {
    return {.code = code};
  }
  const ModelBlock* block = block_at(address);
  const bool is_seen =
      block != nullptr &&
      (block->kind == BlockKind::legacy ||
       (block->kind == BlockKind::mapping &&
        block->access[static_cast<std::size_t>(current_device())] != AccessFlags::none));
  if (!is_seen) {
    return {.code = ErrorCode::not_found};
  }
  // Of host memory only the size is told.
  return {.value = is_host_mapping(*block) ? 0 : block->begin, .second = block->size};
}

Outcome NaiveModel::expected_attribute(std::uint64_t address, PointerAttribute attribute,
                                       bool& is_free) const {
  const Outcome refused = {.code = ErrorCode::invalid_value};
  const auto number = static_cast<std::uint32_t>(attribute);
  const ModelBlock* block = block_at(address);
  is_free = attribute == PointerAttribute::buffer_id ||
            attribute == PointerAttribute::memory_block_id ||
            attribute == PointerAttribute::mempool_handle;
  if (block == nullptr || block->kind == BlockKind::driver || number < 1 || number > 21) {
    return refused;
  }
  const bool is_mapping = block->kind == BlockKind::mapping;
  const ModelLegacy* legacy = is_mapping ? nullptr : legacy_of(block->legacy);
  const ModelHandle* handle = is_mapping ? &state_.handles[block->handle] : nullptr;
  AllocationProperties properties;
  if (is_mapping && !handle->is_multicast) {
    properties = state_.memories[handle->object].properties;
  }
  const bool lies_on_host = is_mapping ? properties.location.type == LocationType::host_numa
                                       : legacy->kind == LegacyKind::host;
  const bool has_context = context_of(current_context()) != nullptr;
  AccessFlags flags = AccessFlags::read_write;
  if (is_mapping) {
    flags =
        has_context ? block->access[static_cast<std::size_t>(current_device())] : AccessFlags::none;
  }
  const ModelReservation* reservation = is_mapping ? reservation_at(address) : nullptr;
  const ModelHeapBlock* heap = is_mapping ? nullptr : heap_block_at(legacy->begin);
  const std::uint64_t granularity = profile_.granularity_minimum.value();
  const auto is = [&](LegacyKind kind) { return !is_mapping && legacy->kind == kind; };
  switch (attribute) {
    case PointerAttribute::context:
      return {.value = is_mapping ? 0 : legacy->context};
    case PointerAttribute::memory_type:
      return {.value = lies_on_host ? on_host : on_device};
    case PointerAttribute::device_pointer:
      if (!has_context) {
        return {.code = ErrorCode::invalid_context};
      }
      return flags == AccessFlags::none ? refused : Outcome{.value = address};
    case PointerAttribute::host_pointer: {
      const bool can = is_mapping ? block->host != AccessFlags::none
                                  : is(LegacyKind::managed) || is(LegacyKind::host);
      return can ? Outcome{.value = address} : refused;
    }
    case PointerAttribute::p2p_tokens:
      return lies_on_host ? refused : Outcome();
    case PointerAttribute::sync_memops:
      return {.value =
                  (is_mapping ? block->sync_memops : legacy->sync_memops || is(LegacyKind::managed))
                      ? 1U
                      : 0U};
    case PointerAttribute::is_managed:
      return {.value = is(LegacyKind::managed) ? 1U : 0U};
    case PointerAttribute::device_ordinal:
      return {.value = signed_value(is_mapping ? properties.location.id : legacy->device)};
    case PointerAttribute::is_hw_decompress_capable:
      if (is_mapping) {
        return {.value = !handle->is_multicast && state_.memories[handle->object].hw_decompress};
      }
      [[fallthrough]];
    case PointerAttribute::is_legacy_cuda_ipc_capable:
      return {.value = is(LegacyKind::device) ? 1U : 0U};
    case PointerAttribute::range_start_addr:
      if (is_mapping) {
        return {.value = reservation != nullptr ? reservation->begin : 0};
      }
      return {.value = legacy->begin};
    case PointerAttribute::range_size:
      if (is_mapping) {
        return {.value = reservation != nullptr ? reservation->size : 0};
      }
      return {.value = legacy->size};
    case PointerAttribute::mapped:
      return {.value = 1};
    case PointerAttribute::allowed_handle_types:
      return {.value = is_mapping && !handle->is_imported
                           ? static_cast<std::uint64_t>(properties.requested_handle_types)
                           : 0};
    case PointerAttribute::is_gpu_direct_rdma_capable:
      return {.value = is_mapping ? properties.gpu_direct_rdma_capable
                                  : (is(LegacyKind::device) ? 1U : 0U)};
    case PointerAttribute::access_flags:
      return {.value = static_cast<std::uint64_t>(flags)};
    case PointerAttribute::mapping_size:
      if (is_mapping) {
        return {.value = block->size};
      }
      return {.value = heap != nullptr
                           ? heap->size
                           : (legacy->size + granularity - 1) / granularity * granularity};
    case PointerAttribute::mapping_base_addr:
      return {.value = is_mapping || heap == nullptr ? block->begin : heap->begin};
    default:
      return {};
  }
}

void NaiveModel::set_sync_memops(std::uint64_t address) {
  for (ModelBlock& block : state_.blocks) {
    if (block.begin <= address && address < block.end() && block.kind == BlockKind::mapping) {
      block.sync_memops = true;
    }
  }
  for (ModelLegacy& legacy : state_.legacy) {
    if (legacy.begin <= address && address - legacy.begin < legacy.size) {
      legacy.sync_memops = true;
    }
  }
}

ErrorCode NaiveModel::judge_query(const Op& op, const Arguments& arguments) {
  switch (op.kind) {
    case OpKind::mem_info: {
      enter(Call::mem_get_info);
      const ErrorCode code = need_context();
      expect(free_memory(current_device()), profile_.memory_total.value());
      return code;
    }
    case OpKind::address_range: {
      enter(Call::mem_get_address_range);
      const Outcome expected = expected_range(arguments.address);
      expect(expected.value, expected.second);
      return expected.code;
    }
    default: {
      enter(Call::pointer_get_attribute);
      bool is_free = false;
      const Outcome expected =
          expected_attribute(arguments.address, static_cast<PointerAttribute>(op.choice), is_free);
      if (!is_free) {
        expect(expected.value);
      }
      if (expected.code == ok &&
          static_cast<PointerAttribute>(op.choice) == PointerAttribute::p2p_tokens) {
        set_sync_memops(arguments.address);
      }
      return expected.code;
    }
  }
}

ErrorCode NaiveModel::judge_multicast(const Op& op, const Arguments& arguments,
                                      const Outcome& outcome) {
  constexpr std::array calls = {Call::multicast_create, Call::multicast_add_device,
                                Call::multicast_bind_mem, Call::multicast_unbind};
  enter(calls.at(static_cast<std::size_t>(op.kind) - static_cast<std::size_t>(OpKind::mc_create)));
  const std::uint64_t granularity = profile_.granularity_minimum.value();
  if (op.kind == OpKind::mc_create) {
    if (!profile_.multicast) {
      return ErrorCode::not_supported;
    }
    const auto count = static_cast<std::uint32_t>(op.device);
    if (count == 0 || count > static_cast<std::uint32_t>(devices_) || arguments.size == 0 ||
        arguments.size % granularity != 0) {
      return ErrorCode::invalid_value;
    }
    check_new_handle(outcome.value);
    has_changed_ = true;
    state_.handles.push_back(
        {.value = outcome.value, .object = state_.multicasts.size(), .is_multicast = true});
    state_.multicasts.push_back({.device_count = count, .size = arguments.size});
    return ok;
  }
  const ModelHandle* handle = handle_of(arguments.object);
  if (handle == nullptr || !handle->is_multicast) {
    return ErrorCode::invalid_value;
  }
  ModelMulticast& multicast = state_.multicasts[handle->object];
  const auto is_added = [&](std::int32_t device) {
    return std::find(multicast.devices.begin(), multicast.devices.end(), device) !=
           multicast.devices.end();
  };
  if (op.kind == OpKind::mc_add) {
    if (!is_device(op.device)) {
      return ErrorCode::invalid_device;
    }
    if (is_added(op.device) || multicast.devices.size() == multicast.device_count) {
      return ErrorCode::invalid_value;
    }
    multicast.devices.push_back(op.device);
    return ok;
  }
  const auto ends_before = [](std::uint64_t offset, std::uint64_t size, std::uint64_t limit) {
    return offset + size >= offset && offset + size <= limit;
  };
  if (op.kind == OpKind::mc_unbind) {
    if (!is_device(op.device)) {
      return ErrorCode::invalid_device;
    }
    const auto found = std::find_if(
        multicast.bindings.begin(), multicast.bindings.end(), [&](const ModelBinding& binding) {
          return binding.device == op.device && binding.offset == arguments.extra &&
                 binding.size == arguments.size;
        });
    if (found == multicast.bindings.end()) {
      return ErrorCode::invalid_value;
    }
    multicast.bindings.erase(found);
    let_memory_go();
    return ok;
  }
  const ModelHandle* bound = handle_of(arguments.other);
  if (bound == nullptr || bound->is_multicast) {
    return ErrorCode::invalid_value;
  }
  if (multicast.devices.size() != multicast.device_count) {
    return ErrorCode::illegal_state;
  }
  const ModelMemory& memory = state_.memories[bound->object];
  const Location location = memory.properties.location;
  if (arguments.size == 0 || arguments.size % granularity != 0 ||
      arguments.extra % granularity != 0 ||
      !ends_before(arguments.extra, arguments.size, multicast.size) ||
      !ends_before(0, arguments.size, memory.size)) {
    return ErrorCode::invalid_value;
  }
  if (location.type != LocationType::device || !is_added(location.id)) {
    return ErrorCode::invalid_device;
  }
  for (const ModelBinding& other : multicast.bindings) {
    if (other.device == location.id && other.offset < arguments.extra + arguments.size &&
        arguments.extra < other.offset + other.size) {
      return ErrorCode::invalid_value;
    }
  }
  multicast.bindings.push_back({location.id, arguments.extra, arguments.size, bound->object, 0});
  return ok;
}

}  // namespace tessera::model
