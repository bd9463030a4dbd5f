#include "tessera/bytes.h"

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
constexpr Bytes max_bytes = Bytes(max_u64);

static_assert(std::is_trivially_copyable_v<Bytes> && sizeof(Bytes) == sizeof(std::uint64_t));
static_assert(!std::is_convertible_v<std::uint64_t, Bytes>);
static_assert(!std::is_convertible_v<Bytes, std::uint64_t>);
static_assert(2_MiB + 4_KiB == Bytes(2'101'248), "all of it works at compile time");

TEST(Bytes, BeginsAtZero) {
  EXPECT_EQ(Bytes().value(), 0U);
  EXPECT_TRUE(Bytes().is_zero());
  EXPECT_FALSE((1_B).is_zero());
}

TEST(Bytes, HasLiterals) {
  EXPECT_EQ(7_B, Bytes(7));
  EXPECT_EQ(1_KiB, 1024_B);
  EXPECT_EQ(1_MiB, 1024_KiB);
  EXPECT_EQ(1_GiB, 1024_MiB);
  EXPECT_EQ(1_TiB, 1024_GiB);
  EXPECT_EQ((16'777'215_TiB).value(), 16'777'215ULL << 40U);
}

TEST(Bytes, IsOrdered) {
  EXPECT_LT(1_B, 2_B);
  EXPECT_GE(1_KiB, 1024_B);
  EXPECT_NE(1_KiB, 1_MiB);
  EXPECT_GT(max_bytes, Bytes(max_u64 - 1));
}

TEST(Bytes, AddsAndSubtracts) {
  EXPECT_EQ(3_B + 4_B, 7_B);
  EXPECT_EQ(7_B - 7_B, 0_B);
  EXPECT_EQ(Bytes(max_u64 - 1) + 1_B, max_bytes);
  Bytes size = 10_B;
  size += 5_B;
  EXPECT_EQ(size, 15_B);
  size -= 15_B;
  EXPECT_EQ(size, 0_B);
}

TEST(Bytes, Scales) {
  EXPECT_EQ(3_KiB * 2, 6_KiB);
  EXPECT_EQ(2 * 3_KiB, 6_KiB);
  EXPECT_EQ(max_bytes * 0, 0_B);
  EXPECT_EQ(max_bytes * 1, max_bytes);
  EXPECT_EQ(0_B * max_u64, 0_B);
  EXPECT_EQ(Bytes(1ULL << 63U) * 1, Bytes(1ULL << 63U));
}

TEST(Bytes, DividedByASizeIsACount) {
  static_assert(std::is_same_v<decltype(6_B / 2_B), std::uint64_t>);
  EXPECT_EQ(7_MiB / 2_MiB, 3U);
  EXPECT_EQ(7_MiB % 2_MiB, 1_MiB);
  EXPECT_EQ(0_B / 3_B, 0U);
  EXPECT_EQ(1_B / max_bytes, 0U);
  EXPECT_EQ(max_bytes % max_bytes, 0_B);
}

TEST(Bytes, CheckedAddSaysWhenItDoesNotFit) {
  EXPECT_EQ(checked_add(max_bytes, 0_B), max_bytes);
  EXPECT_EQ(checked_add(Bytes(max_u64 - 1), 1_B), max_bytes);
  EXPECT_EQ(checked_add(max_bytes, 1_B), std::nullopt);
  EXPECT_EQ(checked_add(max_bytes, max_bytes), std::nullopt);
}

TEST(Bytes, CheckedMultiplySaysWhenItDoesNotFit) {
  EXPECT_EQ(checked_multiply(max_bytes, 0), 0_B);
  EXPECT_EQ(checked_multiply(0_B, max_u64), 0_B);
  EXPECT_EQ(checked_multiply(max_bytes, 1), max_bytes);
  EXPECT_EQ(checked_multiply(max_bytes, 2), std::nullopt);
  EXPECT_EQ(checked_multiply(Bytes(1ULL << 32U), 1ULL << 32U), std::nullopt);
  EXPECT_EQ(checked_multiply(Bytes((1ULL << 32U) - 1), (1ULL << 32U) + 1), max_bytes);
}

