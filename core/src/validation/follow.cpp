#include "validation/follow.h"

#include <bit>

#include "validation/cpu_copies.h"

namespace tessera::validation {
namespace {

// Where a stream's work runs; of a stream that is not known, the current context is taken for it.
ContextHandle runs_in(const LiveObjects& objects, StreamHandle stream) {
  const auto context = objects.context_of(stream);
  return (context ? context : objects.current_context()).value_or(ContextHandle());
}

void queue(const LiveObjects& objects, WorkTracker& work, const MadeBy& by, StreamHandle stream,
           DeviceAddress address, Bytes size) {
  if (const auto range = AddressRange::make(address, size)) {
    work.enqueue(runs_in(objects, stream), stream, *range, by);
  }
}

// A side of a copy. What only the CPU can copy it has copied when the call returns. That the call
// waited for the CPU to write is what one driver does, and no proof.
void queue_copied(const LiveObjects& objects, WorkTracker& work, const MadeBy& by,
                  StreamHandle stream, DeviceAddress address, Bytes size) {
  const ContextHandle context = runs_in(objects, stream);
  const auto side = AddressRange::make(address, size);
  if (side && cpu_reach(objects, *side, context) != CpuReach::alone) {
    work.enqueue(context, stream, *side, by);
  }
}
void queue_copy(const LiveObjects& objects, WorkTracker& work, const MadeBy& by,
                StreamHandle stream, const MemcpyDtodRequest& copy) {
  queue_copied(objects, work, by, stream, copy.source, copy.size);
  queue_copied(objects, work, by, stream, copy.destination, copy.size);
}

}  // namespace

WorkTracker::Clock proof_of_free(const LiveObjects& objects, const WorkTracker& work,
                                 ContextHandle context) {
  const LiveContext* found = objects.context(context);
  WorkTracker::Clock clock;
  if (found != nullptr) {
    objects.for_each_context([&](ContextHandle other, const LiveContext& entry) {
      if (entry.device == found->device) {
        const WorkTracker::Clock more = work.clock_of_context(other);
        clock.insert(clock.end(), more.begin(), more.end());
      }
    });
  }
  return clock;
}

TESSERA_FOLLOW(stream_create) {
  static_cast<void>(by);
  if (answer) {
    work.add_stream(*answer, runs_in(objects, StreamHandle()),
                    request != StreamFlags::non_blocking);
  }
}
TESSERA_FOLLOW(stream_destroy) {
  static_cast<void>(objects);
  static_cast<void>(by);
  if (answer) {
    work.remove_stream(request);
  }
}
TESSERA_FOLLOW(stream_wait_event) {
  static_cast<void>(by);
  if (answer) {
    work.wait(runs_in(objects, request.stream), request.stream, request.event);
  }
}
TESSERA_FOLLOW(event_record) {
  static_cast<void>(by);
  if (answer) {
    work.record(request.event, runs_in(objects, request.stream), request.stream);
  }
}
TESSERA_FOLLOW(event_destroy) {
  static_cast<void>(objects);
  static_cast<void>(by);
  if (answer) {
    work.remove_event(request);
  }
}

TESSERA_FOLLOW(mem_alloc) {
  static_cast<void>(objects);
  static_cast<void>(by);
  if (answer) {
    work.renew(AddressRange(*answer, request));
  }
}
TESSERA_FOLLOW(mem_alloc_pitch) {
  static_cast<void>(objects);
  static_cast<void>(by);
  if (answer) {
    work.renew(AddressRange(answer->address, answer->pitch * request.height));
  }
}
TESSERA_FOLLOW(mem_alloc_async) {
  if (answer && !answer->is_null()) {
    work.allocate(runs_in(objects, request.stream), request.stream,
                  AddressRange(*answer, request.size), by);
  }
}

// From pageable memory the call returns when the bytes are staged, and the device may still be
// copying [documented: "API synchronization behavior"; h200: an unmap right after it lost the
// contexts]. What the layer did not see mem_host_alloc give counts as pageable.
TESSERA_FOLLOW(memcpy_htod) {
  const DeviceAddress source(std::bit_cast<std::uintptr_t>(request.source.data()));
  const LiveAllocation* pinned = objects.allocation_at(source);
  if (answer && (pinned == nullptr || pinned->kind != OtherMemory::host)) {
    queue_copied(objects, work, by, {}, request.destination, Bytes(request.source.size()));
  }
}
// The default stream's order: the host does not wait for them.
TESSERA_FOLLOW(memcpy_dtod) {
  if (answer) {
    queue_copy(objects, work, by, {}, request);
  }
}
TESSERA_FOLLOW(memset_d8) {
  if (answer) {
    queue(objects, work, by, {}, request.destination, request.size);
  }
}
TESSERA_FOLLOW(memcpy_htod_async) {
  if (answer) {
    queue_copied(objects, work, by, request.stream, request.copy.destination,
                 Bytes(request.copy.source.size()));
  }
}
TESSERA_FOLLOW(memcpy_dtoh_async) {
  if (answer) {
    queue_copied(objects, work, by, request.stream, request.copy.source,
                 Bytes(request.copy.destination.size()));
  }
}
TESSERA_FOLLOW(memcpy_dtod_async) {
  if (answer) {
    queue_copy(objects, work, by, request.stream, request.copy);
  }
}
TESSERA_FOLLOW(memset_d8_async) {
  if (answer) {
    queue(objects, work, by, request.stream, request.set.destination, request.set.size);
  }
}
TESSERA_FOLLOW(launch_touch) {
  if (answer) {
    queue(objects, work, by, request.stream, request.address, Bytes(1));
    if (!request.result.is_null()) {
      queue(objects, work, by, request.stream, request.result, Bytes(1));
    }
  }
}
TESSERA_FOLLOW(ctx_destroy) {
  static_cast<void>(objects);
  static_cast<void>(by);
  if (answer) {
    work.forget_context(request);
  }
}
TESSERA_FOLLOW(device_primary_ctx_release) {
  static_cast<void>(by);
  const LiveContext* primary = objects.primary_of(request);
  if (answer && primary != nullptr && primary->references == 1 && !primary->is_held_elsewhere) {
    work.forget_context(primary->handle);
  }
}
TESSERA_FOLLOW(device_primary_ctx_reset) {
  static_cast<void>(by);
  if (const LiveContext* primary = objects.primary_of(request); answer && primary != nullptr) {
    work.forget_context(primary->handle);
  }
}

}  // namespace tessera::validation
