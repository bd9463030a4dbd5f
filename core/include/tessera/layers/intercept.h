// InterceptingDriver: what a layer derives from that does the same around every call. A layer has
// one function template, and each of Driver's methods goes through it:
//
//   class Layer final : public InterceptingDriver<Layer> {
//     friend InterceptAccess;
//     template <Call call, class Request, class Forward>
//     std::invoke_result_t<Forward> around(const Request& request, Forward forward);
//   };
//   extern template class InterceptingDriver<Layer>;  // after the class; the source instantiates
//   it
//
// `request` is the very object that the caller gave (NoRequest for calls that take nothing), and
// `forward()` makes the call below and gives its answer: a layer may leave it out. With the
// `extern template`, `around` can be written in the layer's source.
#pragma once

#include <type_traits>
#include <utility>

#include "tessera/driver.h"

namespace tessera {

// The request of a call that takes nothing.
struct NoRequest {};

// What a method of Driver takes (as it is declared; void for nothing) and gives.
template <class Method>
struct MethodTypes;
template <class AnswerOf>
struct MethodTypes<AnswerOf (Driver::*)()> {
  using Answer = AnswerOf;
  using Argument = void;
};
template <class AnswerOf, class ArgumentOf>
struct MethodTypes<AnswerOf (Driver::*)(ArgumentOf)> {
  using Answer = AnswerOf;
  using Argument = ArgumentOf;
};

// Lets the methods reach a layer's `around`, which is private to everybody else.
struct InterceptAccess {
  template <Call call, class Layer, class Request, class Forward>
  static std::invoke_result_t<Forward> around(Layer& layer, const Request& request,
                                              Forward forward) {
    return layer.template around<call>(request, std::move(forward));
  }
};

// One class with all methods: a chain of one class a call, made from calls.def, takes g++ 20
// seconds where it warns of hidden virtual functions. The checks below say when a method
// is missing.
template <class Layer>
class InterceptingDriver : public DriverWrapper {
 public:
#define TESSERA_INTERCEPT_NOTHING(method)                                   \
  typename MethodTypes<decltype(&Driver::method)>::Answer method() final {  \
    using Answer = typename MethodTypes<decltype(&Driver::method)>::Answer; \
    return InterceptAccess::around<Call::method>(                           \
        static_cast<Layer&>(*this), NoRequest{},                            \
        [this]() -> Answer { return this->target().method(); });            \
  }
#define TESSERA_INTERCEPT(method)                                                   \
  typename MethodTypes<decltype(&Driver::method)>::Answer method(                   \
      typename MethodTypes<decltype(&Driver::method)>::Argument argument) final {   \
    using Answer = typename MethodTypes<decltype(&Driver::method)>::Answer;         \
    return InterceptAccess::around<Call::method>(                                   \
        static_cast<Layer&>(*this), argument,                                       \
        [this, &argument]() -> Answer { return this->target().method(argument); }); \
  }
  TESSERA_INTERCEPT(init)
  TESSERA_INTERCEPT_NOTHING(driver_get_version)
  TESSERA_INTERCEPT_NOTHING(device_get_count)
  TESSERA_INTERCEPT(device_get_name)
  TESSERA_INTERCEPT(device_total_mem)
  TESSERA_INTERCEPT(device_get_attribute)
  TESSERA_INTERCEPT(device_can_access_peer)
  TESSERA_INTERCEPT(device_primary_ctx_retain)
  TESSERA_INTERCEPT(device_primary_ctx_release)
  TESSERA_INTERCEPT(device_primary_ctx_reset)
  TESSERA_INTERCEPT(ctx_create)
  TESSERA_INTERCEPT(ctx_destroy)
  TESSERA_INTERCEPT(ctx_set_current)
  TESSERA_INTERCEPT_NOTHING(ctx_get_current)
  TESSERA_INTERCEPT_NOTHING(ctx_synchronize)
  TESSERA_INTERCEPT(ctx_enable_peer_access)
  TESSERA_INTERCEPT(ctx_set_limit)
  TESSERA_INTERCEPT(ctx_get_limit)
  TESSERA_INTERCEPT(mem_get_allocation_granularity)
  TESSERA_INTERCEPT(mem_address_reserve)
  TESSERA_INTERCEPT(mem_address_free)
  TESSERA_INTERCEPT(mem_create)
  TESSERA_INTERCEPT(mem_release)
  TESSERA_INTERCEPT(mem_get_allocation_properties_from_handle)
  TESSERA_INTERCEPT(mem_retain_allocation_handle)
  TESSERA_INTERCEPT(mem_export_to_shareable_handle)
  TESSERA_INTERCEPT(mem_import_from_shareable_handle)
  TESSERA_INTERCEPT(mem_map)
  TESSERA_INTERCEPT(mem_unmap)
  TESSERA_INTERCEPT(mem_set_access)
  TESSERA_INTERCEPT(mem_get_access)
  TESSERA_INTERCEPT(mem_alloc)
  TESSERA_INTERCEPT(mem_alloc_pitch)
  TESSERA_INTERCEPT(mem_alloc_managed)
  TESSERA_INTERCEPT(mem_free)
  TESSERA_INTERCEPT(mem_alloc_async)
  TESSERA_INTERCEPT(mem_free_async)
  TESSERA_INTERCEPT(mem_host_alloc)
  TESSERA_INTERCEPT(mem_free_host)
  TESSERA_INTERCEPT_NOTHING(mem_get_info)
  TESSERA_INTERCEPT(mem_get_address_range)
  TESSERA_INTERCEPT(pointer_get_attribute)
  TESSERA_INTERCEPT(mem_get_handle_for_address_range)
  TESSERA_INTERCEPT(memcpy_htod)
  TESSERA_INTERCEPT(memcpy_dtoh)
  TESSERA_INTERCEPT(memcpy_dtod)
  TESSERA_INTERCEPT(memset_d8)
  TESSERA_INTERCEPT(memcpy_htod_async)
  TESSERA_INTERCEPT(memcpy_dtoh_async)
  TESSERA_INTERCEPT(memcpy_dtod_async)
  TESSERA_INTERCEPT(memset_d8_async)
  TESSERA_INTERCEPT(stream_create)
  TESSERA_INTERCEPT(stream_destroy)
  TESSERA_INTERCEPT(stream_synchronize)
  TESSERA_INTERCEPT(stream_wait_event)
  TESSERA_INTERCEPT(event_create)
  TESSERA_INTERCEPT(event_record)
  TESSERA_INTERCEPT(event_query)
  TESSERA_INTERCEPT(event_synchronize)
  TESSERA_INTERCEPT(event_destroy)
  TESSERA_INTERCEPT(launch_touch)
  TESSERA_INTERCEPT(multicast_create)
  TESSERA_INTERCEPT(multicast_add_device)
  TESSERA_INTERCEPT(multicast_bind_mem)
  TESSERA_INTERCEPT(multicast_bind_addr)
  TESSERA_INTERCEPT(multicast_unbind)
  TESSERA_INTERCEPT(multicast_get_granularity)
#undef TESSERA_INTERCEPT
#undef TESSERA_INTERCEPT_NOTHING

 protected:
  using DriverWrapper::DriverWrapper;
};

namespace detail {

struct InterceptNothing;
template <class Method>
struct IsIntercepted : std::false_type {};
template <class Answer, class... Arguments>
struct IsIntercepted<Answer (InterceptingDriver<InterceptNothing>::*)(Arguments...)>
    : std::true_type {};

#define TESSERA_CALL(method, cuda_name)                                                        \
  static_assert(IsIntercepted<decltype(&InterceptingDriver<InterceptNothing>::method)>::value, \
                "InterceptingDriver lacks " #method);
#include "tessera/calls.def"
#undef TESSERA_CALL

}  // namespace detail

}  // namespace tessera
