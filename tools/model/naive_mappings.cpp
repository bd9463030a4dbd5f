// Mappings and access of the naive model.
#include <algorithm>
#include <utility>

#include "model/naive_model.h"

namespace tessera::model {
namespace {

bool wraps(std::uint64_t begin, std::uint64_t size) noexcept { return begin + size < begin; }

}  // namespace

bool NaiveModel::has_block_in(std::uint64_t begin, std::uint64_t size) const noexcept {
  return std::any_of(state_.blocks.begin(), state_.blocks.end(), [&](const ModelBlock& block) {
    return block.begin < begin + size && begin < block.end();
  });
}

// Whether a block is partly inside.
bool NaiveModel::cuts_block(std::uint64_t begin, std::uint64_t size) const noexcept {
  return std::any_of(state_.blocks.begin(), state_.blocks.end(), [&](const ModelBlock& block) {
    const bool touches = block.begin < begin + size && begin < block.end();
    return touches && (block.begin < begin || block.end() > begin + size);
  });
}

// Whether every address is one of a mapping.
bool NaiveModel::is_covered(std::uint64_t begin, std::uint64_t size) const noexcept {
  for (std::uint64_t next = begin; next < begin + size;) {
    const ModelBlock* block = block_at(next);
    if (block == nullptr || block->kind != BlockKind::mapping) {
      return false;
    }
    next = block->end();
  }
  return true;
}

std::size_t NaiveModel::unmap_inside(std::uint64_t begin, std::uint64_t size) {
  const auto goes = [&](const ModelBlock& block) {
    return block.kind == BlockKind::mapping && block.begin >= begin && block.end() <= begin + size;
  };
  std::size_t count = 0;
  for (const ModelBlock& block : state_.blocks) {
    if (goes(block)) {
      ModelHandle& handle = state_.handles[block.handle];
      --handle.mappings;
      handle.first_mapping = handle.first_mapping == block.begin ? 0 : handle.first_mapping;
      handle.stray_mapping = handle.stray_mapping == block.begin ? 0 : handle.stray_mapping;
      ++count;
    }
  }
  std::erase_if(state_.blocks, goes);
  has_changed_ = has_changed_ || count != 0;
  return count;
}

ErrorCode NaiveModel::map(const Op& op, const Arguments& arguments) {
  if (op.flags != 0 || arguments.size == 0 || arguments.address == 0) {
    return ErrorCode::invalid_value;
  }
  ModelHandle* handle = handle_of(arguments.object);
  if (handle == nullptr || handle->is_tile_pool) {
    return ErrorCode::invalid_value;
  }
  const std::uint64_t whole = handle->is_multicast ? state_.multicasts[handle->object].size
                                                   : state_.memories[handle->object].size;
  const std::uint64_t granularity = profile_.granularity_minimum.value();
  if (arguments.extra != 0 || arguments.size != whole) {
    if (!profile_.quirks.partial_mapping) {
      return ErrorCode::not_supported;
    }
    if (arguments.extra % granularity != 0 || arguments.size % granularity != 0 ||
        wraps(arguments.extra, arguments.size) || arguments.extra + arguments.size > whole) {
      return ErrorCode::invalid_value;
    }
  }
  const ModelReservation* reservation = reservation_at(arguments.address);
  if (arguments.address % granularity != 0 || reservation == nullptr ||
      wraps(arguments.address, arguments.size)) {
    return ErrorCode::invalid_value;
  }
  const bool is_inside =
      arguments.address + arguments.size <= reservation->begin + reservation->size;
  if ((!is_inside && !profile_.quirks.map_may_leave_reservation) ||
      has_block_in(arguments.address, arguments.size)) {
    return ErrorCode::invalid_value;
  }
  if (handle->is_rdma && handle->first_mapping == 0 && handle->stray_mapping != 0) {
    return ErrorCode::unknown;
  }
  if (handle->first_mapping == 0) {
    handle->first_mapping = arguments.address;
  }
  ++handle->mappings;
  has_changed_ = true;
  state_.blocks.push_back({.begin = arguments.address,
                           .size = arguments.size,
                           .handle = static_cast<std::size_t>(handle - state_.handles.data()),
                           .offset = arguments.extra});
  return ok;
}

ErrorCode NaiveModel::unmap(const Arguments& arguments) {
  if (arguments.size == 0 || reservation_at(arguments.address) == nullptr) {
    return ErrorCode::invalid_value;
  }
  if (wraps(arguments.address, arguments.size)) {
    // Nothing lies between its ends, which are no places inside a mapping.
    const auto is_inside = [&](std::uint64_t place) {
      const ModelBlock* block = block_at(place);
      return block != nullptr && block->begin != place;
    };
    const bool is_nothing = profile_.quirks.unmap_accepts_holes && !is_inside(arguments.address) &&
                            !is_inside(arguments.address + arguments.size);
    return is_nothing ? ok : ErrorCode::invalid_value;
  }
  if (cuts_block(arguments.address, arguments.size)) {
    return ErrorCode::invalid_value;
  }
  if (!profile_.quirks.unmap_accepts_holes && !is_covered(arguments.address, arguments.size)) {
    return ErrorCode::invalid_value;
  }
  const std::size_t count = unmap_inside(arguments.address, arguments.size);
  let_memory_go();
  spend(Call::mem_unmap, count > 1 ? count - 1 : 0);
  return ok;
}

// Which mappings a range names: from one's begin to one's end, up to the first hole.
ErrorCode NaiveModel::mappings_to_set(const Arguments& arguments, std::vector<std::size_t>& run) {
  run.clear();
  const std::uint64_t end = arguments.address + arguments.size;
  const ModelBlock* first = block_at(arguments.address);
  const ModelBlock* last = block_at(end - 1);
  if (first == nullptr || first->kind != BlockKind::mapping || first->begin != arguments.address ||
      last == nullptr || last->end() != end) {
    return ErrorCode::invalid_value;
  }
  if (!profile_.quirks.set_access_stops_at_hole && !is_covered(arguments.address, arguments.size)) {
    return ErrorCode::invalid_value;
  }
  for (std::uint64_t next = arguments.address; next < end;) {
    const ModelBlock* block = block_at(next);
    if (block == nullptr || block->kind != BlockKind::mapping) {
      break;
    }
    run.push_back(static_cast<std::size_t>(block - state_.blocks.data()));
    next = block->end();
  }
  return ok;
}

ErrorCode NaiveModel::check_reach(const ModelBlock& mapping,
                                  const AccessDescriptor& descriptor) const {
  if (descriptor.flags == AccessFlags::none) {
    return ok;
  }
  const ModelHandle& handle = state_.handles[mapping.handle];
  const Location memory =
      handle.is_multicast ? Location() : state_.memories[handle.object].properties.location;
  if (is_host(descriptor.location.type)) {
    return is_host(memory.type) ? ok : ErrorCode::not_supported;
  }
  if (!handle.is_multicast && memory.type == LocationType::device &&
      !can_reach(descriptor.location.id, memory.id)) {
    return ErrorCode::invalid_value;
  }
  return ok;
}

ErrorCode NaiveModel::set_access(ModelBlock& mapping, const AccessDescriptor& descriptor) {
  if (const ErrorCode code = check_reach(mapping, descriptor); code != ok) {
    return code;
  }
  if (is_host(descriptor.location.type)) {
    if (std::exchange(mapping.host, descriptor.flags) != descriptor.flags) {
      mapping.latest = descriptor.flags;
    }
    return ok;
  }
  ModelHandle& handle = state_.handles[mapping.handle];
  const std::int32_t device = descriptor.location.id;
  AccessFlags& access = mapping.access[static_cast<std::size_t>(device)];
  const AccessFlags before = std::exchange(access, descriptor.flags);
  if (device == 0 && before != access) {
    mapping.latest = access;
  }
  if (!handle.is_rdma || before == access) {
    return ok;
  }
  const bool is_own = state_.memories[handle.object].properties.location.id == device;
  const bool is_stray = handle.stray_mapping == mapping.begin;
  if (access == AccessFlags::none) {
    handle.stray_mapping = is_own && is_stray ? 0 : handle.stray_mapping;
    return ok;
  }
  if (handle.first_mapping != 0) {
    return ok;
  }
  if (is_own && (is_stray || handle.stray_mapping == 0)) {
    handle.stray_mapping = mapping.begin;
    return ok;
  }
  access = AccessFlags::none;
  return is_own ? ErrorCode::unknown : ErrorCode::invalid_value;
}

ErrorCode NaiveModel::set_access(const Op& op, const Arguments& arguments) {
  if (arguments.size == 0 || wraps(arguments.address, arguments.size)) {
    return ErrorCode::invalid_value;
  }
  if (const ErrorCode code = mappings_to_set(arguments, run_); code != ok) {
    return code;
  }
  std::array<AccessDescriptor, 2> descriptors = {};
  descriptors[0] = {.location = {.type = static_cast<LocationType>(op.choice), .id = op.device},
                    .flags = static_cast<AccessFlags>(op.value)};
  descriptors[1] = {.location = {.type = LocationType::device, .id = op.other >> 4U},
                    .flags = static_cast<AccessFlags>(op.other & 0x0fU)};
  const std::size_t count = op.other == testing::no_slot ? 1 : 2;
  bool grants = false;
  for (std::size_t i = 0; i < count; ++i) {
    const AccessDescriptor& of = descriptors[i];
    const auto flags = static_cast<std::uint32_t>(of.flags);
    const bool is_place = of.location.type == LocationType::device ? is_device(of.location.id)
                                                                   : is_host(of.location.type);
    if ((flags != 0 && flags != 1 && flags != 3) || !is_place) {
      return ErrorCode::invalid_value;
    }
    grants = grants || flags != 0;
  }
  std::uint64_t accessible = 0;
  for (const ModelBlock& block : state_.blocks) {
    accessible += block.kind == BlockKind::mapping && block.is_accessible() ? 1U : 0U;
  }
  std::uint64_t more = 0;
  for (const std::size_t index : run_) {
    more += grants && !state_.blocks[index].is_accessible() ? 1U : 0U;
  }
  if (more != 0 && accessible + more > profile_.accessible_mappings_max) {
    return ErrorCode::out_of_memory;
  }
  has_changed_ = true;
  for (const std::size_t index : run_) {
    for (std::size_t i = 0; i < count; ++i) {
      if (const ErrorCode code = set_access(state_.blocks[index], descriptors[i]); code != ok) {
        return code;
      }
    }
  }
  spend(Call::mem_set_access, run_.size() > 1 ? run_.size() - 1 : 0);
  return ok;
}

Outcome NaiveModel::expected_access(std::uint64_t address, Location location) const {
  if (address == 0) {
    return {.code = ErrorCode::invalid_value};
  }
  const bool on_device = location.type == LocationType::device;
  if (on_device ? !is_device(location.id) : !is_host(location.type)) {
    return {.code = ErrorCode::invalid_device};
  }
  const ModelBlock* block = block_at(address);
  if (block == nullptr || block->kind == BlockKind::driver) {
    return {.code = ErrorCode::invalid_value};
  }
  if (block->kind == BlockKind::legacy) {
    return {};
  }
  AccessFlags flags = block->host;
  if (on_device) {
    flags = block->access[static_cast<std::size_t>(location.id)];
  } else if (location.type == LocationType::host) {
    // Asked for the host, the driver means device 0, too.
    const AccessFlags device = block->access[0];
    const bool have_both = flags != AccessFlags::none && device != AccessFlags::none;
    flags = have_both ? block->latest : std::max(flags, device);
  }
  return {.value = static_cast<std::uint64_t>(flags)};
}

ErrorCode NaiveModel::judge_mapping(const Op& op, const Arguments& arguments) {
  switch (op.kind) {
    case OpKind::map:
      enter(Call::mem_map);
      return map(op, arguments);
    case OpKind::unmap:
      enter(Call::mem_unmap);
      return unmap(arguments);
    case OpKind::set_access:
      enter(Call::mem_set_access);
      return set_access(op, arguments);
    default: {
      enter(Call::mem_get_access);
      const Outcome expected = expected_access(
          arguments.address, {.type = static_cast<LocationType>(op.choice), .id = op.device});
      expect(expected.value);
      return expected.code;
    }
  }
}

}  // namespace tessera::model
