#include "tessera/result.h"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace tessera {
namespace {

using test::fails_with;
using test::is_ok;
using test::is_ok_and_holds;
using testing::Not;

constexpr Error some_error = {.code = ErrorCode::out_of_memory,
                              .call = Call::mem_create,
                              .origin = Origin::injected,
                              .values = {1, 2, 3}};

using Pointer = std::unique_ptr<int>;

Result<int> half(int value) {
  if (value % 2 != 0) {
    return Error{.code = ErrorCode::invalid_value};
  }
  return value / 2;
}

static_assert(std::is_same_v<Result<int>::value_type, int>);
static_assert(std::is_same_v<Result<int>::error_type, Error>);
static_assert(std::is_same_v<Status, Result<void>>);
static_assert(std::is_void_v<Status::value_type>);
static_assert(std::is_same_v<Status::error_type, Error>);
static_assert(!std::is_convertible_v<Result<int>, bool>, "only in conditions");
static_assert(!std::is_convertible_v<Result<int>, int>);
static_assert(!std::is_copy_constructible_v<Result<Pointer>>);
static_assert(std::is_nothrow_move_constructible_v<Result<Pointer>>);
// It can be made and read at compile time.
constexpr Result<int> constant_value = 7;
constexpr Result<int> constant_error = some_error;
static_assert(constant_value.value() == 7 && *constant_value == 7);
static_assert(constant_error.error().code == ErrorCode::out_of_memory);
static_assert(constant_error.value_or(8) == 8);
static_assert(Status().has_value() && !Status(some_error));

TEST(Result, HoldsAValue) {
  Result<int> result = 7;
  EXPECT_TRUE(result.has_value());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(result.value(), 7);
  EXPECT_EQ(*result, 7);
  *result = 8;
  EXPECT_EQ(result.value(), 8);
  result.value() = 9;
  EXPECT_EQ(std::as_const(result).value(), 9);
  EXPECT_EQ(*std::as_const(result), 9);
}

TEST(Result, HoldsAnError) {
  const Result<int> result = some_error;
  EXPECT_FALSE(result.has_value());
  EXPECT_FALSE(static_cast<bool>(result));
  EXPECT_EQ(result.error(), some_error);
}

TEST(Result, HoldsWhatCouldBeTakenForAnError) {
  EXPECT_TRUE(Result<bool>(false).has_value());
  EXPECT_TRUE(Result<int>(0).has_value());
  EXPECT_TRUE(Result<Pointer>(nullptr).has_value());
  EXPECT_TRUE(Result<ErrorCode>(ErrorCode::unknown).has_value());
}

TEST(Result, GivesMembersOfItsValue) {
  Result<std::string> text = std::string("tile");
  EXPECT_EQ(text->size(), 4U);
  text->push_back('s');
  EXPECT_EQ(std::as_const(text)->back(), 's');
}

TEST(Result, ChangesByAssignment) {
  Result<int> result = 7;
  result = some_error;
  EXPECT_THAT(result, fails_with(ErrorCode::out_of_memory));
  result = 8;
  EXPECT_THAT(result, is_ok_and_holds(8));
}

TEST(Result, GivesUpItsValueWhenMoved) {
  Result<Pointer> result = std::make_unique<int>(7);
  EXPECT_EQ(**result, 7);
  static_assert(std::is_same_v<decltype(std::move(result).value()), Pointer&&>);
  static_assert(std::is_same_v<decltype(*std::move(result)), Pointer&&>);
  Result<Pointer> moved = std::move(result);
  const Pointer first = std::move(moved).value();
  EXPECT_EQ(*first, 7);
  Result<Pointer> second = std::make_unique<int>(8);
  EXPECT_EQ(*Pointer(*std::move(second)), 8);
}

TEST(Result, FallsBackOnAnotherValue) {
  EXPECT_EQ(Result<int>(7).value_or(9), 7);
  EXPECT_EQ(Result<int>(some_error).value_or(9), 9);
  EXPECT_EQ(Result<std::string>(some_error).value_or("none"), "none");
  const Result<std::string> kept = std::string("tile");
  EXPECT_EQ(kept.value_or("none"), "tile");
  EXPECT_EQ(kept.value(), "tile");
}

TEST(Result, GoesOnWithAndThen) {
  EXPECT_THAT(half(12).and_then(half), is_ok_and_holds(3));
  EXPECT_THAT(half(6).and_then(half), fails_with(ErrorCode::invalid_value));
  bool called = false;
  const Status status = Result<int>(some_error).and_then([&](int) {
    called = true;
    return Status();
  });
  EXPECT_EQ(status.error(), some_error);
  EXPECT_FALSE(called);
}

TEST(Result, TransformsItsValue) {
  const auto to_text = [](int value) { return std::to_string(value); };
  EXPECT_THAT(half(14).transform(to_text), is_ok_and_holds("7"));
  EXPECT_THAT(half(7).transform(to_text), fails_with(ErrorCode::invalid_value));
}

TEST(Result, HandsMoveOnlyValuesOn) {
  const auto add_one = [](Pointer&& value) { return std::make_unique<int>(*value + 1); };
  auto sum = Result<Pointer>(std::make_unique<int>(7)).transform(add_one).transform(add_one);
  ASSERT_THAT(sum, is_ok());
  EXPECT_EQ(**sum, 9);
  auto value = std::move(sum).and_then([](Pointer&& moved) -> Result<int> { return *moved; });
  EXPECT_THAT(value, is_ok_and_holds(9));
}

TEST(Status, Succeeds) {
  const Status status;
  EXPECT_TRUE(status.has_value());
  EXPECT_TRUE(static_cast<bool>(status));
}

TEST(Status, HoldsAnError) {
  const Status status = some_error;
  EXPECT_FALSE(status.has_value());
  EXPECT_EQ(status.error(), some_error);
}

TEST(Status, GoesOnWithAndThen) {
  EXPECT_THAT(Status().and_then([] { return half(4); }), is_ok_and_holds(2));
  bool called = false;
  const auto next = [&] {
    called = true;
    return Status();
  };
  EXPECT_THAT(Status(some_error).and_then(next), fails_with(ErrorCode::out_of_memory));
  EXPECT_FALSE(called);
}

Status try_both(int first, int second, int& steps) {
  TESSERA_TRY(half(first));
  ++steps;
  TESSERA_TRY(half(second).and_then(half));
  ++steps;
  return {};
}

TEST(Try, ReturnsTheFirstError) {
  int steps = 0;
  EXPECT_THAT(try_both(1, 4, steps), fails_with(ErrorCode::invalid_value));
  EXPECT_EQ(steps, 0);
  EXPECT_THAT(try_both(2, 2, steps), fails_with(ErrorCode::invalid_value));
  EXPECT_EQ(steps, 1);
  EXPECT_THAT(try_both(2, 4, steps), is_ok());
  EXPECT_EQ(steps, 3);
}

TEST(Try, IsOneStatement) {
  const auto only_if = [](bool wanted, int value) -> Status {
    if (wanted)
      TESSERA_TRY(half(value));
    else
      TESSERA_TRY(half(value + 1));
    return {};
  };
  EXPECT_THAT(only_if(true, 1), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(only_if(true, 2), is_ok());
  EXPECT_THAT(only_if(false, 2), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(only_if(false, 1), is_ok());
}

TEST(Try, EvaluatesItsExpressionOnce) {
  int evaluations = 0;
  const auto count = [&]() -> Result<int> { return ++evaluations; };
  const auto run = [&]() -> Result<int> {
    TESSERA_TRY(count());
    TESSERA_TRY_ASSIGN(const int value, count());
    return value;
  };
  EXPECT_THAT(run(), is_ok_and_holds(2));
  EXPECT_EQ(evaluations, 2);
}

Result<std::string> describe_quarter(int value) {
  TESSERA_TRY_ASSIGN(const int first, half(value));
  int second = 0;
  TESSERA_TRY_ASSIGN(second, half(first));
  return std::to_string(second);  // another type than what was tried
}

TEST(TryAssign, PutsTheValueIntoItsTarget) {
  EXPECT_THAT(describe_quarter(12), is_ok_and_holds("3"));
  EXPECT_THAT(describe_quarter(6), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(describe_quarter(3), fails_with(ErrorCode::invalid_value));
}

TEST(TryAssign, MovesTheValue) {
  const auto make = [](bool works) -> Result<Pointer> {
    if (!works) {
      return some_error;
    }
    return std::make_unique<int>(7);
  };
  const auto run = [&](bool works) -> Result<int> {
    TESSERA_TRY_ASSIGN(const Pointer made, make(works));
    return *made;
  };
  EXPECT_THAT(run(true), is_ok_and_holds(7));
  const auto failed = run(false);
  ASSERT_THAT(failed, fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(failed.error(), some_error) << "all of the error is handed on";
}

TEST(ResultDeathTest, HasEitherValueOrError) {
  Result<int> failed = some_error;
  const Result<int> worked = 7;
  Result<std::string> text = some_error;
  EXPECT_DEATH(static_cast<void>(failed.value()), "check failed: value != nullptr");
  EXPECT_DEATH(static_cast<void>(*failed), "check failed: value != nullptr");
  EXPECT_DEATH(static_cast<void>(*std::as_const(failed)), "check failed: value != nullptr");
  EXPECT_DEATH(static_cast<void>(std::move(failed).value()), "check failed: value != nullptr");
  EXPECT_DEATH(static_cast<void>(text->size()), "check failed: value != nullptr");
  EXPECT_DEATH(static_cast<void>(worked.error()), "check failed: error != nullptr");
  EXPECT_DEATH(static_cast<void>(Status().error()), "check failed: failed_");
}

TEST(ResultMatchers, TellSuccessFromFailure) {
  EXPECT_THAT(half(2), is_ok());
  EXPECT_THAT(half(1), Not(is_ok()));
  EXPECT_THAT(Status(), is_ok());
  EXPECT_THAT(half(4), is_ok_and_holds(testing::Gt(1)));
  EXPECT_THAT(half(4), Not(is_ok_and_holds(3)));
  EXPECT_THAT(half(1), Not(is_ok_and_holds(0)));
  EXPECT_THAT(half(1), Not(fails_with(ErrorCode::unknown)));
  EXPECT_THAT(half(2), Not(fails_with(ErrorCode::invalid_value)));
}

TEST(ResultMatchers, SayWhatTheyWant) {
  EXPECT_EQ(testing::DescribeMatcher<Result<int>>(is_ok_and_holds(3)),
            "holds a value that is equal to 3");
  EXPECT_EQ(testing::DescribeMatcher<Status>(fails_with(ErrorCode::unknown)), "fails with UNKNOWN");
  EXPECT_EQ(testing::PrintToString(Result<int>(3)), "3");
  EXPECT_EQ(testing::PrintToString(Status(some_error)),
            "the error \"mem_create: OUT_OF_MEMORY (2) from fault injection\"");
}

}  // namespace
}  // namespace tessera
