#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "tessera/buffers/device_vector.h"
#include "unit/core/buffers_support.h"

namespace tessera {
namespace {

using sim::SimMachine;
using test::fails_with;
using test::is_ok;
using test::is_ok_and_holds;
using test::must;

std::vector<std::uint32_t> numbers(std::size_t count, std::uint32_t first = 1) {
  std::vector<std::uint32_t> out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}

template <class T>
std::vector<T> contents_of(const DeviceVector<T>& vector) {
  std::vector<T> out(static_cast<std::size_t>(vector.size()));
  must(vector.copy_to_host(out));
  return out;
}

class DeviceVectorOn : public testing::TestWithParam<const char*> {
 protected:
  DeviceVectorOn() : machine(GetParam()) {}

  DeviceVector<std::uint32_t> make() {
    return must(DeviceVector<std::uint32_t>::make(machine.driver(), {.reserve = 1_MiB}));
  }

  SimMachine machine;
};

TEST_P(DeviceVectorOn, HoldsWhatWasAppended) {
  auto vector = make();
  EXPECT_TRUE(vector.is_empty());
  must(vector.append(numbers(1000)));
  must(vector.push_back(1001));
  must(vector.append({}));
  EXPECT_EQ(vector.size(), 1001U);
  EXPECT_GE(vector.capacity(), 1001U);
  EXPECT_EQ(contents_of(vector), numbers(1001));
  EXPECT_THAT(vector.get(1000), is_ok_and_holds(1001U));
}

TEST_P(DeviceVectorOn, KeepsItsElementsWhenItMoves) {
  auto vector = must(DeviceVector<std::uint32_t>::make(
      machine.driver(), {.reserve = 128_KiB, .growth = GrowthPolicy::exact()}));
  const std::size_t half = (256_KiB).value() / sizeof(std::uint32_t) / 2;
  must(vector.append(numbers(half)));
  const std::uint64_t there = vector.capacity();
  std::size_t count = half;
  while (vector.capacity() == there || vector.buffer().generation() == 1) {
    must(vector.append(numbers(half, static_cast<std::uint32_t>(count) + 1)));
    count += half;
  }
  EXPECT_EQ(vector.address(), vector.buffer().address());
  EXPECT_EQ(contents_of(vector), numbers(count));
  must(vector.release_retired(Quiescence::promised()));
  EXPECT_EQ(contents_of(vector), numbers(count));
}

TEST_P(DeviceVectorOn, NewElementsAreZero) {
  auto vector = make();
  must(vector.append(numbers(100)));
  must(vector.resize(10));
  must(vector.resize(100));
  std::vector<std::uint32_t> expected(100);
  std::iota(expected.begin(), expected.begin() + 10, 1U);
  EXPECT_EQ(contents_of(vector), expected);
}

TEST_P(DeviceVectorOn, UninitializedElementsAreLeftAlone) {
  auto vector = make();
  must(vector.append(numbers(100)));
  must(vector.clear());
  EXPECT_EQ(vector.size(), 0U);
  must(vector.resize_uninitialized(100));
  EXPECT_EQ(contents_of(vector), numbers(100));
}

TEST_P(DeviceVectorOn, AssignTakesThePlaceOfAll) {
  auto vector = make();
  must(vector.append(numbers(100)));
  must(vector.assign(numbers(3, 7)));
  EXPECT_EQ(contents_of(vector), numbers(3, 7));
  must(vector.assign({}));
  EXPECT_TRUE(vector.is_empty());
}

TEST_P(DeviceVectorOn, ShrinksToWhatItHolds) {
  auto vector = make();
  const Bytes unit = test::unit_of(sim::profile_named(GetParam()));
  const std::uint64_t a_unit = unit / Bytes(sizeof(std::uint32_t));
  must(vector.reserve(a_unit));
  must(vector.reserve(3 * a_unit));
  EXPECT_EQ(vector.size(), 0U);
  must(vector.append(numbers(5)));
  must(vector.shrink_to_fit(Quiescence::promised()));
  EXPECT_EQ(vector.capacity(), a_unit);
  EXPECT_EQ(contents_of(vector), numbers(5));
  must(vector.shrink_to_fit(Quiescence::none()));  // nothing to do
}

INSTANTIATE_TEST_SUITE_P(Profiles, DeviceVectorOn, testing::Values("h200", "odd"),
                         test::profile_name);

TEST(DeviceVector, WritesAndReadsInPlace) {
  SimMachine machine("tiny");
  struct Point {
    double x;
    float y;
  };
  auto vector = must(DeviceVector<Point>::make(machine.driver()));
  must(vector.resize(4));
  must(vector.set(2, {.x = 1.5, .y = 2.5F}));
  EXPECT_EQ(must(vector.get(2)).x, 1.5);
  EXPECT_EQ(must(vector.get(3)).x, 0.0);
  EXPECT_THAT(vector.address_of(2), is_ok_and_holds(vector.address() + Bytes(2 * sizeof(Point))));
}

TEST(DeviceVector, RefusesElementsOutside) {
  SimMachine machine("tiny");
  auto vector = must(DeviceVector<int>::make(machine.driver()));
  must(vector.append(std::array{1, 2, 3}));
  const auto refused = vector.get(3);
  EXPECT_THAT(refused, fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(
      to_string(refused.error()),
      testing::HasSubstr("1 elements from number 3 are not inside the vector, which has 3"));
  EXPECT_THAT(vector.address_of(~std::uint64_t{0}), fails_with(ErrorCode::invalid_value));
  std::array<int, 4> four = {};
  EXPECT_THAT(vector.copy_to_host(four), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(vector.copy_from_host(std::array{9, 9}, 2), fails_with(ErrorCode::invalid_value));
  EXPECT_EQ(contents_of(vector), (std::vector{1, 2, 3}));
}

TEST(DeviceVector, RefusesMoreElementsThan64BitsCount) {
  SimMachine machine("tiny");
  auto vector = must(DeviceVector<int>::make(machine.driver()));
  const auto refused = vector.resize(~std::uint64_t{0});
  EXPECT_THAT(refused, fails_with(ErrorCode::invalid_value));
  EXPECT_EQ(refused.error().reason, Reason::too_many_elements);
  EXPECT_THAT(vector.reserve(~std::uint64_t{0} / 4), fails_with(ErrorCode::invalid_value));
  EXPECT_EQ(vector.size(), 0U);
  // With those that are there.
  auto bytes = must(DeviceVector<std::uint8_t>::make(machine.driver()));
  must(bytes.push_back(1));
  const std::uint8_t one = 2;
  EXPECT_FALSE(bytes.append(std::span(&one, ~std::size_t{0})));
  EXPECT_EQ(bytes.size(), 1U);
}

TEST(DeviceVector, NeedsAContextOnlyToCopy) {
  SimMachine machine("tiny");
  auto vector = must(DeviceVector<int>::make(machine.driver()));
  must(machine->ctx_set_current({}));
  EXPECT_THAT(vector.push_back(1), fails_with(ErrorCode::invalid_context));
  EXPECT_EQ(vector.size(), 0U);
  EXPECT_THAT(vector.resize_uninitialized(5), is_ok());
  must(machine->ctx_set_current(machine.primary()));
  EXPECT_THAT(vector.push_back(1), is_ok());
  EXPECT_EQ(vector.size(), 6U);
}

TEST(DeviceVector, IsEmptyOnceClosedOrMovedFrom) {
  SimMachine machine("tiny");
  const sim::Books before = machine->books();
  auto first = must(DeviceVector<int>::make(machine.driver()));
  must(first.push_back(1));
  auto second = std::move(first);
  EXPECT_EQ(first.size(), 0U);  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_THAT(first.push_back(1), fails_with(ErrorCode::illegal_state));
  EXPECT_THAT(second.close(Quiescence::none()), fails_with(ErrorCode::not_permitted));
  EXPECT_THAT(second.get(0), is_ok_and_holds(1));
  must(second.close(Quiescence::promised()));
  EXPECT_EQ(second.size(), 0U);
  EXPECT_THAT(second.get(0), fails_with(ErrorCode::illegal_state));
  EXPECT_THAT(second.shrink_to_fit(Quiescence::promised()), fails_with(ErrorCode::illegal_state));
  EXPECT_TRUE(machine->books() == before);
}

}  // namespace
}  // namespace tessera
