#include "support/forwarding.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::test {
namespace {

using testing::Mock;

std::byte some_byte{};

// A value that no default is equal to.
template <class T>
T sample(std::type_identity<T> /*type*/) {
  if constexpr (std::is_same_v<T, bool>) {
    return true;
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(41);
  } else if constexpr (!std::is_aggregate_v<T>) {
    return T(41);
  } else {
    return T{};  // requests: that they are the same object is all that is asked
  }
}
std::string sample(std::type_identity<std::string> /*type*/) { return "a tile of a mosaic"; }
std::byte* sample(std::type_identity<std::byte*> /*type*/) { return &some_byte; }
AddressRange sample(std::type_identity<AddressRange> /*type*/) {
  return {DeviceAddress(41), Bytes(43)};
}
AllocationProperties sample(std::type_identity<AllocationProperties> /*type*/) {
  return {.location = {.id = 41}, .usage = 43};
}
ShareableHandle sample(std::type_identity<ShareableHandle> /*type*/) {
  return {.file_descriptor = 41, .win32 = 43};
}
PitchedAllocation sample(std::type_identity<PitchedAllocation> /*type*/) {
  return {.address = DeviceAddress(41), .pitch = Bytes(43)};
}
MemoryInfo sample(std::type_identity<MemoryInfo> /*type*/) {
  return {.free = Bytes(41), .total = Bytes(43)};
}

template <class T>
bool is_same_value(const T& left, const T& right) {
  return left == right;
}
bool is_same_value(const ShareableHandle& left, const ShareableHandle& right) {
  return left.type == right.type && left.file_descriptor == right.file_descriptor &&
         left.win32 == right.win32 && left.fabric == right.fabric;
}
bool is_same_value(const PitchedAllocation& left, const PitchedAllocation& right) {
  return left.address == right.address && left.pitch == right.pitch;
}

template <class T>
void expect_same(const Result<T>& got, const Result<T>& given) {
  ASSERT_EQ(got.has_value(), given.has_value());
  if (!given) {
    EXPECT_EQ(got.error(), given.error());
  } else if constexpr (!std::is_void_v<T>) {
    EXPECT_TRUE(is_same_value(got.value(), given.value()));
  }
}

template <class T>
Result<T> success(std::type_identity<Result<T>> /*type*/) {
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return sample(std::type_identity<T>());
  }
}

// One call: what is given, and what the driver behind the wrapper answers.
template <class Method>
class Forwarding;

template <class Answer>
class Forwarding<Answer (Driver::*)()> {
 public:
  explicit Forwarding(Answer answer) : answer_(std::move(answer)) {}
  auto action() {
    return [this]() -> Answer { return answer_; };
  }
  void call(Driver& wrapper, Answer (Driver::*method)()) {
    expect_same((wrapper.*method)(), answer_);
  }

 private:
  Answer answer_;
};

template <class Answer, class Argument>
class Forwarding<Answer (Driver::*)(Argument)> {
 public:
  explicit Forwarding(Answer answer) : answer_(std::move(answer)) {}
  auto action() {
    return [this](Argument argument) -> Answer {
      if constexpr (std::is_reference_v<Argument>) {
        EXPECT_EQ(&argument, &given_);
      } else {
        EXPECT_EQ(argument, given_);
      }
      return answer_;
    };
  }
  void call(Driver& wrapper, Answer (Driver::*method)(Argument)) {
    expect_same((wrapper.*method)(given_), answer_);
  }

 private:
  using Given = std::remove_cvref_t<Argument>;
  Given given_ = sample(std::type_identity<Given>());
  Answer answer_;
};

template <class Answer, class... Arguments>
Answer success_of(Answer (Driver::* /*method*/)(Arguments...)) {
  return success(std::type_identity<Answer>());
}

// Calls `method` of `forwarder` with each kind of answer. `expect` makes `target` expect one call.
template <class Method, class Expect>
void check_method(MockDriver& target, Driver& forwarder, Method method, Expect expect) {
  const Error error = {.code = ErrorCode::out_of_memory,
                       .call = Call::mem_map,  // not always the method's own: it is kept
                       .origin = Origin::injected,
                       .reason = Reason::size_is_zero,
                       .rule = RuleId{41},
                       .values = {1, 2, 3}};
  for (const auto& answer : {success_of(method), decltype(success_of(method))(error)}) {
    Forwarding<Method> forwarding(answer);
    expect(forwarding);
    forwarding.call(forwarder, method);
    EXPECT_TRUE(Mock::VerifyAndClearExpectations(&target)) << "not called exactly once";
  }
}

// Calls `method` with a sample, and expects this error.
template <class Answer>
void expect_error(Driver& driver, Answer (Driver::*method)(), const Error& error) {
  expect_same((driver.*method)(), Answer(error));
}
template <class Answer, class Argument>
void expect_error(Driver& driver, Answer (Driver::*method)(Argument), const Error& error) {
  using Given = std::remove_cvref_t<Argument>;
  expect_same((driver.*method)(sample(std::type_identity<Given>())), Answer(error));
}

}  // namespace

void check_every_method(MockDriver& target, Driver& forwarder) {
#define TESSERA_CALL(method, cuda_name)                                            \
  {                                                                                \
    SCOPED_TRACE(#method);                                                         \
    check_method(target, forwarder, &Driver::method, [&target](auto& forwarding) { \
      EXPECT_CALL(target, method).WillOnce(forwarding.action());                   \
    });                                                                            \
  }
#include "tessera/calls.def"
#undef TESSERA_CALL
}

void expect_error_of_every_method(Driver& driver, const std::function<Error(Call)>& error_before,
                                  const std::function<void(Call)>& after) {
#define TESSERA_CALL(method, cuda_name)                                \
  {                                                                    \
    SCOPED_TRACE(#method);                                             \
    expect_error(driver, &Driver::method, error_before(Call::method)); \
    after(Call::method);                                               \
  }
#include "tessera/calls.def"
#undef TESSERA_CALL
}

}  // namespace tessera::test
