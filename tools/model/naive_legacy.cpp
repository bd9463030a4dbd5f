// mem_alloc and its relatives in the naive model. Which of several holes a part is cut from is the
// driver's choice; that it takes a new block only where no hole is large enough is not.
#include <algorithm>
#include <limits>

#include "model/naive_model.h"

namespace tessera::model {
namespace {

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t to) noexcept {
  return (value + to - 1) / to * to;
}

}  // namespace

ModelLegacy* NaiveModel::legacy_at(std::uint64_t begin) noexcept {
  for (ModelLegacy& legacy : state_.legacy) {
    if (legacy.begin == begin) {
      return &legacy;
    }
  }
  return nullptr;
}

const ModelLegacy* NaiveModel::legacy_of(std::uint64_t id) const noexcept {
  for (const ModelLegacy& legacy : state_.legacy) {
    if (legacy.id == id) {
      return &legacy;
    }
  }
  return nullptr;
}

const ModelHeapBlock* NaiveModel::heap_block_at(std::uint64_t address) const noexcept {
  for (const ModelHeapBlock& block : state_.heap_blocks) {
    if (address >= block.begin && address - block.begin < block.size) {
      return &block;
    }
  }
  return nullptr;
}

bool NaiveModel::is_heap_block_empty(const ModelHeapBlock& block) const noexcept {
  return std::none_of(state_.legacy.begin(), state_.legacy.end(), [&](const ModelLegacy& part) {
    return part.begin >= block.begin && part.begin - block.begin < block.size;
  });
}

// Whether some hole of the heap's blocks takes so much: tried from the begin of each block and from
// the end of each part.
bool NaiveModel::fits_in_heap(std::uint64_t rounded, std::uint64_t context,
                              std::int32_t device) const {
  const std::uint64_t alignment = profile_.heap_alignment.value();
  for (const ModelHeapBlock& block : state_.heap_blocks) {
    if (block.context != context || block.device != device) {
      continue;
    }
    const auto is_free = [&](std::uint64_t begin) {
      if (begin < block.begin || begin - block.begin > block.size ||
          block.size - (begin - block.begin) < rounded) {
        return false;
      }
      return std::none_of(state_.legacy.begin(), state_.legacy.end(), [&](const ModelLegacy& part) {
        return part.begin < begin + rounded &&
               begin < part.begin + rounded_up(part.size, alignment);
      });
    };
    if (is_free(block.begin)) {
      return true;
    }
    for (const ModelLegacy& part : state_.legacy) {
      if (is_free(part.begin + rounded_up(part.size, alignment))) {
        return true;
      }
    }
  }
  return false;
}

void NaiveModel::check_part(std::uint64_t begin, std::uint64_t rounded, std::uint64_t context,
                            std::int32_t device, bool in_new_block) {
  const std::uint64_t alignment = profile_.heap_alignment.value();
  if (begin % alignment != 0) {
    complain("the allocation is not aligned");
  }
  for (const ModelLegacy& part : state_.legacy) {
    if (part.begin < begin + rounded && begin < part.begin + rounded_up(part.size, alignment)) {
      complain("the allocation overlaps another");
    }
  }
  const bool is_in_block = std::any_of(
      state_.heap_blocks.begin(), state_.heap_blocks.end(), [&](const ModelHeapBlock& block) {
        return block.context == context && block.device == device && begin >= block.begin &&
               begin + rounded <= block.begin + block.size;
      });
  if (is_in_block == in_new_block) {
    complain(in_new_block ? "a hole served where none was large enough"
                          : "new memory was taken where a hole was large enough");
  }
}

void NaiveModel::add_legacy(std::uint64_t begin, std::uint64_t size, LegacyKind kind,
                            const ModelContext& context) {
  const std::uint64_t id = ++legacy_given_;
  has_changed_ = true;
  state_.legacy.push_back({.id = id,
                           .begin = begin,
                           .size = size,
                           .kind = kind,
                           .context = kind == LegacyKind::pool ? 0 : context.handle,
                           .device = context.device});
  state_.blocks.push_back({.begin = begin, .size = size, .kind = BlockKind::legacy, .legacy = id});
}

