// Addresses and physical memory of the naive model.
#include <algorithm>
#include <bit>

#include "model/naive_model.h"

namespace tessera::model {
namespace {

constexpr std::uint32_t known_types = 15;
constexpr std::uint64_t no_descriptor = ~std::uint64_t{0};

bool is_multiple(std::uint64_t value, std::uint64_t of) noexcept { return value % of == 0; }

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t to) noexcept {
  return (value + to - 1) / to * to;
}

bool overlap(std::uint64_t begin, std::uint64_t size, std::uint64_t other,
             std::uint64_t other_size) noexcept {
  return begin < other + other_size && other < begin + size;
}

}  // namespace

// What any place that the driver chooses must fulfil.
void NaiveModel::check_place(std::uint64_t begin, std::uint64_t size, std::uint64_t alignment) {
  const bool is_inside =
      std::any_of(profile_.address_windows.begin(), profile_.address_windows.end(),
                  [&](const AddressRange& window) {
                    return begin >= window.begin().value() && size <= window.size().value() &&
                           begin + size <= window.end().value();
                  });
  if (!is_inside) {
    complain("the place is in no window of addresses");
  }
  if (!is_multiple(begin, profile_.reservation_granularity.value()) ||
      (alignment != 0 && !is_multiple(begin, alignment))) {
    complain("the place is not aligned");
  }
  for (const ModelReservation& other : state_.reservations) {
    if (overlap(begin, size, other.begin, other.size)) {
      complain("the place overlaps a reservation");
    }
  }
  for (const ModelHeapBlock& other : state_.heap_blocks) {
    if (overlap(begin, size, other.begin, other.size)) {
      complain("the place overlaps another allocation");
    }
  }
}

// Whether there surely is a place: one so wide that no way of rounding to blocks could spoil it.
bool NaiveModel::has_room_for_addresses(std::uint64_t size, std::uint64_t alignment) const {
  const std::uint64_t block = profile_.reservation_block.value();
  const std::uint64_t wide = std::max(block, alignment);
  if (size > (std::uint64_t{1} << 48U) || wide > (std::uint64_t{1} << 48U)) {
    return false;
  }
  const std::uint64_t need = rounded_up(std::max(size, alignment), block) + 2 * wide;
  std::vector<ModelReservation> taken = state_.reservations;
  for (const ModelHeapBlock& heap : state_.heap_blocks) {
    taken.push_back({heap.begin, heap.size});
  }
  for (const ModelBlock& other : state_.blocks) {
    taken.push_back({other.begin, other.size});
  }
  std::sort(taken.begin(), taken.end(),
            [](const ModelReservation& left, const ModelReservation& right) {
              return left.begin < right.begin;
            });
  for (const AddressRange& window : profile_.address_windows) {
    const bool is_last = window.end() == profile_.address_windows.back().end();
    const std::uint64_t end =
        window.end().value() - (is_last ? profile_.driver_addresses.value() : 0);
    std::uint64_t free_from = window.begin().value();
    for (const ModelReservation& of : taken) {
      const std::uint64_t begin = of.begin > block ? of.begin - block : 0;
      if (of.begin < end && begin > free_from && begin - free_from >= need) {
        return true;
      }
      if (of.begin < end && of.begin + of.size + block > free_from) {
        free_from = std::max(free_from, of.begin + of.size + block);
      }
    }
    if (end > free_from && end - free_from >= need) {
      return true;
    }
  }
  return false;
}

