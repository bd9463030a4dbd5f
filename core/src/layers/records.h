// What each call that was answered changes in the books. Calls without an overload change nothing,
// but for those that end an allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "layers/call_tag.h"
#include "tessera/live_objects.h"

namespace tessera::layers {

struct Unrecorded {};
template <Call call, class Request, class Answer>
Unrecorded record(CallTag<call>, LiveObjects&, const MadeBy&, const Request&, const Answer&) {
  return {};
}

#define TESSERA_RECORD(method)                                                 \
  void record(CallTag<Call::method>, LiveObjects& objects, const MadeBy& made, \
              const CallTypes<Call::method>::Request& request,                 \
              const CallTypes<Call::method>::Answer& answer)

TESSERA_RECORD(device_primary_ctx_retain);
TESSERA_RECORD(device_primary_ctx_release);
TESSERA_RECORD(device_primary_ctx_reset);
TESSERA_RECORD(ctx_create);
TESSERA_RECORD(ctx_destroy);
TESSERA_RECORD(ctx_set_current);
TESSERA_RECORD(ctx_get_current);
TESSERA_RECORD(mem_address_reserve);
TESSERA_RECORD(mem_address_free);
TESSERA_RECORD(mem_create);
TESSERA_RECORD(mem_release);
TESSERA_RECORD(mem_retain_allocation_handle);
TESSERA_RECORD(mem_export_to_shareable_handle);
TESSERA_RECORD(mem_import_from_shareable_handle);
TESSERA_RECORD(mem_map);
TESSERA_RECORD(mem_unmap);
TESSERA_RECORD(mem_set_access);
TESSERA_RECORD(mem_alloc);
TESSERA_RECORD(mem_alloc_pitch);
TESSERA_RECORD(mem_alloc_managed);
TESSERA_RECORD(mem_alloc_async);
TESSERA_RECORD(mem_free_async);
TESSERA_RECORD(mem_host_alloc);
TESSERA_RECORD(mem_get_handle_for_address_range);
TESSERA_RECORD(stream_create);
TESSERA_RECORD(stream_destroy);
TESSERA_RECORD(event_create);
TESSERA_RECORD(event_destroy);
TESSERA_RECORD(multicast_create);
TESSERA_RECORD(multicast_add_device);
TESSERA_RECORD(multicast_bind_mem);
TESSERA_RECORD(multicast_bind_addr);
TESSERA_RECORD(multicast_unbind);

// Calls that wait for the device. No lock is held meanwhile, so another thread may be given the
// same address before the books hear of the end: what such a call ends is taken out before it and
// put back if it fails. Not so the calls that end a context: they end more than could be put back,
// wait seldom, and for work alone, which no other thread's call holds up.
[[nodiscard]] constexpr bool may_wait(Call call) noexcept {
  switch (call) {
    case Call::ctx_synchronize:
    case Call::stream_synchronize:
    case Call::event_synchronize:
    case Call::memcpy_htod:
    case Call::memcpy_dtoh:
    case Call::memcpy_dtod:
    case Call::memset_d8:
    case Call::mem_free:
    case Call::mem_free_host:
      return true;
    default:
      return false;
  }
}

// Calls that end an allocation, and wait: it is taken out before the call.
[[nodiscard]] constexpr bool ends_allocation(Call call) noexcept {
  return call == Call::mem_free || call == Call::mem_free_host;
}
[[nodiscard]] inline DeviceAddress freed_address(DeviceAddress address) noexcept { return address; }
[[nodiscard]] inline DeviceAddress freed_address(const std::byte* memory) noexcept {
  return DeviceAddress(reinterpret_cast<std::uintptr_t>(memory));
}
// What such a call takes out of the books, to be put back if it fails.
[[nodiscard]] std::optional<LiveAllocation> take_out(Call call, LiveObjects& objects,
                                                     const MadeBy& ended, DeviceAddress address);

// Whatever the call: its error may say that a fault has lost the contexts.
inline void note_loss(LiveObjects& objects, const Error& error) noexcept {
  if (means_contexts_lost(error.code) && error.origin != Origin::injected) {
    objects.lose_contexts();
  }
}

// Whether a call can change the books.
template <Call call>
inline constexpr bool is_recorded =
    ends_allocation(call) ||
    !std::is_same_v<Unrecorded,
                    decltype(record(CallTag<call>(), std::declval<LiveObjects&>(),
                                    std::declval<const MadeBy&>(),
                                    std::declval<const typename CallTypes<call>::Request&>(),
                                    std::declval<const typename CallTypes<call>::Answer&>()))>;

}  // namespace tessera::layers
