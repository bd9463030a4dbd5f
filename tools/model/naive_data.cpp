// Bytes of the naive model: what may be touched, and what lies there.
#include <algorithm>

#include "model/naive_model.h"

namespace tessera::model {
namespace {

bool allows(AccessFlags granted, AccessFlags needed) noexcept {
  const auto bits = static_cast<std::uint32_t>(needed);
  return (static_cast<std::uint32_t>(granted) & bits) == bits;
}

}  // namespace

// A write reaches every device's memory; what a plain read gives is undefined, so it is refused.
bool NaiveModel::resolve_multicast(const ModelMulticast& multicast, std::uint64_t offset,
                                   std::uint64_t size, AccessFlags needed,
                                   std::vector<Segment>& segments) {
  if (needed == AccessFlags::read) {
    return false;
  }
  std::size_t bound = 0;
  for (const ModelBinding& binding : multicast.bindings) {
    if (binding.offset <= offset && offset + size <= binding.offset + binding.size) {
      segments.push_back({.contents = &state_.memories[binding.memory].contents,
                          .offset = binding.memory_offset + (offset - binding.offset),
                          .size = size,
                          .is_further_copy = bound != 0});
      ++bound;
    }
  }
  return bound == multicast.devices.size();
}

// The CPU copies what lies on the host where the device has no access.
bool NaiveModel::must_be_copied_by_cpu(const ModelContext& context,
                                       std::uint64_t address) const noexcept {
  const ModelBlock* block = block_at(address);
  return profile_.quirks.cpu_copies_host_memory && block != nullptr && is_host_mapping(*block) &&
         block->access[static_cast<std::size_t>(context.device)] == AccessFlags::none;
}

bool NaiveModel::is_within_cpu_reach(const ModelContext& context, std::uint64_t address,
                                     std::uint64_t size) noexcept {
  if (size == 0 || address + size < address || !profile_.quirks.cpu_copies_host_memory) {
    return false;
  }
  if (must_be_copied_by_cpu(context, address)) {
    return true;
  }
  // Any mapping that the host has access to; legacy memory counts if it is the host's.
  const std::uint64_t end = address + size;
  for (std::uint64_t next = address; next < end;) {
    const ModelBlock* block = block_at(next);
    if (block == nullptr || block->kind == BlockKind::driver) {
      return false;
    }
    if (block->kind == BlockKind::legacy ? legacy_at(block->begin)->kind == LegacyKind::host
                                         : block->host != AccessFlags::none) {
      return true;
    }
    next = block->end();
  }
  return false;
}

void NaiveModel::choose_copiers(const ModelContext& context, std::uint64_t stream,
                                ModelWork& work) {
  const bool can_write =
      work.kind != WorkKind::read && is_within_cpu_reach(context, work.address, work.size);
  switch (work.kind) {
    case WorkKind::read:
      work.is_read_by_cpu = is_within_cpu_reach(context, work.address, work.size);
      break;
    case WorkKind::write:
      work.is_written_by_cpu = can_write;
      break;
    case WorkKind::copy: {
      const bool can_read = is_within_cpu_reach(context, work.source, work.size);
      const ModelBlock* to = block_at(work.address);
      const bool is_to_managed = to != nullptr && to->kind == BlockKind::legacy &&
                                 legacy_at(to->begin)->kind == LegacyKind::managed;
      const bool is_free = free_at(context, stream) <= state_.now;
      work.is_written_by_cpu =
          can_write && (can_read || must_be_copied_by_cpu(context, work.address));
      work.is_read_by_cpu =
          can_read && (can_write || must_be_copied_by_cpu(context, work.source) ||
                       (is_free && !is_to_managed && work.size <= std::uint64_t{24} << 10U));
      break;
    }
    default:
      break;
  }
}

bool NaiveModel::resolve(const ModelContext& context, std::uint64_t address, std::uint64_t size,
                         AccessFlags needed, Toucher toucher, std::vector<Segment>& segments) {
  if (toucher == Toucher::cpu_copy && !must_be_copied_by_cpu(context, address) &&
      !resolve_parts(context, address, size, needed, Toucher::device_copy, segments)) {
    return false;
  }
  return resolve_parts(context, address, size, needed, toucher, segments);
}

bool NaiveModel::resolve_parts(const ModelContext& context, std::uint64_t address,
                               std::uint64_t size, AccessFlags needed, Toucher toucher,
                               std::vector<Segment>& segments) {
  segments.clear();
  if (address + size < address) {
    return false;
  }
  const bool is_by_cpu = toucher == Toucher::cpu_copy;
  for (std::uint64_t next = address; next < address + size;) {
    const ModelBlock* block = block_at(next);
    if (block == nullptr || block->kind == BlockKind::driver) {
      return false;
    }
    const std::uint64_t part = std::min(block->end(), address + size) - next;
    const std::uint64_t offset = next - block->begin;
    next += part;
    if (block->kind == BlockKind::legacy) {
      ModelLegacy& legacy = *legacy_at(block->begin);
      const bool is_on_host = legacy.kind == LegacyKind::managed || legacy.kind == LegacyKind::host;
      const bool is_near = is_on_host || legacy.device == context.device ||
                           std::find(context.peers.begin(), context.peers.end(), legacy.context) !=
                               context.peers.end();
      // The device's copies go between any two devices.
      if (is_by_cpu ? !is_on_host : !is_near && toucher != Toucher::device_copy) {
        return false;
      }
      segments.push_back({&legacy.contents, offset, part, false});
      continue;
    }
    const AccessFlags access =
        is_by_cpu ? block->host : block->access[static_cast<std::size_t>(context.device)];
    if (!allows(access, needed)) {
      return false;
    }
    const ModelHandle& handle = state_.handles[block->handle];
    if (handle.is_multicast) {
      if (!resolve_multicast(state_.multicasts[handle.object], block->offset + offset, part, needed,
                             segments)) {
        return false;
      }
      continue;
    }
    segments.push_back(
        {&state_.memories[handle.object].contents, block->offset + offset, part, false});
  }
  return true;
}

// What a piece of work needs at the call, if the driver looks then.
bool NaiveModel::can_do(const ModelContext& context, const ModelWork& work) {
  const Toucher writer = work.is_written_by_cpu ? Toucher::cpu_copy : Toucher::device_copy;
  const Toucher reader = work.is_read_by_cpu ? Toucher::cpu_copy : Toucher::device_copy;
  const auto can = [&](std::uint64_t address, AccessFlags needed, Toucher toucher) {
    return resolve(context, address, work.size, needed, toucher, segments_);
  };
  switch (work.kind) {
    case WorkKind::fill:
      return can(work.address, AccessFlags::read_write, Toucher::fill);
    case WorkKind::write:
    case WorkKind::write_staged:
      return can(work.address, AccessFlags::read_write, writer);
    case WorkKind::read:
      return can(work.address, AccessFlags::read, reader);
    case WorkKind::copy:
      return can(work.address, AccessFlags::read_write, writer) &&
             can(work.source, AccessFlags::read, reader);
    case WorkKind::touch_read:
      return can(work.address, AccessFlags::read, Toucher::kernel);
    case WorkKind::touch_write:
      return can(work.address, AccessFlags::read_write, Toucher::kernel);
    case WorkKind::free:
      return true;
  }
  return false;
}

void NaiveModel::read(const std::vector<Segment>& segments,
                      std::vector<std::uint8_t>& bytes) const {
  bytes.clear();
  for (const Segment& segment : segments) {
    for (std::uint64_t i = 0; i < segment.size; ++i) {
      bytes.push_back(segment.contents->at(segment.offset + i));
    }
  }
}

// False: a fault.
bool NaiveModel::perform(const ModelContext& context, const ModelWork& work) {
  const Toucher writer = work.is_written_by_cpu ? Toucher::cpu_copy : Toucher::device_copy;
  if (!can_do(context, work)) {
    // Freed memory of a pool is still mapped while others have parts of its block.
    const bool is_kernel = work.kind == WorkKind::touch_read || work.kind == WorkKind::touch_write;
    if (!is_kernel && !profile_.quirks.copies_check_access) {
      return false;
    }
    const bool is_source =
        work.kind == WorkKind::copy &&
        resolve(context, work.address, work.size, AccessFlags::read_write, writer, segments_);
    std::uint64_t place = is_source ? work.source : work.address;
    const std::uint64_t end = place + work.size;
    for (const ModelBlock* block = block_at(place); block != nullptr; block = block_at(place)) {
      if (block->end() >= end || block->kind == BlockKind::driver) {
        return false;
      }
      place = block->end();
    }
    return heap_block_at(place) != nullptr;
  }
  switch (work.kind) {
    case WorkKind::fill:
    case WorkKind::write:
    case WorkKind::touch_write:
      for (const Segment& segment : segments_) {
        if (segment.size != 0) {
          segment.contents->write(segment.offset, segment.size, work.value);
        }
      }
      return true;
    case WorkKind::write_staged:
    case WorkKind::copy: {
      if (work.kind == WorkKind::copy) {
        read(segments_, bytes_);
        static_cast<void>(
            resolve(context, work.address, work.size, AccessFlags::read_write, writer, segments_));
      } else {
        bytes_ = work.staged;
      }
      std::size_t next = 0;
      for (const Segment& segment : segments_) {
        next -= segment.is_further_copy ? segment.size : 0;
        for (std::uint64_t i = 0; i < segment.size; ++i) {
          segment.contents->write(segment.offset + i, 1, bytes_[next++]);
        }
      }
      return true;
    }
    case WorkKind::read:
      read(segments_, bytes_);
      read_.resize(bytes_.size());
      std::transform(bytes_.begin(), bytes_.end(), read_.begin(),
                     [](std::uint8_t byte) { return std::byte{byte}; });
      return true;
    default:
      return true;
  }
}

ErrorCode NaiveModel::read_bytes(const Op& op, const Arguments& arguments) {
  const std::uint64_t size = arguments.size;
  const ModelContext* context = context_of(current_context());
  ModelWork work = {.kind = WorkKind::read, .address = arguments.address, .size = size};
  choose_copiers(*context, 0, work);
  if (profile_.quirks.copies_check_access && !can_do(*context, work)) {
    return ErrorCode::invalid_value;
  }
  // What reads nothing, since its memory was freed before it ran, leaves what the caller had there:
  // anything but the byte that it expects.
  read_.assign(size, ~std::byte{op.value});
  if (const ErrorCode code = queue(work, 0, cost_of(Call::memcpy_dtoh_async, size)); code != ok) {
    return code;
  }
  // Nothing is copied without waiting.
  const ErrorCode code = work.size == 0 ? ok : wait_until(stream_end(*context, 0));
  std::uint64_t matching = 0;
  for (const std::byte byte : read_) {
    matching += byte == std::byte{op.value} ? 1U : 0U;
  }
  expect(matching == size ? 1 : 0, testing::hash_of(read_.data(), read_.size()));
  return code;
}

ErrorCode NaiveModel::judge_data(const Op& op, const Arguments& arguments) {
  ModelWork work = {.address = arguments.address,
                    .source = arguments.source,
                    .size = arguments.size,
                    .value = op.value};
  const bool is_queued = op.flags != 0;
  Call cost = Call::memset_d8_async;
  switch (op.kind) {
    case OpKind::htod:
      enter(Call::memcpy_htod);
      work.kind = WorkKind::write;
      cost = Call::memcpy_htod_async;
      break;
    case OpKind::expect:
      enter(Call::memcpy_dtoh);
      break;
    case OpKind::dtod:
      enter(is_queued ? Call::memcpy_dtod_async : Call::memcpy_dtod);
      work.kind = WorkKind::copy;
      cost = Call::memcpy_dtod_async;
      break;
    default:
      enter(is_queued ? Call::memset_d8_async : Call::memset_d8);
      break;
  }
  // In a stream only copies look at the current context, and it may be none.
  ErrorCode refused = ok;
  if (!is_queued) {
    refused = need_context();
  } else if (op.kind == OpKind::dtod) {
    refused = check_current();
  }
  if (refused != ok) {
    return refused;
  }
  if (op.kind == OpKind::expect) {
    return read_bytes(op, arguments);
  }
  ModelContext* context = nullptr;
  const std::uint64_t stream = is_queued ? arguments.other : 0;
  if (const ErrorCode code = need_stream(stream, context); code != ok) {
    return code;
  }
  choose_copiers(*context, stream, work);
  if (profile_.quirks.copies_check_access && !can_do(*context, work)) {
    return ErrorCode::invalid_value;
  }
  bool is_waited_for = work.is_written_by_cpu || work.is_read_by_cpu;
  if (work.is_read_by_cpu && !work.is_written_by_cpu && work.size <= std::uint64_t{2} << 20U &&
      resolve(*context, work.source, work.size, AccessFlags::read, Toucher::cpu_copy, segments_)) {
    read(segments_, work.staged);
    work.kind = WorkKind::write_staged;
    is_waited_for = false;
  }
  if (const ErrorCode code = queue(work, stream, cost_of(cost, work.size)); code != ok) {
    return code;
  }
  if (is_waited_for) {
    advance_to(std::max(state_.now, stream_end(*context, stream)));
    if (state_.is_lost) {
      return ErrorCode::illegal_address;
    }
  }
  if (is_queued) {
    return ok;
  }
  if (op.kind == OpKind::htod) {
    return work.size == 0 ? ok : wait_until(stream_end(*context, 0));
  }
  // memset and dtod are followed by a synchronization.
  enter(Call::ctx_synchronize);
  if (const ErrorCode code = need_context(); code != ok) {
    return code;
  }
  return wait_until(context->all_end);
}

bool NaiveModel::can_read(std::uint64_t address) const {
  auto* self = const_cast<NaiveModel*>(this);  // `resolve` changes only the list that it fills
  const ModelContext* context = context_of(current_context());
  if (context == nullptr || state_.is_lost) {
    return false;
  }
  const bool is_by_cpu = self->is_within_cpu_reach(*context, address, 1);
  return self->resolve(*context, address, 1, AccessFlags::read,
                       is_by_cpu ? Toucher::cpu_copy : Toucher::device_copy, segments_);
}

std::uint8_t NaiveModel::byte_at(std::uint64_t address) const {
  return can_read(address) ? segments_.front().contents->at(segments_.front().offset) : 0;
}

}  // namespace tessera::model