ErrorCode NaiveModel::reserve(const Op& op, const Arguments& arguments, const Outcome& outcome) {
  const std::uint64_t granularity = profile_.reservation_granularity.value();
  const std::uint64_t alignment = arguments.extra;
  const std::uint64_t hint = arguments.address;
  if (op.flags != 0 || arguments.size == 0 || !is_multiple(arguments.size, granularity) ||
      !is_multiple(hint, granularity)) {
    return ErrorCode::invalid_value;
  }
  if (alignment != 0 && (!std::has_single_bit(alignment) || !is_multiple(hint, alignment) ||
                         alignment > std::uint64_t{1} << 57U)) {
    return ErrorCode::invalid_value;
  }
  if (hint >= std::bit_ceil(profile_.address_windows.back().end().value())) {
    return ErrorCode::out_of_memory;
  }
  if (!outcome.is_ok()) {
    // A hint may leave only what is above it.
    return hint == 0 && has_room_for_addresses(arguments.size, alignment)
               ? ok
               : ErrorCode::out_of_memory;
  }
  check_place(outcome.value, arguments.size, alignment);
  has_changed_ = true;
  state_.reservations.push_back({outcome.value, arguments.size});
  return ok;
}

ErrorCode NaiveModel::free_addresses(const Arguments& arguments) {
  const ModelReservation* found = reservation_at(arguments.address);
  if (found == nullptr || found->begin != arguments.address || found->size != arguments.size) {
    return ErrorCode::invalid_value;
  }
  if (has_block_in(found->begin, found->size)) {
    if (profile_.quirks.address_free_refuses_mapped || cuts_block(found->begin, found->size)) {
      return ErrorCode::invalid_value;
    }
    unmap_inside(found->begin, found->size);
  }
  has_changed_ = true;
  std::erase_if(state_.reservations, [&](const ModelReservation& reservation) {
    return reservation.begin == arguments.address;
  });
  let_memory_go();
  return ok;
}

ModelHandle* NaiveModel::handle_of(std::uint64_t value) noexcept {
  for (ModelHandle& handle : state_.handles) {
    if (handle.value == value && handle.is_alive()) {
      return &handle;
    }
  }
  return nullptr;
}

ErrorCode NaiveModel::check_properties(const AllocationProperties& properties) const {
  const Location location = properties.location;
  const bool on_device = location.type == LocationType::device;
  if (on_device && !is_device(location.id)) {
    return ErrorCode::invalid_device;
  }
  const auto types = static_cast<std::uint32_t>(properties.requested_handle_types);
  const auto takes = static_cast<std::uint32_t>(profile_.export_types) |
                     static_cast<std::uint32_t>(profile_.not_permitted_types);
  const bool has_unknown = (types & ~known_types) != 0;
  const bool on_host =
      location.type == LocationType::host || location.type == LocationType::host_numa;
  const bool is_special =
      properties.compression != Compression::none || properties.gpu_direct_rdma_capable != 0;
  const bool is_right =
      properties.type == AllocationType::pinned &&
      (properties.compression == Compression::none || profile_.compression) &&
      (types & known_types & ~takes) == 0 &&
      !(has_unknown && !profile_.quirks.ignores_unknown_handle_types) &&
      (on_device || (on_host && profile_.host_locations)) &&
      !(location.type == LocationType::host && types != 0) &&
      !(location.type == LocationType::host_numa &&
        (location.id < 0 || location.id >= profile_.host_numa_nodes)) &&
      !(on_host && is_special) && !((properties.usage & 1U) != 0 && (is_special || types != 0)) &&
      !((properties.usage & 2U) != 0 && properties.compression != Compression::none);
  return is_right ? ok : ErrorCode::invalid_value;
}

