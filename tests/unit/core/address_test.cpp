#include "tessera/address.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <type_traits>

#include <gtest/gtest.h>

#include "support/printers.h"

namespace tessera {
namespace {

constexpr std::uint64_t max_u64 = std::numeric_limits<std::uint64_t>::max();
constexpr DeviceAddress top = DeviceAddress(max_u64);

constexpr AddressRange range(std::uint64_t begin, std::uint64_t end) {
  return {DeviceAddress(begin), Bytes(end - begin)};
}

static_assert(std::is_trivially_copyable_v<DeviceAddress>);
static_assert(!std::is_convertible_v<std::uint64_t, DeviceAddress>);
static_assert(!std::is_convertible_v<Bytes, DeviceAddress>);
static_assert(!std::is_convertible_v<DeviceAddress, std::uint64_t>);
static_assert(range(10, 20).contains(DeviceAddress(10)), "all of it works at compile time");

TEST(DeviceAddress, BeginsAtNull) {
  EXPECT_TRUE(DeviceAddress().is_null());
  EXPECT_EQ(DeviceAddress().value(), 0U);
  EXPECT_FALSE(DeviceAddress(1).is_null());
}

TEST(DeviceAddress, MovesBySizes) {
  EXPECT_EQ(DeviceAddress(100) + 5_B, DeviceAddress(105));
  EXPECT_EQ(DeviceAddress(100) - 100_B, DeviceAddress());
  EXPECT_EQ(DeviceAddress(max_u64 - 1) + 1_B, top);
  EXPECT_EQ(top - Bytes(max_u64), DeviceAddress());
}

TEST(DeviceAddress, HasADistanceToALowerOne) {
  static_assert(std::is_same_v<decltype(top - top), Bytes>);
  EXPECT_EQ(DeviceAddress(105) - DeviceAddress(100), 5_B);
  EXPECT_EQ(top - DeviceAddress(), Bytes(max_u64));
  EXPECT_EQ(top - top, 0_B);
}

TEST(DeviceAddress, IsOrdered) {
  EXPECT_LT(DeviceAddress(1), DeviceAddress(2));
  EXPECT_LT(DeviceAddress(1), DeviceAddress(1ULL << 63U));  // unsigned
  EXPECT_EQ(DeviceAddress(7), DeviceAddress(7));
}

TEST(DeviceAddress, CheckedAddSaysWhenItDoesNotFit) {
  EXPECT_EQ(checked_add(top, 0_B), top);
  EXPECT_EQ(checked_add(top, 1_B), std::nullopt);
  EXPECT_EQ(checked_add(DeviceAddress(1), Bytes(max_u64)), std::nullopt);
  EXPECT_EQ(checked_add(DeviceAddress(1), Bytes(max_u64 - 1)), top);
}

TEST(DeviceAddress, IsAlignedToAGranularity) {
  EXPECT_TRUE(is_aligned(DeviceAddress(0x7f00'0020'0000), 2_MiB));
  EXPECT_FALSE(is_aligned(DeviceAddress(0x7f00'0010'0000), 2_MiB));
  EXPECT_TRUE(is_aligned(DeviceAddress(), 2_MiB));
}

TEST(DeviceAddressDeathTest, NeverWraps) {
  EXPECT_DEATH(static_cast<void>(top + 1_B), "check failed");
  EXPECT_DEATH(static_cast<void>(DeviceAddress(1) - 2_B), "check failed");
  EXPECT_DEATH(static_cast<void>(DeviceAddress(1) - DeviceAddress(2)), "check failed");
}

TEST(AddressRange, BeginsEmptyAtNull) {
  constexpr AddressRange nothing;
  EXPECT_TRUE(nothing.is_empty());
  EXPECT_EQ(nothing.size(), 0_B);
  EXPECT_EQ(nothing.begin(), DeviceAddress());
  EXPECT_EQ(nothing.end(), DeviceAddress());
}

TEST(AddressRange, IsHalfOpen) {
  constexpr AddressRange some = range(100, 200);
  EXPECT_EQ(some.begin(), DeviceAddress(100));
  EXPECT_EQ(some.end(), DeviceAddress(200));
  EXPECT_EQ(some.size(), 100_B);
  EXPECT_FALSE(some.contains(DeviceAddress(99)));
  EXPECT_TRUE(some.contains(DeviceAddress(100)));
  EXPECT_TRUE(some.contains(DeviceAddress(199)));
  EXPECT_FALSE(some.contains(DeviceAddress(200)));
}

TEST(AddressRange, EqualsOneWithTheSameBorders) {
  EXPECT_EQ(range(1, 2), range(1, 2));
  EXPECT_FALSE(range(1, 2) == range(1, 3));
  EXPECT_FALSE(range(0, 2) == range(1, 2));
  EXPECT_FALSE(range(5, 5) == range(6, 6));  // empty ones keep their place
}

TEST(AddressRange, ThatIsEmptyContainsAndMeetsNothing) {
  constexpr AddressRange empty = range(150, 150);
  constexpr AddressRange some = range(100, 200);
  EXPECT_TRUE(empty.is_empty());
  EXPECT_FALSE(empty.contains(DeviceAddress(150)));
  EXPECT_FALSE(empty.contains(empty));
  EXPECT_FALSE(empty.contains(some));
  EXPECT_FALSE(some.contains(empty));
  EXPECT_FALSE(some.intersects(empty));
  EXPECT_FALSE(empty.intersects(some));
  EXPECT_FALSE(empty.intersects(empty));
}

TEST(AddressRange, ContainsWhatLiesWhollyInside) {
  constexpr AddressRange some = range(100, 200);
  EXPECT_TRUE(some.contains(some));
  EXPECT_TRUE(some.contains(range(100, 101)));
  EXPECT_TRUE(some.contains(range(199, 200)));
  EXPECT_FALSE(some.contains(range(99, 101)));
  EXPECT_FALSE(some.contains(range(199, 201)));
  EXPECT_FALSE(some.contains(range(200, 201)));
  EXPECT_FALSE(some.contains(range(0, 300)));
}

TEST(AddressRange, DoesNotMeetItsNeighbours) {
  constexpr AddressRange some = range(100, 200);
  EXPECT_FALSE(some.intersects(range(0, 100)));
  EXPECT_FALSE(some.intersects(range(200, 300)));
  EXPECT_TRUE(some.intersects(range(0, 101)));
  EXPECT_TRUE(some.intersects(range(199, 300)));
  EXPECT_TRUE(some.intersects(range(0, 300)));
  EXPECT_TRUE(some.intersects(range(150, 151)));
  EXPECT_TRUE(some.intersects(some));
}

TEST(AddressRange, ReachesTheTopOfSixtyFourBits) {
  // The end is an address, so the very last byte is in no range.
  const auto last = AddressRange::make(DeviceAddress(max_u64 - 1), 1_B);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->end(), top);
  EXPECT_TRUE(last->contains(DeviceAddress(max_u64 - 1)));
  EXPECT_FALSE(last->contains(top));
  EXPECT_EQ(AddressRange::make(DeviceAddress(), Bytes(max_u64))->size(), Bytes(max_u64));
  EXPECT_TRUE(AddressRange::make(top, 0_B)->is_empty());
  EXPECT_EQ(AddressRange::make(top, 1_B), std::nullopt);
  EXPECT_EQ(AddressRange::make(DeviceAddress(2), Bytes(max_u64 - 1)), std::nullopt);
  EXPECT_EQ(AddressRange::make(DeviceAddress(1ULL << 63U), Bytes(1ULL << 63U)), std::nullopt);
}

TEST(AddressRange, AgreesWithCountingItsAddresses) {
  std::mt19937_64 random(20240607);
  for (int i = 0; i < 5'000; ++i) {
    const auto random_range = [&] {
      const std::uint64_t begin = random() % 8;
      return range(begin, begin + random() % 6);
    };
    const AddressRange left = random_range();
    const AddressRange right = random_range();
    std::uint64_t common = 0;
    for (std::uint64_t at = 0; at < 16; ++at) {
      const bool both = left.contains(DeviceAddress(at)) && right.contains(DeviceAddress(at));
      common += both ? 1U : 0U;
    }
    ASSERT_EQ(left.intersects(right), common != 0);
    ASSERT_EQ(right.intersects(left), common != 0);
    ASSERT_EQ(left.contains(right), common != 0 && common == right.size().value());
  }
}

TEST(AddressRangeDeathTest, NeverWraps) {
  EXPECT_DEATH(static_cast<void>(AddressRange(top, 1_B)), "check failed");
}

}  // namespace
}  // namespace tessera
