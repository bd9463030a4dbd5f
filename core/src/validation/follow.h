// What each call does to the books of queued work; told before LiveObjects is. Calls without an
// overload do nothing.
#pragma once

#include "layers/call_tag.h"
#include "validation/work_tracker.h"

namespace tessera::validation {

// What a call proves once it succeeds, taken before it is made: work that other threads queue
// meanwhile is not proven.
template <Call call, class Argument>
WorkTracker::Clock proof_of(layers::CallTag<call>, const LiveObjects& objects, WorkTracker& work,
                            const Argument& request) {
  const ContextHandle context = objects.current_context().value_or(ContextHandle());
  if constexpr (call == Call::ctx_synchronize) {
    return work.clock_of_context(context);
  } else if constexpr (call == Call::stream_synchronize) {
    return work.clock_of(context, request);
  } else if constexpr (call == Call::event_synchronize || call == Call::event_query) {
    return work.clock_of_event(request);
  } else if constexpr (call == Call::memcpy_htod) {
    // A copy of nothing does not wait [h200].
    return request.source.empty() ? WorkTracker::Clock() : work.clock_of(context, StreamHandle());
  } else if constexpr (call == Call::memcpy_dtoh) {
    return request.destination.empty() ? WorkTracker::Clock()
                                       : work.clock_of(context, StreamHandle());
  } else {
    return {};
  }
}
[[nodiscard]] constexpr bool proves(Call call) noexcept {
  switch (call) {
    case Call::ctx_synchronize:
    case Call::stream_synchronize:
    case Call::event_synchronize:
    case Call::event_query:
    case Call::memcpy_htod:
    case Call::memcpy_dtoh:
      return true;
    default:
      return false;
  }
}

// mem_free waits for all work of the device, but for memory of a pool [h200]: what that proves.
[[nodiscard]] WorkTracker::Clock proof_of_free(const LiveObjects& objects, const WorkTracker& work,
                                               ContextHandle context);

template <Call call, class Argument, class Answer>
void follow(layers::CallTag<call>, const LiveObjects&, WorkTracker&, const MadeBy&, const Argument&,
            const Answer&) {}

#define TESSERA_FOLLOW(method)                                                              \
  void follow(layers::CallTag<Call::method>, const LiveObjects& objects, WorkTracker& work, \
              const MadeBy& by, const CallTypes<Call::method>::Request& request,            \
              const CallTypes<Call::method>::Answer& answer)

TESSERA_FOLLOW(mem_alloc);
TESSERA_FOLLOW(mem_alloc_pitch);
TESSERA_FOLLOW(mem_alloc_async);
TESSERA_FOLLOW(stream_create);
TESSERA_FOLLOW(stream_destroy);
TESSERA_FOLLOW(stream_wait_event);
TESSERA_FOLLOW(event_record);
TESSERA_FOLLOW(event_destroy);
TESSERA_FOLLOW(memcpy_htod);
TESSERA_FOLLOW(memcpy_dtod);
TESSERA_FOLLOW(memset_d8);
TESSERA_FOLLOW(memcpy_htod_async);
TESSERA_FOLLOW(memcpy_dtoh_async);
TESSERA_FOLLOW(memcpy_dtod_async);
TESSERA_FOLLOW(memset_d8_async);
TESSERA_FOLLOW(launch_touch);
TESSERA_FOLLOW(ctx_destroy);
TESSERA_FOLLOW(device_primary_ctx_release);
TESSERA_FOLLOW(device_primary_ctx_reset);

}  // namespace tessera::validation