ErrorCode NaiveModel::create(const Op& op, const Arguments& arguments, const Outcome& outcome) {
  const AllocationProperties asked = testing::properties_of(op);
  const std::uint64_t size = arguments.size;
  if (op.flags != 0 || size == 0 || !is_multiple(size, profile_.granularity_minimum.value())) {
    return ErrorCode::invalid_value;
  }
  if (const ErrorCode code = check_properties(asked); code != ok) {
    return code;
  }
  const bool on_device = asked.location.type == LocationType::device;
  const std::uint64_t all =
      on_device ? profile_.memory_total.value() : profile_.host_memory.value();
  // Of a tile pool's size it is said that it is wrong, unless it is beyond all machines.
  const bool is_tile_pool = (asked.usage & 1U) != 0;
  const ErrorCode short_of_memory = is_tile_pool && on_device && size < std::uint64_t{1} << 45U
                                        ? ErrorCode::invalid_value
                                        : ErrorCode::out_of_memory;
  if (all != 0 && size > all) {
    return short_of_memory;
  }
  spend(Call::mem_create, size >> 20U);
  if (on_device && size > free_memory(asked.location.id)) {
    return short_of_memory;
  }
  const auto types = static_cast<std::uint32_t>(asked.requested_handle_types);
  if ((types & static_cast<std::uint32_t>(profile_.not_permitted_types)) != 0) {
    return profile_.contiguous_memory && outcome.code == short_of_memory ? short_of_memory
                                                                         : ErrorCode::not_permitted;
  }
  if (!outcome.is_ok()) {
    return profile_.contiguous_memory && on_device ? short_of_memory : ok;
  }
  check_new_handle(outcome.value);
  has_changed_ = true;
  ModelMemory memory = {
      .size = size, .properties = asked, .hw_decompress = (asked.usage & 2U) != 0};
  memory.properties.requested_handle_types = static_cast<HandleTypes>(types & known_types);
  if (asked.gpu_direct_rdma_capable != 0) {
    memory.properties.compression = Compression::none;
  }
  memory.properties.usage = 0;
  if (asked.location.type == LocationType::host) {
    memory.properties.location = {.type = LocationType::host_numa, .id = 0};
  }
  state_.handles.push_back(
      {.value = outcome.value,
       .object = state_.memories.size(),
       .is_tile_pool = is_tile_pool,
       .is_rdma = asked.gpu_direct_rdma_capable != 0 && profile_.quirks.rdma_needs_first_mapping});
  state_.memories.push_back(std::move(memory));
  return ok;
}

void NaiveModel::check_new_handle(std::uint64_t value) {
  if (value == 0 || handle_of(value) != nullptr) {
    complain("the new handle is zero, or a live one's");
  }
}

// Memory lives while a live handle, a binding of a live multicast object or a descriptor holds it.
// What nobody holds any more never lives again.
void NaiveModel::let_memory_go() {
  has_changed_ = true;
  for (ModelMemory& memory : state_.memories) {
    memory.is_alive = false;
  }
  for (const ModelHandle& handle : state_.handles) {
    if (!handle.is_alive()) {
      continue;
    }
    if (!handle.is_multicast) {
      state_.memories[handle.object].is_alive = true;
      continue;
    }
    for (const ModelBinding& binding : state_.multicasts[handle.object].bindings) {
      state_.memories[binding.memory].is_alive = true;
    }
  }
  for (const ModelState::Descriptor& descriptor : state_.descriptors) {
    state_.memories[descriptor.memory].is_alive = true;
  }
}

ErrorCode NaiveModel::release(const Arguments& arguments) {
  ModelHandle* handle = handle_of(arguments.object);
  if (handle == nullptr || handle->references == 0) {
    return ErrorCode::invalid_value;
  }
  if (handle->references == 1 && handle->mappings == 0) {
    spend(Call::mem_release, (handle->is_multicast ? state_.multicasts[handle->object].size
                                                   : state_.memories[handle->object].size) >>
                                 20U);
  }
  --handle->references;
  let_memory_go();
  return ok;
}

Outcome NaiveModel::expected_properties(std::uint64_t value) const {
  for (const ModelHandle& handle : state_.handles) {
    if (handle.value == value && handle.is_alive() && !handle.is_multicast) {
      AllocationProperties properties = state_.memories[handle.object].properties;
      if (handle.is_imported && !profile_.quirks.reexport_imported) {
        properties.requested_handle_types = HandleTypes::none;
      }
      return testing::outcome_of(properties);
    }
  }
  return {.code = ErrorCode::invalid_value};
}

