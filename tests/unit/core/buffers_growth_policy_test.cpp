#include <gtest/gtest.h>

#include "support/printers.h"
#include "tessera/buffers/growth_policy.h"

namespace tessera {
namespace {

constexpr Bytes granule = 2_MiB;

TEST(GrowthPolicy, ExactMakesTheNeed) {
  EXPECT_EQ(GrowthPolicy::exact().capacity_for(6_MiB, 4_MiB, granule), 6_MiB);
  EXPECT_EQ(GrowthPolicy::exact().capacity_for(2_MiB, 0_MiB, granule), 2_MiB);
}

TEST(GrowthPolicy, FactorMultipliesWhatThereIs) {
  EXPECT_EQ(GrowthPolicy::factor(2).capacity_for(10_MiB, 8_MiB, granule), 16_MiB);
  EXPECT_EQ(GrowthPolicy::factor(3, 2).capacity_for(10_MiB, 8_MiB, granule), 12_MiB);
  // A need beyond it wins; what is no multiple of the granularity is rounded up.
  EXPECT_EQ(GrowthPolicy::factor(2).capacity_for(40_MiB, 8_MiB, granule), 40_MiB);
  EXPECT_EQ(GrowthPolicy::factor(3, 2).capacity_for(8_MiB, 6_MiB, granule), 10_MiB);
}

TEST(GrowthPolicy, ChunksAreAddedWhole) {
  const GrowthPolicy policy = GrowthPolicy::chunks(64_MiB);
  EXPECT_EQ(policy.capacity_for(2_MiB, 0_MiB, granule), 64_MiB);
  EXPECT_EQ(policy.capacity_for(66_MiB, 64_MiB, granule), 128_MiB);
  EXPECT_EQ(policy.capacity_for(200_MiB, 64_MiB, granule), 256_MiB);
  EXPECT_EQ(GrowthPolicy::chunks(3_MiB).capacity_for(2_MiB, 0_MiB, granule), 4_MiB);
}

TEST(GrowthPolicy, TheDefaultDoublesInStepsUpToHalfAGibibyte) {
  EXPECT_EQ(GrowthPolicy().capacity_for(18_MiB, 16_MiB, granule), 32_MiB);
  EXPECT_EQ(GrowthPolicy().capacity_for(5_GiB, 4_GiB, granule), 5_GiB);
  EXPECT_EQ(GrowthPolicy().capacity_for(4_GiB + 2_MiB, 4_GiB, granule), 4_GiB + 512_MiB);
  EXPECT_EQ(GrowthPolicy::factor(2).in_steps_up_to(1_GiB).capacity_for(9_GiB, 8_GiB, granule),
            9_GiB);
}

TEST(GrowthPolicy, FiguresBeyond64BitsLeaveTheNeed) {
  const Bytes most = align_down(Bytes(~std::uint64_t{0}), granule);
  const Bytes much = most - granule;
  EXPECT_EQ(GrowthPolicy::factor(2).capacity_for(most, much, granule), most);
  EXPECT_EQ(GrowthPolicy::chunks(64_GiB).capacity_for(most, much, granule), most);
  EXPECT_EQ(GrowthPolicy::chunks(64_GiB).capacity_for(most, 0_MiB, granule), most);
}

TEST(GrowthPolicy, FallsBackUnlessToldOtherwise) {
  EXPECT_TRUE(GrowthPolicy().falls_back());
  EXPECT_FALSE(GrowthPolicy::factor(2).without_fallback().falls_back());
}

TEST(GrowthPolicyDeathTest, RefusesFiguresThatShrinkOrStandStill) {
  EXPECT_DEATH(static_cast<void>(GrowthPolicy::factor(1, 2)), "numerator");
  EXPECT_DEATH(static_cast<void>(GrowthPolicy::factor(1, 0)), "denominator");
  EXPECT_DEATH(static_cast<void>(GrowthPolicy::chunks(Bytes())), "is_zero");
}

}  // namespace
}  // namespace tessera
