#include "model/deep_states.h"

#include <algorithm>

namespace tessera::model {
namespace {

struct Entry {
  std::string_view name;
  unsigned floor;
};
constexpr std::array<Entry, deep_state_count> entries = {{
#define TESSERA_DEEP_STATE(name, floor, text) {#name, floor},
#include "model/deep_states.def"
#undef TESSERA_DEEP_STATE
}};

bool overlaps(std::uint64_t begin, std::uint64_t size, const ModelBlock& block) noexcept {
  return block.begin < begin + size && begin < block.end();
}

const ModelHandle* mapped_handle(const ModelBlock* block, const NaiveModel& model) noexcept {
  return block != nullptr && block->kind == BlockKind::mapping
             ? &model.state().handles[block->handle]
             : nullptr;
}

std::size_t mappings_in(std::uint64_t begin, std::uint64_t size, const NaiveModel& model) noexcept {
  const auto& blocks = model.state().blocks;
  return static_cast<std::size_t>(
      std::count_if(blocks.begin(), blocks.end(), [&](const ModelBlock& block) {
        return block.kind == BlockKind::mapping && overlaps(begin, size, block);
      }));
}

// Whether the host has access to some of what is mapped there, and none to other of it.
bool is_host_in_part(std::uint64_t begin, std::uint64_t size, const NaiveModel& model) noexcept {
  bool has_with = false;
  bool has_without = false;
  for (const ModelBlock& block : model.state().blocks) {
    if (block.kind == BlockKind::mapping && overlaps(begin, size, block)) {
      has_with = has_with || block.host != AccessFlags::none;
      has_without = has_without || block.host == AccessFlags::none;
    }
  }
  return has_with && has_without;
}

bool ends_context(OpKind kind) noexcept {
  return kind == OpKind::ctx_release || kind == OpKind::ctx_reset || kind == OpKind::ctx_destroy;
}

std::size_t contexts_alive(const NaiveModel& model) noexcept {
  const auto& contexts = model.state().contexts;
  return static_cast<std::size_t>(
      std::count_if(contexts.begin(), contexts.end(),
                    [](const ModelContext& context) { return context.is_alive; }));
}

// Whether it is done in the order of the stream that `other` names.
bool takes_stream(const Op& op) noexcept {
  switch (op.kind) {
    case OpKind::alloc_async:
    case OpKind::free_async:
    case OpKind::event_record:
    case OpKind::dtod:
    case OpKind::memset:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string_view name_of(DeepState state) noexcept {
  return entries[static_cast<std::size_t>(state)].name;
}
unsigned floor_of(DeepState state) noexcept {
  return entries[static_cast<std::size_t>(state)].floor;
}

void DeepStates::begin() noexcept {
  ++programs_;
  reached_ = 0;
  maps_ = 0;
}

void DeepStates::before(const Op& op, const NaiveModel& model) noexcept {
  contexts_ = ends_context(op.kind) ? contexts_alive(model) : 0;
  blocks_ = model.state().blocks.size();
  legacy_ = model.state().legacy.size();
  work_ = model.state().work.size();
}

void DeepStates::look_at_mapping(const Op& op, const Arguments& arguments, const Outcome& outcome,
                                 const NaiveModel& model) noexcept {
  const std::uint64_t address = arguments.address;
  const std::uint64_t size = arguments.size;
  const ModelReservation* reservation = model.reservation_at(address);
  const bool is_refused = outcome.code == ErrorCode::invalid_value;
  switch (op.kind) {
    case OpKind::map: {
      const ModelHandle* handle = mapped_handle(model.block_at(address), model);
      maps_ += outcome.is_ok() ? 1U : 0U;
      reach(DeepState::map_in_part,
            outcome.code == ErrorCode::not_supported || (outcome.is_ok() && arguments.extra != 0));
      reach(DeepState::rdma_unregistered, outcome.code == ErrorCode::unknown);
      reach(DeepState::map_past_reservation,
            reservation != nullptr && size < (std::uint64_t{1} << 48U) &&
                address + size > reservation->begin + reservation->size);
      reach(DeepState::map_over_mapping,
            is_refused && reservation != nullptr && mappings_in(address, size, model) != 0);
      reach(DeepState::remap_with_contents,
            outcome.is_ok() && handle != nullptr && !handle->is_multicast &&
                model.state().memories[handle->object].contents.is_written());
      return;
    }
    case OpKind::unmap: {
      const std::size_t gone = blocks_ - model.state().blocks.size();
      const auto& work = model.state().work;
      reach(DeepState::unmap_several, gone > 1);
      reach(DeepState::unmap_of_nothing, reservation != nullptr && size != 0 && gone == 0 &&
                                             mappings_in(address, size, model) == 0);
      reach(DeepState::unmap_cuts,
            is_refused && reservation != nullptr && mappings_in(address, size, model) != 0);
      reach(DeepState::unmap_under_work,
            gone != 0 && std::any_of(work.begin(), work.end(), [&](const ModelWork& of) {
              return of.address >= address && of.address - address < size;
            }));
      return;
    }
    case OpKind::set_access: {
      const ModelBlock* first = model.block_at(address);
      const ModelBlock* last = size != 0 ? model.block_at(address + size - 1) : nullptr;
      const bool is_framed = mapped_handle(first, model) != nullptr &&
                             mapped_handle(last, model) != nullptr && first != last &&
                             first->begin == address && last->end() == address + size;
      std::uint64_t covered = 0;
      for (const ModelBlock& block : model.state().blocks) {
        covered += is_framed && overlaps(address, size, block) ? block.size : 0;
      }
      reach(DeepState::grant_over_several, is_framed && outcome.is_ok() && covered == size);
      reach(DeepState::grant_over_hole, is_framed && covered < size);
      reach(DeepState::out_of_page_tables, outcome.code == ErrorCode::out_of_memory);
      if (const ModelHandle* handle = mapped_handle(first, model);
          handle != nullptr && !handle->is_multicast && outcome.is_ok()) {
        const Location memory = model.state().memories[handle->object].properties.location;
        reach(DeepState::peer_access, op.choice == 1 && op.value != 0 &&
                                          memory.type == LocationType::device &&
                                          memory.id != op.device);
        const auto& blocks = model.state().blocks;
        reach(DeepState::alias,
              first->is_accessible() &&
                  std::any_of(blocks.begin(), blocks.end(), [&](const ModelBlock& other) {
                    return other.kind == BlockKind::mapping && other.handle == first->handle &&
                           other.begin != first->begin && other.is_accessible();
                  }));
      }
      return;
    }
    default:
      return;
  }
}

void DeepStates::look_at_memory(const Op& op, const Arguments& arguments, const Outcome& outcome,
                                const NaiveModel& model) noexcept {
  const ModelState& state = model.state();
  const bool is_out = outcome.code == ErrorCode::out_of_memory;
  switch (op.kind) {
    case OpKind::create:
    case OpKind::alloc:
    case OpKind::alloc_async:
      reach(DeepState::out_of_memory, is_out);
      reach(DeepState::fragmented, is_out && op.kind == OpKind::create && op.choice == 1 &&
                                       arguments.size <= model.free_memory(op.device));
      return;
    case OpKind::reserve:
      reach(DeepState::out_of_addresses, is_out);
      return;
    case OpKind::address_free:
      reach(DeepState::free_while_mapped,
            (model.profile().quirks.address_free_refuses_mapped
                 ? !outcome.is_ok() && model.reservation_at(arguments.address) != nullptr &&
                       mappings_in(arguments.address, arguments.size, model) != 0
                 : outcome.is_ok() && state.blocks.size() < blocks_));
      return;
    case OpKind::release: {
      for (const ModelHandle& handle : state.handles) {
        reach(DeepState::released_while_mapped,
              handle.value == arguments.object && handle.references == 0 && handle.mappings != 0);
      }
      return;
    }
    case OpKind::retain:
      reach(DeepState::retain_outside,
            !outcome.is_ok() && mapped_handle(model.block_at(arguments.address), model) != nullptr);
      return;
    case OpKind::import_fd:
      if (outcome.is_ok()) {
        const std::size_t memory = state.handles.back().object;
        reach(DeepState::import_of_released,
              std::none_of(
                  state.handles.begin(), state.handles.end() - 1, [&](const ModelHandle& handle) {
                    return !handle.is_multicast && handle.object == memory && handle.is_alive();
                  }));
      }
      return;
    default:
      return;
  }
}

void DeepStates::look_at_data(const Op& op, const Arguments& arguments, const Outcome& outcome,
                              const NaiveModel& model) noexcept {
  const ModelBlock* block = model.block_at(arguments.address);
  const ModelHandle* handle = mapped_handle(block, model);
  if (handle == nullptr) {
    return;
  }
  const bool writes = op.kind != OpKind::expect;
  reach(DeepState::write_refused, writes && outcome.code == ErrorCode::invalid_value);
  reach(DeepState::copy_across_mappings,
        outcome.is_ok() && arguments.address + arguments.size > block->end());
  reach(DeepState::copied_by_cpu, outcome.is_ok() && op.kind != OpKind::memset &&
                                      arguments.size != 0 && model.is_host_mapping(*block) &&
                                      block->access == decltype(block->access)());
  if (op.kind == OpKind::dtod) {
    look_at_copy(arguments, outcome, model);
  }
  reach(DeepState::host_reaches_part,
        op.kind != OpKind::memset && is_host_in_part(arguments.address, arguments.size, model));
  reach(DeepState::multicast_write, writes && outcome.is_ok() && handle->is_multicast);
  reach(DeepState::alias_read,
        !writes && outcome.is_ok() && outcome.value == 1 && op.value != 0 && handle->mappings > 1);
}

// Who reads memory that the CPU and a device could.
void DeepStates::look_at_copy(const Arguments& arguments, const Outcome& outcome,
                              const NaiveModel& model) noexcept {
  const std::vector<ModelWork>& work = model.state().work;
  const ModelBlock* source = model.block_at(arguments.source);
  const bool is_shared = source != nullptr && source->host != AccessFlags::none &&
                         source->access != decltype(source->access)();
  reach(DeepState::host_reaches_part, is_host_in_part(arguments.source, arguments.size, model));
  if (outcome.is_ok() && is_shared && !work.empty()) {
    reach(DeepState::read_by_cpu, work.back().kind == WorkKind::write_staged);
    reach(DeepState::read_behind_work,
          work.size() > 1 && work.back().kind == WorkKind::copy && !work.back().is_read_by_cpu);
  }
}

void DeepStates::after(const Op& op, const Arguments& arguments, const Outcome& outcome,
                       const NaiveModel& model) noexcept {
  const ModelState& state = model.state();
  reach(DeepState::lost_context, state.is_lost);
  if (!outcome.is_ok() && object_of(op.kind) == testing::SlotKind::handle) {
    reach(DeepState::stale_handle,
          arguments.object != 0 && std::any_of(state.handles.begin(), state.handles.end(),
                                               [&](const ModelHandle& handle) {
                                                 return handle.value == arguments.object &&
                                                        !handle.is_alive();
                                               }));
  }
  reach(DeepState::work_in_flight, state.work.size() > 1);
  if (outcome.is_ok() && arguments.other != 0 && takes_stream(op)) {
    reach(DeepState::stream_of_others,
          std::any_of(state.streams.begin(), state.streams.end(), [&](const ModelStream& stream) {
            return stream.handle == arguments.other && stream.context != model.current_context();
          }));
  }
  reach(DeepState::dead_context_current, outcome.code == ErrorCode::context_is_destroyed &&
                                             op.kind != OpKind::ctx_destroy &&
                                             op.kind < OpKind::stream_create);
  if (op.kind <= OpKind::limit_get) {
    reach(DeepState::context_ends_memory, state.legacy.size() < legacy_ && outcome.is_ok());
    reach(DeepState::context_ends_under_work,
          outcome.is_ok() && work_ != 0 && state.work.empty() && ends_context(op.kind));
    reach(DeepState::pool_outlives_contexts,
          outcome.is_ok() && ends_context(op.kind) && contexts_alive(model) < contexts_ &&
              std::any_of(state.legacy.begin(), state.legacy.end(),
                          [](const ModelLegacy& of) { return of.kind == LegacyKind::pool; }));
  } else if (op.kind <= OpKind::close_fd || op.kind == OpKind::alloc ||
             op.kind == OpKind::alloc_async) {
    look_at_memory(op, arguments, outcome, model);
  } else if (op.kind <= OpKind::get_access) {
    look_at_mapping(op, arguments, outcome, model);
  } else if (op.kind >= OpKind::htod && op.kind <= OpKind::memset) {
    look_at_data(op, arguments, outcome, model);
  } else if (op.kind == OpKind::event_query) {
    reach(DeepState::event_not_ready, outcome.code == ErrorCode::not_ready);
  } else if (op.kind == OpKind::free_async) {
    reach(DeepState::freed_in_order, outcome.is_ok() && arguments.address != 0);
  }
  if (!state.descriptors.empty()) {
    for (const ModelState::Descriptor& open : state.descriptors) {
      reach(DeepState::descriptor_keeps_memory,
            std::none_of(state.handles.begin(), state.handles.end(), [&](const ModelHandle& of) {
              return !of.is_multicast && of.object == open.memory && of.is_alive();
            }));
    }
  }
}

void DeepStates::end(const NaiveModel& model, bool was_drained) noexcept {
  const ModelState& state = model.state();
  reach(DeepState::teardown,
        was_drained && maps_ >= 5 && state.reservations.empty() && state.legacy.empty() &&
            std::none_of(state.memories.begin(), state.memories.end(),
                         [](const ModelMemory& memory) { return memory.is_alive; }));
  for (std::size_t i = 0; i < deep_state_count; ++i) {
    counts_[i] += reached_ >> i & 1U;
  }
}

std::size_t DeepStates::seen() const noexcept {
  return static_cast<std::size_t>(std::count_if(counts_.begin(), counts_.end(),
                                                [](std::uint64_t count) { return count != 0; }));
}

void DeepStates::add(const DeepStates& other) noexcept {
  programs_ += other.programs_;
  for (std::size_t i = 0; i < deep_state_count; ++i) {
    counts_[i] += other.counts_[i];
  }
}

}  // namespace tessera::model
