// Work in streams: copies, fills, kernels; and of copies, who does them and who waits for that.
//
// The CPU can copy what lies on the host. It must where the device has no access; it does where
// both sides are within its reach, and for a little that it reads for an idle stream, unless it
// goes to managed memory. What it reads for a device is staged at the call, unless it is much; for
// all else the call waits [h200].
#include <limits>
#include <utility>

#include "machine.h"

namespace tessera::sim {
namespace {

// [h200: 24,576 bytes are read by the CPU, 24,577 are not]
constexpr Bytes little = 24_KiB;
// [h200: 2 MiB are staged, 3 MiB are not]
constexpr Bytes staged_max = 2_MiB;

}  // namespace

template <class Work>
Status Machine::enqueue(StreamHandle stream, std::uint64_t duration,
                        std::initializer_list<Access> accesses, Work work) {
  TESSERA_TRY(need_context());
  TESSERA_TRY_ASSIGN(const Context* context, need_stream(stream));
  if (profile_.quirks.copies_check_access) {
    for (const Access& access : accesses) {
      TESSERA_TRY(resolve(*context, access.address, access.size, access.needed, access.toucher));
    }
  }
  const bool is_kernel = accesses.size() == 0;
  timeline_.enqueue(context->handle, stream, duration,
                    [this, handle = context->handle, work = std::move(work),
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

Result<Toucher> Machine::copier(StreamHandle stream, DeviceAddress address, Bytes size) {
  TESSERA_TRY(need_context());
  TESSERA_TRY_ASSIGN(const Context* context, need_stream(stream));
  return cpu_reach(*context, address, size) == CpuReach::none ? Toucher::copy_by_device
                                                              : Toucher::copy_by_cpu;
}

Result<Machine::Copiers> Machine::copiers(const MemcpyDtodAsyncRequest& request) {
  TESSERA_TRY(need_context());
  TESSERA_TRY_ASSIGN(const Context* context, need_stream(request.stream));
  const CpuReach destination = cpu_reach(*context, request.copy.destination, request.copy.size);
  const CpuReach source = cpu_reach(*context, request.copy.source, request.copy.size);
  const bool is_idle = timeline_.free_at(context->handle, request.stream) <= timeline_.now();
  const auto block = space_.block_at(request.copy.destination);
  const bool is_managed = block && block->kind == BlockKind::legacy &&
                          legacy_[block->index].kind == LegacyKind::managed;
  const bool reads_a_little = is_idle && request.copy.size <= little && !is_managed;
  const bool cpu_writes = destination == CpuReach::alone ||
                          (destination == CpuReach::shared && source != CpuReach::none);
  const bool cpu_reads =
      source == CpuReach::alone ||
      (source == CpuReach::shared && (destination != CpuReach::none || reads_a_little));
  return Copiers{.destination = cpu_writes ? Toucher::copy_by_cpu : Toucher::copy_by_device,
                 .source = cpu_reads ? Toucher::copy_by_cpu : Toucher::copy_by_device};
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
  TESSERA_TRY_ASSIGN(const Toucher by, copier(request.stream, copy.destination, size));
  TESSERA_TRY(enqueue(request.stream, duration_of(Call::memcpy_htod_async, size),
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
  TESSERA_TRY_ASSIGN(const Toucher by, copier(request.stream, copy.source, size));
  TESSERA_TRY(enqueue(request.stream, duration_of(Call::memcpy_dtoh_async, size),
                      {{copy.source, size, AccessFlags::read, by}},
                      [this, copy, by](const Context& context) {
                        return read_bytes(context, copy.source, copy.destination, by);
                      }));
  return by == Toucher::copy_by_cpu ? wait_for_stream(request.stream) : Status();
}

Status Machine::memcpy_dtod_async(const MemcpyDtodAsyncRequest& request) {
  const MemcpyDtodRequest copy = request.copy;
  TESSERA_TRY_ASSIGN(const Copiers by, copiers(request));
  const std::uint64_t duration = duration_of(Call::memcpy_dtod_async, copy.size);
  const bool is_by_cpu =
      by.destination == Toucher::copy_by_cpu || by.source == Toucher::copy_by_cpu;
  if (is_by_cpu && by.destination == Toucher::copy_by_device && copy.size <= staged_max) {
    const Context& now =
        *contexts_.find(timeline_.stream_context(contexts_.current_handle(), request.stream));
    std::vector<std::byte> staged(copy.size.value());
    // What is wrong with the source is said below, after what is with the destination.
    if (read_bytes(now, copy.source, staged, by.source)) {
      return enqueue(request.stream, duration,
                     {{copy.destination, copy.size, AccessFlags::read_write, by.destination}},
                     [this, copy, by, bytes = std::move(staged)](const Context& context) {
                       return write_bytes(context, copy.destination, bytes, by.destination);
                     });
    }
  }
  TESSERA_TRY(
      enqueue(request.stream, duration,
              {{copy.destination, copy.size, AccessFlags::read_write, by.destination},
               {copy.source, copy.size, AccessFlags::read, by.source}},
              [this, copy, by](const Context& context) { return copy_bytes(context, copy, by); }));
  return is_by_cpu ? wait_for_stream(request.stream) : Status();
}

Status Machine::memset_d8_async(const MemsetD8AsyncRequest& request) {
  const MemsetD8Request set = request.set;
  return enqueue(request.stream, duration_of(Call::memset_d8_async, set.size),
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
  const std::uint64_t cost = duration_of(Call::launch_touch, Bytes());
  constexpr std::uint64_t longest = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t duration =
      request.duration_ns > longest - cost ? longest : request.duration_ns + cost;
  return enqueue(request.stream, duration, {},
                 [this, request](const Context& context) { return touch(context, request); });
}

}  // namespace tessera::sim
