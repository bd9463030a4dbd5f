// The checks: for each call that has rules, what is looked at before it is made, and, where only
// the driver can tell, after it was refused. In files by group; calls without an overload have no
// rules.
#pragma once

#include <optional>
#include <type_traits>

#include "layers/call_tag.h"
#include "validation/inspection.h"

namespace tessera::validation {

using layers::CallTag;

#define TESSERA_CHECK_CALL(method)                    \
  void check(CallTag<Call::method>, Inspection& look, \
             const CallTypes<Call::method>::Request& request)
#define TESSERA_CHECK_ANSWER(method)                                 \
  void check_answer(CallTag<Call::method>, Inspection& look,         \
                    const CallTypes<Call::method>::Request& request, \
                    const CallTypes<Call::method>::Answer& answer)

template <Call call, class Argument>
void check(CallTag<call>, Inspection&, const Argument&) {}
template <Call call, class Argument, class Answer>
void check_answer(CallTag<call>, Inspection&, const Argument&, const Answer&) {}

// The stream or event that a request names; nothing where it names none.
template <class Handle, class Request>
[[nodiscard]] std::optional<Handle> named(const Request& request) noexcept {
  if constexpr (std::is_same_v<Request, Handle>) {
    return request;
  } else if constexpr (std::is_same_v<Handle, StreamHandle> && requires { request.stream; }) {
    return request.stream;
  } else if constexpr (std::is_same_v<Handle, EventHandle> && requires { request.event; }) {
    return request.event;
  } else {
    return std::nullopt;
  }
}

enum class ContextNeed {
  none,
  not_destroyed,  // none may be current, but not one that was destroyed
  live,
};

// What a call does that names `stream`, or none. A stream that was made knows its context; kernels
// are loaded for the current one, and copies look at it [h200].
[[nodiscard]] constexpr ContextNeed context_need(Call call,
                                                 std::optional<StreamHandle> stream) noexcept {
  const bool is_of_current = !stream || is_implicit(*stream);
  switch (call) {
    case Call::mem_alloc:
    case Call::mem_alloc_pitch:
    case Call::mem_alloc_managed:
    case Call::mem_host_alloc:
    case Call::mem_get_info:
    case Call::mem_get_address_range:
    case Call::mem_get_handle_for_address_range:
    case Call::ctx_synchronize:
    case Call::ctx_enable_peer_access:
    case Call::ctx_set_limit:
    case Call::ctx_get_limit:
    case Call::memcpy_htod:
    case Call::memcpy_dtoh:
    case Call::memcpy_dtod:
    case Call::memset_d8:
    case Call::launch_touch:
    case Call::stream_create:
    case Call::event_create:
      return ContextNeed::live;
    case Call::mem_free:
    case Call::mem_free_host:
      return ContextNeed::not_destroyed;
    case Call::memcpy_htod_async:
    case Call::memcpy_dtoh_async:
    case Call::memcpy_dtod_async:
      return is_of_current ? ContextNeed::live : ContextNeed::not_destroyed;
    case Call::mem_alloc_async:
    case Call::mem_free_async:
    case Call::memset_d8_async:
    case Call::stream_synchronize:
    case Call::stream_wait_event:
    case Call::event_record:
      return is_of_current ? ContextNeed::live : ContextNeed::none;
    default:
      return ContextNeed::none;
  }
}

// check_system.cpp
TESSERA_CHECK_CALL(init);
TESSERA_CHECK_CALL(device_get_name);
TESSERA_CHECK_CALL(device_total_mem);
TESSERA_CHECK_CALL(device_get_attribute);
TESSERA_CHECK_CALL(device_can_access_peer);
TESSERA_CHECK_CALL(device_primary_ctx_retain);
TESSERA_CHECK_CALL(device_primary_ctx_release);
TESSERA_CHECK_CALL(device_primary_ctx_reset);
TESSERA_CHECK_CALL(ctx_create);
TESSERA_CHECK_CALL(ctx_destroy);
TESSERA_CHECK_CALL(ctx_set_current);
TESSERA_CHECK_CALL(ctx_enable_peer_access);
TESSERA_CHECK_CALL(ctx_set_limit);
TESSERA_CHECK_CALL(ctx_get_limit);
// check_memory.cpp
TESSERA_CHECK_CALL(mem_get_allocation_granularity);
TESSERA_CHECK_CALL(mem_address_reserve);
TESSERA_CHECK_CALL(mem_address_free);
TESSERA_CHECK_CALL(mem_create);
TESSERA_CHECK_ANSWER(mem_create);
TESSERA_CHECK_CALL(mem_release);
TESSERA_CHECK_CALL(mem_get_allocation_properties_from_handle);
TESSERA_CHECK_CALL(mem_retain_allocation_handle);
// check_sharing.cpp
TESSERA_CHECK_CALL(mem_export_to_shareable_handle);
TESSERA_CHECK_CALL(mem_import_from_shareable_handle);
TESSERA_CHECK_ANSWER(mem_import_from_shareable_handle);
// check_mapping.cpp
TESSERA_CHECK_CALL(mem_map);
TESSERA_CHECK_ANSWER(mem_map);
TESSERA_CHECK_CALL(mem_unmap);
// check_access.cpp
TESSERA_CHECK_CALL(mem_set_access);
TESSERA_CHECK_CALL(mem_get_access);
// check_allocation.cpp
TESSERA_CHECK_CALL(mem_alloc);
TESSERA_CHECK_CALL(mem_alloc_pitch);
TESSERA_CHECK_CALL(mem_alloc_managed);
TESSERA_CHECK_CALL(mem_alloc_async);
TESSERA_CHECK_CALL(mem_host_alloc);
TESSERA_CHECK_CALL(mem_free);
TESSERA_CHECK_CALL(mem_free_async);
TESSERA_CHECK_CALL(mem_free_host);
TESSERA_CHECK_ANSWER(mem_alloc_pitch);
TESSERA_CHECK_ANSWER(mem_free);
TESSERA_CHECK_ANSWER(mem_free_async);
TESSERA_CHECK_ANSWER(mem_free_host);
// check_data.cpp
TESSERA_CHECK_CALL(memcpy_htod);
TESSERA_CHECK_CALL(memcpy_dtoh);
TESSERA_CHECK_CALL(memcpy_dtod);
TESSERA_CHECK_CALL(memset_d8);
TESSERA_CHECK_CALL(memcpy_htod_async);
TESSERA_CHECK_CALL(memcpy_dtoh_async);
TESSERA_CHECK_CALL(memcpy_dtod_async);
TESSERA_CHECK_CALL(memset_d8_async);
TESSERA_CHECK_CALL(launch_touch);
TESSERA_CHECK_CALL(mem_get_handle_for_address_range);
TESSERA_CHECK_ANSWER(memcpy_htod);
TESSERA_CHECK_ANSWER(memcpy_dtoh);
TESSERA_CHECK_ANSWER(memcpy_dtod);
TESSERA_CHECK_ANSWER(memset_d8);
TESSERA_CHECK_ANSWER(memcpy_htod_async);
TESSERA_CHECK_ANSWER(memcpy_dtoh_async);
TESSERA_CHECK_ANSWER(memcpy_dtod_async);
TESSERA_CHECK_ANSWER(memset_d8_async);
TESSERA_CHECK_ANSWER(mem_get_handle_for_address_range);
// check_order.cpp
TESSERA_CHECK_CALL(stream_create);
TESSERA_CHECK_CALL(stream_destroy);
TESSERA_CHECK_CALL(stream_synchronize);
TESSERA_CHECK_CALL(stream_wait_event);
TESSERA_CHECK_CALL(event_create);
TESSERA_CHECK_CALL(event_record);
TESSERA_CHECK_CALL(event_query);
TESSERA_CHECK_CALL(event_synchronize);
TESSERA_CHECK_CALL(event_destroy);
// check_multicast.cpp
TESSERA_CHECK_CALL(multicast_create);
TESSERA_CHECK_CALL(multicast_add_device);
TESSERA_CHECK_CALL(multicast_bind_mem);
TESSERA_CHECK_CALL(multicast_bind_addr);
TESSERA_CHECK_CALL(multicast_unbind);
TESSERA_CHECK_CALL(multicast_get_granularity);

// A stream that can be used: live, or not known to be dead.
bool stream_is_live(Inspection& look, StreamHandle stream);
// Whether the stream's work comes after the mem_alloc_async that gave the memory, as far as known.
bool is_allocated_in_order(Inspection& look, const LiveAllocation& memory, StreamHandle stream);

}  // namespace tessera::validation