TEST(Bytes, KnowsPowersOfTwo) {
  EXPECT_FALSE(is_power_of_two(0_B));
  EXPECT_FALSE(is_power_of_two(3_B));
  EXPECT_FALSE(is_power_of_two(max_bytes));
  for (unsigned shift = 0; shift < 64; ++shift) {
    EXPECT_TRUE(is_power_of_two(Bytes(std::uint64_t{1} << shift)));
  }
}

TEST(Bytes, AlignsToAnyGranularity) {
  EXPECT_TRUE(is_aligned(0_B, 2_MiB));
  EXPECT_TRUE(is_aligned(6_MiB, 2_MiB));
  EXPECT_FALSE(is_aligned(6_MiB + 1_B, 2_MiB));
  EXPECT_TRUE(is_aligned(9_B, 3_B));
  EXPECT_EQ(align_down(7_B, 3_B), 6_B);
  EXPECT_EQ(align_down(6_B, 3_B), 6_B);
  EXPECT_EQ(align_up(7_B, 3_B), 9_B);
  EXPECT_EQ(align_up(6_B, 3_B), 6_B);
  EXPECT_EQ(align_up(0_B, 2_MiB), 0_B);
  EXPECT_EQ(align_up(1_B, 2_MiB), 2_MiB);
  EXPECT_EQ(align_up(5_B, 1_B), 5_B);
}

TEST(Bytes, AlignsAtTheTop) {
  constexpr Bytes last_multiple = Bytes(max_u64 - (2_MiB).value() + 1);
  EXPECT_EQ(align_down(max_bytes, 2_MiB), last_multiple);
  EXPECT_EQ(align_up(last_multiple, 2_MiB), last_multiple);
  EXPECT_EQ(checked_align_up(last_multiple, 2_MiB), last_multiple);
  EXPECT_EQ(checked_align_up(last_multiple - 1_B, 2_MiB), last_multiple);
  EXPECT_EQ(checked_align_up(last_multiple + 1_B, 2_MiB), std::nullopt);
  EXPECT_EQ(checked_align_up(max_bytes, 1_B), max_bytes);
  EXPECT_EQ(checked_align_up(max_bytes, max_bytes), max_bytes);
}

TEST(Bytes, AlignsRandomSizesAsDefined) {
  std::mt19937_64 random(20240607);
  for (int i = 0; i < 2'000; ++i) {
    const Bytes size(random() >> (random() % 64));
    const Bytes granularity((random() >> (random() % 64)) | 1U);
    const Bytes down = align_down(size, granularity);
    ASSERT_LE(down, size);
    ASSERT_LT(size - down, granularity);
    ASSERT_TRUE(is_aligned(down, granularity));
    const auto up = checked_align_up(size, granularity);
    if (is_aligned(size, granularity)) {
      ASSERT_EQ(up, size);
    } else {
      ASSERT_EQ(up, checked_add(down, granularity));
    }
    if (up) {
      ASSERT_EQ(align_up(size, granularity), *up);
    }
  }
}

TEST(BytesDeathTest, NeverWraps) {
  EXPECT_DEATH(static_cast<void>(max_bytes + 1_B), "check failed: .*18446744073709551615 and");
  EXPECT_DEATH(static_cast<void>(1_B - 2_B), "check failed: right.value_ <= left.value_ .2 and 1");
  EXPECT_DEATH(static_cast<void>(max_bytes * 2), "check failed");
  EXPECT_DEATH(static_cast<void>(2 * max_bytes), "check failed");
  EXPECT_DEATH(static_cast<void>(align_up(max_bytes, 2_B)), "check failed");
  EXPECT_DEATH(static_cast<void>(16'777'216_TiB), "check failed");
  Bytes size = 1_B;
  EXPECT_DEATH(size -= 2_B, "check failed");
  EXPECT_DEATH(size += max_bytes, "check failed");
}

TEST(BytesDeathTest, DividesByNoZero) {
  EXPECT_DEATH(static_cast<void>(1_B / 0_B), "check failed: right.value_ != 0");
  EXPECT_DEATH(static_cast<void>(1_B % 0_B), "check failed: right.value_ != 0");
  EXPECT_DEATH(static_cast<void>(is_aligned(1_B, 0_B)), "check failed");
}

}  // namespace
}  // namespace tessera