// Found by mapping and by reservation: out of its reservation a mapping's memory is not.
ErrorCode NaiveModel::retain(const Arguments& arguments) {
  const ModelBlock* block = block_at(arguments.address);
  if (block == nullptr || block->kind != BlockKind::mapping ||
      reservation_at(arguments.address) == nullptr) {
    return ErrorCode::invalid_value;
  }
  ModelHandle& handle = state_.handles[block->handle];
  ++handle.references;
  expect(handle.value);
  return ok;
}

ErrorCode NaiveModel::export_memory(const Op& op, const Arguments& arguments,
                                    const Outcome& outcome) {
  const ModelHandle* handle = handle_of(arguments.object);
  if (handle == nullptr) {
    return ErrorCode::invalid_value;
  }
  const std::uint32_t type = op.value;
  const auto supported = static_cast<std::uint32_t>(profile_.export_types);
  if (!std::has_single_bit(type) || (type & supported) != type || op.flags != 0) {
    return ErrorCode::invalid_value;
  }
  if (handle->is_multicast) {
    return ErrorCode::not_supported;
  }
  const ModelMemory& memory = state_.memories[handle->object];
  const auto asked = static_cast<std::uint32_t>(memory.properties.requested_handle_types);
  if ((handle->is_imported && !profile_.quirks.reexport_imported) || (asked & type) == 0) {
    return ErrorCode::invalid_value;
  }
  for (const ModelState::Descriptor& open : state_.descriptors) {
    if (open.number == outcome.value) {
      complain("the descriptor is one that is open");
    }
  }
  state_.descriptors.push_back({outcome.value, handle->object});
  return ok;
}

ErrorCode NaiveModel::import_memory(const Arguments& arguments, const Outcome& outcome) {
  if (!has_all(profile_.export_types, HandleTypes::posix_file_descriptor)) {
    return ErrorCode::not_supported;
  }
  const auto found = std::find_if(
      state_.descriptors.begin(), state_.descriptors.end(),
      [&](const ModelState::Descriptor& open) { return open.number == arguments.object; });
  if (found == state_.descriptors.end() || arguments.object == no_descriptor) {
    return arguments.object == 0 ? ErrorCode::invalid_value : ErrorCode::unknown;
  }
  check_new_handle(outcome.value);
  has_changed_ = true;
  state_.handles.push_back({.value = outcome.value, .object = found->memory, .is_imported = true});
  return ok;
}

ErrorCode NaiveModel::close_descriptor(const Arguments& arguments) {
  const std::size_t closed = std::erase_if(
      state_.descriptors,
      [&](const ModelState::Descriptor& open) { return open.number == arguments.object; });
  expect(closed);
  let_memory_go();
  return ok;
}

ErrorCode NaiveModel::judge_memory(const Op& op, const Arguments& arguments,
                                   const Outcome& outcome) {
  switch (op.kind) {
    case OpKind::granularity:
      enter(Call::mem_get_allocation_granularity);
      if (op.choice > 1) {
        return ErrorCode::invalid_value;
      }
      expect(op.choice == 0 ? profile_.granularity_minimum.value()
                            : profile_.granularity_recommended.value());
      return ok;
    case OpKind::reserve:
      enter(Call::mem_address_reserve);
      return reserve(op, arguments, outcome);
    case OpKind::address_free:
      enter(Call::mem_address_free);
      return free_addresses(arguments);
    case OpKind::create:
      enter(Call::mem_create);
      return create(op, arguments, outcome);
    case OpKind::release:
      enter(Call::mem_release);
      return release(arguments);
    case OpKind::properties: {
      enter(Call::mem_get_allocation_properties_from_handle);
      const Outcome expected = expected_properties(arguments.object);
      expect(expected.value, expected.second);
      return expected.code;
    }
    case OpKind::retain:
      enter(Call::mem_retain_allocation_handle);
      return retain(arguments);
    case OpKind::export_fd:
      enter(Call::mem_export_to_shareable_handle);
      return export_memory(op, arguments, outcome);
    case OpKind::import_fd:
      enter(Call::mem_import_from_shareable_handle);
      return import_memory(arguments, outcome);
    default:
      return close_descriptor(arguments);
  }
}

}  // namespace tessera::model