ErrorCode NaiveModel::take_heap_block(std::uint64_t size, LegacyKind kind,
                                      const ModelContext& context, const Outcome& outcome) {
  const bool is_pool = kind == LegacyKind::pool;
  const std::uint64_t unit =
      is_pool ? profile_.reservation_block.value() : profile_.heap_block.value();
  const std::uint64_t block = rounded_up(size, unit);
  if (is_pool && block > free_memory(context.device)) {
    trim_pools();
  }
  if (block > free_memory(context.device)) {
    return ErrorCode::out_of_memory;
  }
  const std::uint64_t granularity = profile_.reservation_granularity.value();
  if (!outcome.is_ok()) {
    if (profile_.contiguous_memory) {
      if (is_pool) {
        trim_pools();  // before it was tried again
      }
      return ErrorCode::out_of_memory;
    }
    return has_room_for_addresses(block, granularity) ? ok : ErrorCode::out_of_memory;
  }
  check_place(outcome.value, block, granularity);
  has_changed_ = true;
  state_.heap_blocks.push_back(
      {outcome.value, block, is_pool ? 0 : context.handle, context.device});
  return ok;
}

ErrorCode NaiveModel::allocate(std::uint64_t size, LegacyKind kind, const ModelContext& context,
                               const Outcome& outcome) {
  if (size > profile_.memory_total.value()) {
    return ErrorCode::out_of_memory;
  }
  const std::uint64_t rounded = rounded_up(size, profile_.heap_alignment.value());
  const std::uint64_t heap = kind == LegacyKind::pool ? 0 : context.handle;
  const bool fits = fits_in_heap(rounded, heap, context.device);
  if (outcome.is_ok()) {
    check_part(outcome.value, rounded, heap, context.device, !fits);
  }
  if (!fits) {
    if (const ErrorCode code = take_heap_block(size, kind, context, outcome); code != ok) {
      return code;
    }
  }
  add_legacy(outcome.value, size, kind, context);
  return ok;
}

ErrorCode NaiveModel::allocate_host(std::uint64_t size, LegacyKind kind, const Outcome& outcome) {
  if (outcome.value == 0 || has_block_in(outcome.value, size) ||
      reservation_at(outcome.value) != nullptr) {
    complain("the host memory lies where something else is");
  }
  add_legacy(outcome.value, size, kind, *context_of(current_context()));
  return ok;
}

void NaiveModel::free_legacy(std::uint64_t id) {
  const ModelLegacy freed = *legacy_of(id);
  has_changed_ = true;
  std::erase_if(state_.blocks, [&](const ModelBlock& block) {
    return block.kind == BlockKind::legacy && block.legacy == id;
  });
  std::erase_if(state_.legacy, [&](const ModelLegacy& legacy) { return legacy.id == id; });
  if (freed.kind == LegacyKind::device) {
    // A context's block goes with its last part; the pool keeps its until somebody synchronizes.
    std::erase_if(state_.heap_blocks, [&](const ModelHeapBlock& block) {
      return block.context == freed.context && is_heap_block_empty(block);
    });
  }
}

void NaiveModel::trim_pools() {
  const std::size_t trimmed = std::erase_if(state_.heap_blocks, [&](const ModelHeapBlock& block) {
    return block.context == 0 && is_heap_block_empty(block);
  });
  has_changed_ = has_changed_ || trimmed != 0;
}

