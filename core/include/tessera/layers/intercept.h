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

namespace detail {
template <class Method>
struct MethodTypes;
template <class AnswerOf>
struct MethodTypes<AnswerOf (Driver::*)()> {
  using Answer = AnswerOf;
  using Request = NoRequest;
};
template <class AnswerOf, class ArgumentOf>
struct MethodTypes<AnswerOf (Driver::*)(ArgumentOf)> {
  using Answer = AnswerOf;
  using Argument = ArgumentOf;
  using Request = std::remove_cvref_t<ArgumentOf>;
};
}  // namespace detail

// Answer: what the call's method gives. Argument: what it takes, as it is declared. Request: its
// type, NoRequest for calls that take nothing.
template <Call call>
struct CallTypes;
#define TESSERA_CALL(method, cuda_name) \
  template <>                           \
  struct CallTypes<Call::method> : detail::MethodTypes<decltype(&Driver::method)> {};
#include "tessera/calls.def"
#undef TESSERA_CALL

// Lets the methods reach a layer's `around`, which is private to everybody else.
struct InterceptAccess {
  template <Call call, class Layer, class Request, class Forward>
  static std::invoke_result_t<Forward> around(Layer& layer, const Request& request,
                                              Forward forward) {
    return layer.template around<call>(request, std::move(forward));
  }
};

// One class with all methods: a chain of one class a call, made from calls.def, takes g++ 20
// seconds where it warns of hidden virtual functions. The checks below say when a method is
// missing.
template <class Layer>
class InterceptingDriver : public DriverWrapper {
 public:
#define TESSERA_INTERCEPT_NOTHING(method) CallTypes<Call::method>::Answer method() final;
#define TESSERA_INTERCEPT(method) \
  CallTypes<Call::method>::Answer method(CallTypes<Call::method>::Argument argument) final;
#include "tessera/layers/intercept_methods.def"
#undef TESSERA_INTERCEPT
#undef TESSERA_INTERCEPT_NOTHING

 protected:
  using DriverWrapper::DriverWrapper;
};

// Defined outside the class, so that they are not inline: those are compiled wherever they are
// called, whatever `extern template` says.
#define TESSERA_INTERCEPT_NOTHING(method)                               \
  template <class Layer>                                                \
  CallTypes<Call::method>::Answer InterceptingDriver<Layer>::method() { \
    using Answer = CallTypes<Call::method>::Answer;                     \
    return InterceptAccess::around<Call::method>(                       \
        static_cast<Layer&>(*this), NoRequest{},                        \
        [this]() -> Answer { return this->target().method(); });        \
  }
#define TESSERA_INTERCEPT(method)                                                   \
  template <class Layer>                                                            \
  CallTypes<Call::method>::Answer InterceptingDriver<Layer>::method(                \
      CallTypes<Call::method>::Argument argument) {                                 \
    using Answer = CallTypes<Call::method>::Answer;                                 \
    return InterceptAccess::around<Call::method>(                                   \
        static_cast<Layer&>(*this), argument,                                       \
        [this, &argument]() -> Answer { return this->target().method(argument); }); \
  }
#include "tessera/layers/intercept_methods.def"
#undef TESSERA_INTERCEPT
#undef TESSERA_INTERCEPT_NOTHING

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
