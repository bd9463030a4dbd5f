#include "tessera/check.h"

#include <csignal>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr int checked(int value) {
  TESSERA_CHECK(value > 0);
  TESSERA_CHECK_LE(static_cast<std::uint64_t>(value), 9);
  return value;
}
static_assert(checked(5) == 5, "checks are usable at compile time");

TEST(Check, PassesWhatHolds) {
  int evaluations = 0;
  TESSERA_CHECK(++evaluations == 1);
  TESSERA_CHECK_LE(static_cast<std::uint64_t>(++evaluations), 2);
  EXPECT_EQ(evaluations, 2) << "conditions are evaluated once";
}

TEST(Check, IsOneStatement) {
  bool reached = false;
  if (checked(1) == 2)
    TESSERA_CHECK(false);
  else
    reached = true;
  EXPECT_TRUE(reached);
}

TEST(CheckDeathTest, PrintsPlaceAndCondition) {
  EXPECT_DEATH(checked(0), "check_test\\.cpp:[0-9]+: check failed: value > 0\n");
}

TEST(CheckDeathTest, PrintsBothSides) {
  EXPECT_DEATH(checked(10), "check_test\\.cpp:[0-9]+: check failed: .*value.* <= 9 .10 and 9.\n");
  EXPECT_DEATH(TESSERA_CHECK_LE(std::numeric_limits<std::uint64_t>::max(), 0),
               "18446744073709551615 and 0");
}

TEST(CheckDeathTest, Aborts) {
  EXPECT_EXIT(TESSERA_CHECK(1 > 2), testing::KilledBySignal(SIGABRT), "1 > 2");
}

}  // namespace
}  // namespace tessera