ErrorCode NaiveModel::free_allocation(const Arguments& arguments, bool is_host) {
  if (const ErrorCode code = check_current(); code != ok) {
    return code;
  }
  if (arguments.address == 0) {
    return ok;
  }
  const ModelLegacy* legacy = legacy_at(arguments.address);
  if (legacy == nullptr || legacy->is_being_freed ||
      (legacy->kind == LegacyKind::host) != is_host) {
    return ErrorCode::invalid_value;
  }
  if (state_.is_lost) {
    return ErrorCode::illegal_address;
  }
  const std::uint64_t id = legacy->id;
  if (legacy->kind != LegacyKind::pool) {
    wait_for_device(legacy->device);
  }
  free_legacy(id);
  if (!is_host) {
    trim_pools();
  }
  return ok;
}

ErrorCode NaiveModel::free_in_order(const Arguments& arguments) {
  ModelContext* context = nullptr;
  if (const ErrorCode code = need_stream(arguments.other, context); code != ok) {
    return code;
  }
  if (arguments.address == 0) {
    return ok;
  }
  ModelLegacy* legacy = legacy_at(arguments.address);
  if (legacy != nullptr && legacy->kind == LegacyKind::managed) {
    return ErrorCode::not_supported;
  }
  if (legacy == nullptr || legacy->is_being_freed ||
      (legacy->kind != LegacyKind::pool && legacy->kind != LegacyKind::device)) {
    return ErrorCode::invalid_value;
  }
  legacy->is_being_freed = true;
  return queue({.kind = WorkKind::free, .legacy = legacy->id}, arguments.other, 0);
}

ErrorCode NaiveModel::judge_allocation(const Op& op, const Arguments& arguments,
                                       const Outcome& outcome) {
  if (op.kind == OpKind::free) {
    const bool is_host = arguments.other != 0;
    enter(is_host ? Call::mem_free_host : Call::mem_free);
    return free_allocation(arguments, is_host);
  }
  if (op.kind == OpKind::free_async) {
    enter(Call::mem_free_async);
    return free_in_order(arguments);
  }
  constexpr std::array calls = {Call::mem_alloc, Call::mem_alloc_pitch, Call::mem_alloc_managed,
                                Call::mem_alloc_async, Call::mem_host_alloc};
  enter(calls.at(static_cast<std::size_t>(op.kind) - static_cast<std::size_t>(OpKind::alloc)));
  const std::uint64_t size = arguments.size;
  if (op.kind == OpKind::alloc_managed && size == 0) {
    return ErrorCode::invalid_value;
  }
  const bool is_in_order = op.kind == OpKind::alloc_async;
  ModelContext* context = context_of(current_context());
  if (const ErrorCode code = is_in_order ? need_stream(arguments.other, context) : need_context();
      code != ok) {
    return code;
  }
  switch (op.kind) {
    case OpKind::alloc:
      return size == 0 ? ErrorCode::invalid_value
                       : allocate(size, LegacyKind::device, *context, outcome);
    case OpKind::alloc_pitch: {
      const std::uint64_t pitch = rounded_up(size, profile_.pitch_alignment.value());
      const std::uint64_t height = arguments.extra;
      const bool is_element = op.value == 4 || op.value == 8 || op.value == 16;
      if (!is_element || size == 0 || height == 0 || pitch < size) {
        return ErrorCode::invalid_value;
      }
      if (pitch > std::numeric_limits<std::uint64_t>::max() / height) {
        return ErrorCode::out_of_memory;
      }
      expect(outcome.value, pitch);
      return allocate(pitch * height, LegacyKind::device, *context, outcome);
    }
    case OpKind::alloc_managed:
      return profile_.managed_memory ? allocate_host(size, LegacyKind::managed, outcome)
                                     : ErrorCode::not_supported;
    case OpKind::alloc_async:
      if (!profile_.memory_pools) {
        return ErrorCode::not_supported;
      }
      if (size == 0) {
        expect(0);
        return ok;
      }
      return allocate(size, LegacyKind::pool, *context, outcome);
    default:
      if (size == 0) {
        expect(0);
        return ok;
      }
      return allocate_host(size, LegacyKind::host, outcome);
  }
}

}  // namespace tessera::model
