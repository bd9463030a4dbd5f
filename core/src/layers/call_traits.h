// What a call takes and gives, for code that treats all calls alike.
#pragma once

#include <type_traits>

#include "tessera/driver.h"

namespace tessera::layers {

// Picks an overload by the call.
template <Call call>
using CallTag = std::integral_constant<Call, call>;

// Stands for the argument of calls that have none.
struct NoArgument {};

template <auto method>
struct MethodTraits;
template <class AnswerType, AnswerType (Driver::*method)()>
struct MethodTraits<method> {
  using Answer = AnswerType;
  using Argument = NoArgument;
  static Answer forward(Driver& target, const NoArgument&) { return (target.*method)(); }
};
template <class AnswerType, class ArgumentType, AnswerType (Driver::*method)(ArgumentType)>
struct MethodTraits<method> {
  using Answer = AnswerType;
  using Argument = std::decay_t<ArgumentType>;
  static Answer forward(Driver& target, const Argument& argument) {
    return (target.*method)(argument);
  }
};

template <Call call>
struct CallTraits;
#define TESSERA_CALL(method, cuda_name) \
  template <>                           \
  struct CallTraits<Call::method> : MethodTraits<&Driver::method> {};
#include "tessera/calls.def"
#undef TESSERA_CALL

}  // namespace tessera::layers
