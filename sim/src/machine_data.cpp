// Bytes: what may be touched by whom, and what lies there.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "machine.h"

namespace tessera::sim {
namespace {

bool allows(AccessFlags granted, AccessFlags needed) noexcept {
  const auto bits = static_cast<std::uint32_t>(needed);
  return (static_cast<std::uint32_t>(granted) & bits) == bits;
}

void read_segment(const Segment& segment, Bytes offset, std::span<std::byte> bytes) {
  if (segment.host_memory != nullptr) {
    std::memcpy(bytes.data(), segment.host_memory + (segment.offset + offset).value(),
                bytes.size());
  } else if (segment.backing != nullptr) {
    segment.backing->read(segment.offset + offset, bytes);
  } else {
    std::memset(bytes.data(), 0, bytes.size());
  }
}

void write_segment(const Segment& segment, Bytes offset, std::span<const std::byte> bytes) {
  if (segment.host_memory != nullptr) {
    std::memcpy(segment.host_memory + (segment.offset + offset).value(), bytes.data(),
                bytes.size());
  } else if (segment.backing != nullptr) {
    segment.backing->write(segment.offset + offset, bytes);
  }
}

void fill_segment(const Segment& segment, std::uint8_t value) {
  if (segment.host_memory != nullptr) {
    std::memset(segment.host_memory + segment.offset.value(), value, segment.size.value());
  } else if (segment.backing != nullptr) {
    segment.backing->fill(segment.offset, value, segment.size);
  }
}

// Calls `use(segment, offset, part)` for the parts of `bytes`, which begin `offset` into the range
// of the segments: `part` lies `offset` into the segment.
template <class Byte, class Use>
void for_each_part(std::span<const Segment> segments, Bytes offset, std::span<Byte> bytes,
                   Use use) {
  Bytes begin;  // of the segment, in the range
  const Bytes end = offset + Bytes(bytes.size());
  for (const Segment& segment : segments) {
    const Bytes from = std::max(begin, offset);
    const Bytes to = std::min(begin + segment.size, end);
    if (from < to) {
      use(segment, from - begin, bytes.subspan((from - offset).value(), (to - from).value()));
    }
    if (segment.further_copies == 0) {
      begin += segment.size;
    }
  }
}

void read_segments(std::span<const Segment> segments, Bytes offset, std::span<std::byte> bytes) {
  for_each_part(segments, offset, bytes, read_segment);
}

void write_segments(std::span<const Segment> segments, Bytes offset,
                    std::span<const std::byte> bytes) {
  for_each_part(segments, offset, bytes, write_segment);
}

}  // namespace

void Machine::resolve_memory(SlabIndex memory, Bytes offset, Bytes size,
                             std::vector<Segment>& segments) {
  segments.push_back(
      {.backing = store_.memory(memory).backing.get(), .offset = offset, .size = size});
}

// A write reaches every device's memory. What a plain read gives is undefined on a real device.
Status Machine::resolve_multicast(const Multicast& multicast, AddressRange part, Bytes offset,
                                  AccessFlags needed, std::vector<Segment>& segments) {
  if (needed == AccessFlags::read) {
    return invalid(Reason::multicast_read, part.begin().value());
  }
  const Bytes end = offset + part.size();
  std::size_t bound = 0;
  for (const MulticastBinding& binding : multicast.bindings) {
    const Bytes binding_end = binding.multicast_offset + binding.size;
    if (binding.multicast_offset <= offset && end <= binding_end) {
      ++bound;
      resolve_memory(binding.memory, binding.memory_offset + (offset - binding.multicast_offset),
                     part.size(), segments);
    }
  }
  for (std::size_t i = 0; i < bound; ++i) {
    segments[segments.size() - bound + i].further_copies =
        static_cast<std::uint32_t>(bound - 1 - i);
  }
  if (bound != multicast.devices.size()) {
    return invalid(Reason::multicast_not_bound, part.begin().value(), bound,
                   multicast.devices.size());
  }
  return {};
}

Status Machine::resolve_block(const Context& context, const Block& block, AddressRange part,
                              AccessFlags needed, Toucher toucher, std::vector<Segment>& segments) {
  const Bytes offset = part.begin() - block.range.begin();
  if (block.kind == BlockKind::legacy) {
    LegacyAllocation& allocation = legacy_[block.index];
    const bool is_local = allocation.host_memory != nullptr ||
                          allocation.device == context.device ||
                          context.peers_enabled.contains(allocation.context);
    // Copies go between any two devices, by way of the host if need be.
    if (!is_local && toucher != Toucher::copy_by_device) {
      return invalid(Reason::peer_access_not_enabled, part.begin().value(),
                     static_cast<std::uint64_t>(context.device.value()),
                     static_cast<std::uint64_t>(allocation.device.value()));
    }
    segments.push_back({.backing = allocation.backing.get(),
                        .host_memory = allocation.host_memory,
                        .offset = offset,
                        .size = part.size()});
    return {};
  }
  const Mapping& mapping = space_.mapping(block.index);
  if (!allows(mapping.access_of(context.device), needed)) {
    return invalid(Reason::no_access_for_device, part.begin().value(),
                   static_cast<std::uint64_t>(context.device.value()),
                   static_cast<std::uint64_t>(mapping.access_of(context.device)));
  }
  const HandleEntry& entry = store_.entry(mapping.handle);
  if (entry.is_multicast) {
    return resolve_multicast(store_.multicast(entry.object), part, mapping.offset + offset, needed,
                             segments);
  }
  resolve_memory(entry.object, mapping.offset + offset, part.size(), segments);
  return {};
}

CpuReach Machine::cpu_reach(const Context& context, DeviceAddress address, Bytes size) const {
  const auto range = AddressRange::make(address, size);
  if (!profile_.quirks.cpu_copies_host_memory || !range || range->is_empty()) {
    return CpuReach::none;
  }
  const Mapping* first = space_.mapping_at(address);
  if (first != nullptr && is_host(location_of(*first).type) &&
      first->access_of(context.device) == AccessFlags::none) {
    return CpuReach::alone;
  }
  // Access of the host to any part of it is enough: the driver does not ask for more, and the
  // process crashes at the rest.
  DeviceAddress next = range->begin();
  while (next < range->end()) {
    const auto block = space_.block_at(next);
    if (!block || block->kind == BlockKind::driver) {
      break;
    }
    const bool is_within = block->kind == BlockKind::legacy
                               ? legacy_[block->index].kind == LegacyKind::host
                               : space_.mapping(block->index).host != AccessFlags::none;
    if (is_within) {
      return CpuReach::shared;
    }
    next = block->range.end();
  }
  return CpuReach::none;
}

Result<std::vector<Segment>> Machine::resolve(const Context& context, DeviceAddress address,
                                              Bytes size, AccessFlags needed, Toucher toucher) {
  std::vector<Segment> segments;
  const auto range = AddressRange::make(address, size);
  if (!range) {
    return invalid(Reason::range_wraps, address.value(), size.value());
  }
  const bool is_by_cpu = toucher == Toucher::copy_by_cpu;
  // The driver looks at all of the range before the CPU comes to what it has no access to [h200].
  if (is_by_cpu && cpu_reach(context, address, size) == CpuReach::shared) {
    TESSERA_TRY(resolve(context, address, size, needed, Toucher::copy_by_device));
  }
  DeviceAddress next = range->begin();
  while (next < range->end()) {
    const auto block = space_.block_at(next);
    if (!block || block->kind == BlockKind::driver) {
      return invalid(Reason::not_mapped, next.value());
    }
    const DeviceAddress end = std::min(block->range.end(), range->end());
    const AddressRange part(next, end - next);
    if (is_by_cpu) {
      TESSERA_TRY_ASSIGN(const Segment segment, resolve_for_cpu(*block, part, needed));
      segments.push_back(segment);
    } else {
      TESSERA_TRY(resolve_block(context, *block, part, needed, toucher, segments));
    }
    next = end;
  }
  return segments;
}

// Where this refuses, a real program crashes.
Result<Segment> Machine::resolve_for_cpu(const Block& block, AddressRange part,
                                         AccessFlags needed) {
  const Bytes offset = part.begin() - block.range.begin();
  if (block.kind == BlockKind::legacy) {
    std::byte* memory = legacy_[block.index].host_memory;
    if (memory == nullptr) {
      return invalid(Reason::not_host_memory, part.begin().value());
    }
    return Segment{.host_memory = memory, .offset = offset, .size = part.size()};
  }
  const Mapping& mapping = space_.mapping(block.index);
  if (!allows(mapping.host, needed)) {
    return invalid(Reason::no_access_for_host, part.begin().value(),
                   static_cast<std::uint64_t>(mapping.host));
  }
  Memory& memory = store_.memory(store_.entry(mapping.handle).object);
  return Segment{
      .backing = memory.backing.get(), .offset = mapping.offset + offset, .size = part.size()};
}

Status Machine::read_bytes(const Context& context, DeviceAddress address,
                           std::span<std::byte> bytes, Toucher toucher) {
  TESSERA_TRY_ASSIGN(const auto segments,
                     resolve(context, address, Bytes(bytes.size()), AccessFlags::read, toucher));
  read_segments(segments, Bytes(), bytes);
  return {};
}

Status Machine::write_bytes(const Context& context, DeviceAddress address,
                            std::span<const std::byte> bytes, Toucher toucher) {
  TESSERA_TRY_ASSIGN(const auto segments, resolve(context, address, Bytes(bytes.size()),
                                                  AccessFlags::read_write, toucher));
  write_segments(segments, Bytes(), bytes);
  return {};
}

Status Machine::fill_bytes(const Context& context, const MemsetD8Request& request) {
  TESSERA_TRY_ASSIGN(const auto segments, resolve(context, request.destination, request.size,
                                                  AccessFlags::read_write, Toucher::fill));
  for (const Segment& segment : segments) {
    fill_segment(segment, request.value);
  }
  return {};
}

Status Machine::copy_bytes(const Context& context, const MemcpyDtodRequest& request,
                           CopiedByCpu by) {
  TESSERA_TRY_ASSIGN(const auto destination,
                     resolve(context, request.destination, request.size, AccessFlags::read_write,
                             copier_of(by.destination)));
  TESSERA_TRY_ASSIGN(const auto source, resolve(context, request.source, request.size,
                                                AccessFlags::read, copier_of(by.source)));
  if (!options_.bytes) {
    return {};
  }
  // Through a buffer: the ranges may be cut differently, or overlap through aliases.
  constexpr Bytes step = 1_MiB;
  std::vector<std::byte> buffer(std::min(step, request.size).value());
  for (Bytes done; done < request.size; done += step) {
    const std::span part = std::span(buffer).first(std::min(step, request.size - done).value());
    read_segments(source, done, part);
    write_segments(destination, done, part);
  }
  return {};
}

Status Machine::touch(const Context& context, const LaunchTouchRequest& request) {
  std::byte byte{request.value};
  if (request.touch == Touch::write) {
    return write_bytes(context, request.address, std::span(&byte, 1), Toucher::kernel);
  }
  TESSERA_TRY(read_bytes(context, request.address, std::span(&byte, 1), Toucher::kernel));
  if (request.result.is_null()) {
    return {};
  }
  return write_bytes(context, request.result, std::span(&byte, 1), Toucher::kernel);
}

// What the CPU finds there.
Result<Segment> Machine::host_segment_at(DeviceAddress address, AccessFlags needed) {
  const auto block = space_.block_at(address);
  if (!block || block->kind == BlockKind::driver) {
    return refuse(ErrorCode::illegal_address, Reason::not_mapped, address.value());
  }
  Result<Segment> segment = resolve_for_cpu(*block, AddressRange(address, 1_B), needed);
  if (!segment) {
    Error error = segment.error();
    error.code = ErrorCode::illegal_address;
    return error;
  }
  return segment;
}

Result<std::byte> Machine::host_read(DeviceAddress address) {
  const std::lock_guard lock(mutex_);
  TESSERA_TRY_ASSIGN(const Segment segment, host_segment_at(address, AccessFlags::read));
  std::byte value{};
  read_segment(segment, Bytes(), std::span(&value, 1));
  return value;
}

Status Machine::host_write(DeviceAddress address, std::byte value) {
  const std::lock_guard lock(mutex_);
  TESSERA_TRY_ASSIGN(const Segment segment, host_segment_at(address, AccessFlags::read_write));
  write_segment(segment, Bytes(), std::span(&value, 1));
  return {};
}

}  // namespace tessera::sim
