// Work in streams: copies, fills, kernels; and who does copies (tessera/host_copies.h).
#include <limits>
#include <utility>

#include "machine.h"

namespace tessera::sim {
template <class Work>
Status Machine::enqueue(const Context& context, StreamHandle stream, std::uint64_t duration,
                        std::initializer_list<Access> accesses, Work work) {
  if (profile_.quirks.copies_check_access) {
    for (const Access& access : accesses) {
      TESSERA_TRY(resolve(context, access.address, access.size, access.needed, access.toucher));
    }
  }
  const bool is_kernel = accesses.size() == 0;
  timeline_.enqueue(context.handle, stream, duration,
                    [this, handle = context.handle, work = std::move(work),
                     spares_heap = is_kernel || profile_.quirks.copies_check_access] {
                      // Work ends with its context, and with all contexts.
                      const Context* runs_in = contexts_.find(handle);
                      TESSERA_CHECK(runs_in != nullptr && !lost_);
                      // Freed memory of a pool stays mapped with the rest of its block: work that
                      // still uses it does no harm that shows [h200].
                      const Status done = work(*runs_in);
                      const bool is_harmless = spares_heap && !done &&
                                               done.error().reason == Reason::not_mapped &&
                                               is_in_heap(DeviceAddress(done.error().values[0]));
                      if (!done && !is_harmless) {
                        lose(done.error());
                      }
                    });
  return {};
}

Result<const Context*> Machine::need_stream_for_copy(StreamHandle stream) {
  TESSERA_TRY(check_current());
  TESSERA_TRY_ASSIGN(const Context* context, need_stream(stream));
  return context;
}

Toucher Machine::copier(const Context& context, DeviceAddress address, Bytes size) const {
  return copier_of(cpu_reach(context, address, size) != CpuReach::none);
}

CopiedByCpu Machine::copiers(const Context& context, const MemcpyDtodAsyncRequest& request) const {
  const MemcpyDtodRequest& copy = request.copy;
  const bool is_idle = timeline_.free_at(context.handle, request.stream) <= timeline_.now();
  const auto block = space_.block_at(copy.destination);
  const bool is_to_managed = block && block->kind == BlockKind::legacy &&
                             legacy_[block->index].kind == LegacyKind::managed;
  return copied_by_cpu(cpu_reach(context, copy.destination, copy.size),
                       cpu_reach(context, copy.source, copy.size),
                       is_idle && copy.size <= idle_read_max && !is_to_managed);
}

Status Machine::wait_for_stream(StreamHandle stream) {
  timeline_.advance_to(timeline_.stream_end(contexts_.current_handle(), stream));
  return check_not_lost();
}

Status Machine::memcpy_htod_async(const MemcpyHtodAsyncRequest& request) {
  const MemcpyHtodRequest copy = request.copy;
  if (copy.source.data() == nullptr && !copy.source.empty()) {
    return invalid(Reason::null_pointer);
  }
  const Bytes size(copy.source.size());
  TESSERA_TRY_ASSIGN(const Context* runs_in, need_stream_for_copy(request.stream));
  const Toucher by = copier(*runs_in, copy.destination, size);
  TESSERA_TRY(enqueue(*runs_in, request.stream, duration_of(Call::memcpy_htod_async, size),
                      {{copy.destination, size, AccessFlags::read_write, by}},
                      [this, copy, by](const Context& context) {
                        return write_bytes(context, copy.destination, copy.source, by);
                      }));
  return by == Toucher::copy_by_cpu ? wait_for_stream(request.stream) : Status();
}

Status Machine::memcpy_dtoh_async(const MemcpyDtohAsyncRequest& request) {
  const MemcpyDtohRequest copy = request.copy;
  if (copy.destination.data() == nullptr && !copy.destination.empty()) {
    return invalid(Reason::null_pointer);
  }
  const Bytes size(copy.destination.size());
  TESSERA_TRY_ASSIGN(const Context* runs_in, need_stream_for_copy(request.stream));
  const Toucher by = copier(*runs_in, copy.source, size);
  TESSERA_TRY(enqueue(*runs_in, request.stream, duration_of(Call::memcpy_dtoh_async, size),
                      {{copy.source, size, AccessFlags::read, by}},
                      [this, copy, by](const Context& context) {
                        return read_bytes(context, copy.source, copy.destination, by);
                      }));
  return by == Toucher::copy_by_cpu ? wait_for_stream(request.stream) : Status();
}

Status Machine::memcpy_dtod_async(const MemcpyDtodAsyncRequest& request) {
  const MemcpyDtodRequest copy = request.copy;
  TESSERA_TRY_ASSIGN(const Context* runs_in, need_stream_for_copy(request.stream));
  const CopiedByCpu by = copiers(*runs_in, request);
  const Toucher writer = copier_of(by.destination);
  const Toucher reader = copier_of(by.source);
  const std::uint64_t duration = duration_of(Call::memcpy_dtod_async, copy.size);
  if (by.source && !by.destination && copy.size <= staged_copy_max) {
    std::vector<std::byte> staged(copy.size.value());
    // What is wrong with the source is said below, after what is with the destination.
    if (read_bytes(*runs_in, copy.source, staged, reader)) {
      return enqueue(*runs_in, request.stream, duration,
                     {{copy.destination, copy.size, AccessFlags::read_write, writer}},
                     [this, copy, writer, bytes = std::move(staged)](const Context& context) {
                       return write_bytes(context, copy.destination, bytes, writer);
                     });
    }
  }
  TESSERA_TRY(
      enqueue(*runs_in, request.stream, duration,
              {{copy.destination, copy.size, AccessFlags::read_write, writer},
               {copy.source, copy.size, AccessFlags::read, reader}},
              [this, copy, by](const Context& context) { return copy_bytes(context, copy, by); }));
  return by.destination || by.source ? wait_for_stream(request.stream) : Status();
}

Status Machine::memset_d8_async(const MemsetD8AsyncRequest& request) {
  const MemsetD8Request set = request.set;
  TESSERA_TRY_ASSIGN(const Context* runs_in, need_stream(request.stream));
  return enqueue(*runs_in, request.stream, duration_of(Call::memset_d8_async, set.size),
                 {{set.destination, set.size, AccessFlags::read_write, Toucher::fill}},
                 [this, set](const Context& context) { return fill_bytes(context, set); });
}

Status Machine::memcpy_htod(const MemcpyHtodRequest& request) {
  TESSERA_TRY(memcpy_htod_async({.copy = request}));
  // Nothing is copied at once, without waiting [h200].
  return request.source.empty() ? Status() : stream_synchronize(StreamHandle());
}

Status Machine::memcpy_dtoh(const MemcpyDtohRequest& request) {
  TESSERA_TRY(memcpy_dtoh_async({.copy = request}));
  return request.destination.empty() ? Status() : stream_synchronize(StreamHandle());
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
  // A kernel is loaded for the current context, and runs in its streams alone [h200].
  TESSERA_TRY_ASSIGN(const Context* current, need_context());
  TESSERA_TRY_ASSIGN(const Context* runs_in, need_stream(request.stream));
  if (runs_in != current) {
    return refuse(ErrorCode::invalid_handle, Reason::stream_of_other_context,
                  request.stream.value(), current->handle.value());
  }
  const std::uint64_t cost = duration_of(Call::launch_touch, Bytes());
  constexpr std::uint64_t longest = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t duration =
      request.duration_ns > longest - cost ? longest : request.duration_ns + cost;
  return enqueue(*runs_in, request.stream, duration, {},
                 [this, request](const Context& context) { return touch(context, request); });
}

}  // namespace tessera::sim
