// Copies, fills, kernels: what touches bytes, and what may touch them.
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

void read_segment(const Segment& segment, std::span<std::byte> bytes) {
  if (segment.host_memory != nullptr) {
    std::memcpy(bytes.data(), segment.host_memory + segment.offset.value(), bytes.size());
  } else if (segment.backing != nullptr) {
    segment.backing->read(segment.offset, bytes);
  } else {
    std::memset(bytes.data(), 0, bytes.size());
  }
}

void write_segment(const Segment& segment, std::span<const std::byte> bytes) {
  if (segment.host_memory != nullptr) {
    std::memcpy(segment.host_memory + segment.offset.value(), bytes.data(), bytes.size());
  } else if (segment.backing != nullptr) {
    segment.backing->write(segment.offset, bytes);
  }
}

void fill_segment(const Segment& segment, std::uint8_t value) {
  if (segment.host_memory != nullptr) {
    std::memset(segment.host_memory + segment.offset.value(), value, segment.size.value());
  } else if (segment.backing != nullptr) {
    segment.backing->fill(segment.offset, value, segment.size);
  }
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
    if (!is_local && toucher != Toucher::copy && toucher != Toucher::device_copy) {
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

Result<std::vector<Segment>> Machine::resolve(const Context& context, DeviceAddress address,
                                              Bytes size, AccessFlags needed, Toucher toucher) {
  std::vector<Segment> segments;
  const auto range = AddressRange::make(address, size);
  if (!range) {
    return invalid(Reason::range_wraps, address.value(), size.value());
  }
  const bool is_by_cpu = toucher == Toucher::copy && is_copied_by_cpu(context, address);
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

bool Machine::is_copied_by_cpu(const Context& context, DeviceAddress address) const {
  const Mapping* mapping = space_.mapping_at(address);
  return profile_.quirks.cpu_copies_host_memory && mapping != nullptr &&
         is_host(location_of(*mapping).type) &&
         mapping->access_of(context.device) == AccessFlags::none;
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
  for (const Segment& segment : segments) {
    read_segment(segment, bytes.first(segment.size.value()));
    bytes = bytes.subspan(segment.size.value());
  }
  return {};
}

Status Machine::write_bytes(const Context& context, DeviceAddress address,
                            std::span<const std::byte> bytes, Toucher toucher) {
  TESSERA_TRY_ASSIGN(const auto segments, resolve(context, address, Bytes(bytes.size()),
                                                  AccessFlags::read_write, toucher));
  for (const Segment& segment : segments) {
    const std::size_t size = segment.size.value();
    write_segment(segment, bytes.first(size));
    if (segment.further_copies == 0) {
      bytes = bytes.subspan(size);
    }
  }
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
                           Toucher toucher) {
  TESSERA_TRY(
      resolve(context, request.destination, request.size, AccessFlags::read_write, toucher));
  TESSERA_TRY(resolve(context, request.source, request.size, AccessFlags::read, toucher));
  if (!options_.bytes) {
    return {};
  }
  // Through a buffer: the ranges may be cut differently, or overlap through aliases.
  constexpr std::uint64_t step = 1ULL << 20U;
  std::vector<std::byte> buffer(std::min(step, request.size.value()));
  for (std::uint64_t done = 0; done < request.size.value(); done += buffer.size()) {
    const std::uint64_t size = std::min<std::uint64_t>(buffer.size(), request.size.value() - done);
    const std::span<std::byte> part = std::span(buffer).first(size);
    TESSERA_TRY(read_bytes(context, request.source + Bytes(done), part, toucher));
    TESSERA_TRY(write_bytes(context, request.destination + Bytes(done), part, toucher));
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

template <class Work>
Status Machine::enqueue(StreamHandle stream, std::uint64_t duration, Toucher toucher,
                        std::initializer_list<Access> accesses, Work work) {
  TESSERA_TRY(need_context());
  TESSERA_TRY_ASSIGN(const Context* context, need_stream(stream));
  const bool is_checked = toucher != Toucher::kernel && profile_.quirks.copies_check_access;
  const bool is_by_cpu =
      toucher == Toucher::copy &&
      std::any_of(accesses.begin(), accesses.end(), [&](const Access& access) {
        return !access.size.is_zero() && is_copied_by_cpu(*context, access.address);
      });
  const Toucher runs_as = toucher == Toucher::copy && !is_by_cpu ? Toucher::device_copy : toucher;
  for (const Access& access : accesses) {
    if (is_checked) {
      TESSERA_TRY(resolve(*context, access.address, access.size, access.needed, runs_as));
    }
  }
  timeline_.enqueue(context->handle, stream, duration,
                    [this, handle = context->handle, work = std::move(work), runs_as,
                     spares_heap = is_checked || toucher == Toucher::kernel] {
                      const Context* runs_in = contexts_.find(handle);
                      if (runs_in == nullptr || lost_) {
                        return;
                      }
                      // Freed memory of a pool stays mapped with the rest of its block: work that
                      // still uses it does no harm that shows [h200].
                      const Status done = work(*runs_in, runs_as);
                      const bool is_harmless = spares_heap && !done &&
                                               done.error().reason == Reason::not_mapped &&
                                               is_in_heap(DeviceAddress(done.error().values[0]));
                      if (!done && !is_harmless) {
                        lose(done.error());
                      }
                    });
  if (is_by_cpu) {
    timeline_.advance_to(timeline_.stream_end(context->handle, stream));
    return check_not_lost();
  }
  return {};
}

Status Machine::memcpy_htod_async(const MemcpyHtodAsyncRequest& request) {
  const MemcpyHtodRequest copy = request.copy;
  if (copy.source.data() == nullptr && !copy.source.empty()) {
    return invalid(Reason::null_pointer);
  }
  const Bytes size(copy.source.size());
  return enqueue(request.stream, duration_of(Call::memcpy_htod_async, size), Toucher::copy,
                 {{copy.destination, size, AccessFlags::read_write}},
                 [this, copy](const Context& context, Toucher toucher) {
                   return write_bytes(context, copy.destination, copy.source, toucher);
                 });
}

Status Machine::memcpy_dtoh_async(const MemcpyDtohAsyncRequest& request) {
  const MemcpyDtohRequest copy = request.copy;
  if (copy.destination.data() == nullptr && !copy.destination.empty()) {
    return invalid(Reason::null_pointer);
  }
  const Bytes size(copy.destination.size());
  return enqueue(request.stream, duration_of(Call::memcpy_dtoh_async, size), Toucher::copy,
                 {{copy.source, size, AccessFlags::read}},
                 [this, copy](const Context& context, Toucher toucher) {
                   return read_bytes(context, copy.source, copy.destination, toucher);
                 });
}

// What the CPU reads for a device is staged at the call, and the call does not wait, unless it is
// much.
Result<std::vector<std::byte>> Machine::stage(const MemcpyDtodAsyncRequest& request) {
  constexpr Bytes staged_max = 1_MiB;  // [h200: 1 MiB is staged, 16 MiB are not]
  const MemcpyDtodRequest& copy = request.copy;
  TESSERA_TRY_ASSIGN(const Context* context, need_stream(request.stream));
  if (copy.size > staged_max || !is_copied_by_cpu(*context, copy.source) ||
      is_copied_by_cpu(*context, copy.destination)) {
    return std::vector<std::byte>();
  }
  std::vector<std::byte> bytes(copy.size.value());
  TESSERA_TRY(read_bytes(*context, copy.source, bytes, Toucher::copy));
  return bytes;
}

Status Machine::memcpy_dtod_async(const MemcpyDtodAsyncRequest& request) {
  const MemcpyDtodRequest copy = request.copy;
  // What is wrong with the source is said by the copy below, after what is with the destination.
  if (auto staged = stage(request); staged && !staged->empty()) {
    return enqueue(
        request.stream, duration_of(Call::memcpy_dtod_async, copy.size), Toucher::copy,
        {{copy.destination, copy.size, AccessFlags::read_write}},
        [this, copy, bytes = std::move(*staged)](const Context& context, Toucher toucher) {
          return write_bytes(context, copy.destination, bytes, toucher);
        });
  }
  return enqueue(request.stream, duration_of(Call::memcpy_dtod_async, copy.size), Toucher::copy,
                 {{copy.destination, copy.size, AccessFlags::read_write},
                  {copy.source, copy.size, AccessFlags::read}},
                 [this, copy](const Context& context, Toucher toucher) {
                   return copy_bytes(context, copy, toucher);
                 });
}

Status Machine::memset_d8_async(const MemsetD8AsyncRequest& request) {
  const MemsetD8Request set = request.set;
  return enqueue(request.stream, duration_of(Call::memset_d8_async, set.size), Toucher::fill,
                 {{set.destination, set.size, AccessFlags::read_write}},
                 [this, set](const Context& context, Toucher /*toucher*/) {
                   return fill_bytes(context, set);
                 });
}

Status Machine::synchronize_default_stream() { return stream_synchronize(StreamHandle()); }

Status Machine::memcpy_htod(const MemcpyHtodRequest& request) {
  TESSERA_TRY(memcpy_htod_async({.copy = request}));
  // Nothing is copied at once, without waiting [h200].
  return request.source.empty() ? Status() : synchronize_default_stream();
}

Status Machine::memcpy_dtoh(const MemcpyDtohRequest& request) {
  TESSERA_TRY(memcpy_dtoh_async({.copy = request}));
  return request.destination.empty() ? Status() : synchronize_default_stream();
}

Status Machine::memcpy_dtod(const MemcpyDtodRequest& request) {
  return memcpy_dtod_async({.copy = request});
}

Status Machine::memset_d8(const MemsetD8Request& request) {
  return memset_d8_async({.set = request});
}

Status Machine::launch_touch(const LaunchTouchRequest& request) {
  if (request.touch != Touch::read && request.touch != Touch::write) {
    return invalid(Reason::unknown_flags, static_cast<std::uint64_t>(request.touch), 1);
  }
  const std::uint64_t cost = duration_of(Call::launch_touch, Bytes());
  constexpr std::uint64_t longest = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t duration =
      request.duration_ns > longest - cost ? longest : request.duration_ns + cost;
  return enqueue(request.stream, duration, Toucher::kernel, {},
                 [this, request](const Context& context, Toucher /*toucher*/) {
                   return touch(context, request);
                 });
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
  read_segment(segment, std::span(&value, 1));
  return value;
}

Status Machine::host_write(DeviceAddress address, std::byte value) {
  const std::lock_guard lock(mutex_);
  TESSERA_TRY_ASSIGN(const Segment segment, host_segment_at(address, AccessFlags::read_write));
  write_segment(segment, std::span(&value, 1));
  return {};
}

}  // namespace tessera::sim
