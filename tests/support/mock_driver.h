// MockDriver: a Driver for GoogleMock. A call that no test expects answers not_supported, with the
// call's name in the error, instead of what gmock does for answers without a default: abort.
//
// Its methods are made from calls.def, one class a call, each derived from the one before. A method
// of Driver that the table lacks therefore leaves MockDriver abstract: nothing that uses it
// compiles until the table is complete.
#pragma once

#include <type_traits>

#include <gmock/gmock.h>

#include "tessera/driver.h"

namespace tessera::test {
namespace detail {

template <Call call>
class MockUpTo;
template <>
class MockUpTo<Call::none> : public Driver {};

template <Call call>
using MockBefore = MockUpTo<static_cast<Call>(static_cast<unsigned>(call) - 1)>;

// The call's method, whose type tells what it takes and gives.
template <Call call, class Method>
class MockCall;

#define TESSERA_CALL(method, cuda_name)                                                          \
  template <class Answer>                                                                        \
  class MockCall<Call::method, Answer (Driver::*)()> : public MockBefore<Call::method> {         \
   public:                                                                                       \
    MOCK_METHOD(Answer, method, (), (override));                                                 \
  };                                                                                             \
  template <class Answer, class Argument>                                                        \
  class MockCall<Call::method, Answer (Driver::*)(Argument)> : public MockBefore<Call::method> { \
   public:                                                                                       \
    MOCK_METHOD(Answer, method, (Argument), (override));                                         \
  };                                                                                             \
  template <>                                                                                    \
  class MockUpTo<Call::method> : public MockCall<Call::method, decltype(&Driver::method)> {};
#include "tessera/calls.def"
#undef TESSERA_CALL

}  // namespace detail

class MockDriver : public detail::MockUpTo<static_cast<Call>(call_count - 1)> {
 public:
  MockDriver();
  ~MockDriver() override;

  // Calls without an action of their own go to `target`, which outlives this object.
  void delegate_to(Driver& target);
};

static_assert(!std::is_abstract_v<MockDriver>, "calls.def lacks a method of Driver");

}  // namespace tessera::test
