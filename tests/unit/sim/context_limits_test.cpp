#include "context_limits.h"

#include <optional>

#include <gtest/gtest.h>

namespace tessera::sim {
namespace {

LimitRule rule_of(ContextLimit limit) {
  return limit_rules(*built_in_profile("h200")).at(static_cast<std::size_t>(limit));
}

// What becomes of a value; nothing if it is refused.
std::optional<std::uint64_t> set(ContextLimit limit, std::uint64_t value) {
  Bytes adjusted(value);
  const bool is_taken = rule_of(limit).adjust(adjusted);
  return is_taken ? std::optional(adjusted.value()) : std::nullopt;
}

constexpr std::uint64_t max_u64 = ~std::uint64_t{0};

TEST(ContextLimits, OfAStackAreRoundedAndNotBeyondTheMost) {
  EXPECT_EQ(set(ContextLimit::stack_size, 0), 0U);
  EXPECT_EQ(set(ContextLimit::stack_size, 1), 16U);
  EXPECT_EQ(set(ContextLimit::stack_size, 523'697), 523'712U);
  EXPECT_EQ(set(ContextLimit::stack_size, 523'713), std::nullopt);
  EXPECT_EQ(set(ContextLimit::stack_size, max_u64), std::nullopt);
}

TEST(ContextLimits, OfThePrintBufferAreRaisedRoundedAndCapped) {
  EXPECT_EQ(set(ContextLimit::printf_fifo_size, 0), 524'288U);
  EXPECT_EQ(set(ContextLimit::printf_fifo_size, 524'289), 524'544U);
  EXPECT_EQ(set(ContextLimit::printf_fifo_size, max_u64 - 255), std::uint64_t{1} << 31U);
  EXPECT_EQ(set(ContextLimit::printf_fifo_size, max_u64), 0U) << "rounded beyond 2^64";
}

TEST(ContextLimits, OfPersistingCacheAreTenthsOfWhatTheDeviceHas) {
  EXPECT_EQ(rule_of(ContextLimit::persisting_l2_cache_size).initial, Bytes(11'796'480));
  EXPECT_EQ(set(ContextLimit::persisting_l2_cache_size, 1), 3'932'160U);
  EXPECT_EQ(set(ContextLimit::persisting_l2_cache_size, 39'321'600), 39'321'600U);
  EXPECT_EQ(set(ContextLimit::persisting_l2_cache_size, 39'321'601), std::nullopt);
}

TEST(ContextLimits, OfADeviceWithoutPersistingCacheAreZero) {
  Profile unknown = *built_in_profile("h200");
  unknown.device_attributes.erase(108);
  Profile none = *built_in_profile("h200");
  none.device_attributes[108] = 0;
  for (const Profile& profile : {unknown, none}) {
    const LimitRule rule =
        limit_rules(profile).at(static_cast<std::size_t>(ContextLimit::persisting_l2_cache_size));
    EXPECT_EQ(rule.initial, Bytes(0));
    Bytes value(1);
    EXPECT_FALSE(rule.adjust(value));
    value = Bytes(0);
    EXPECT_TRUE(rule.adjust(value));
  }
}

TEST(ContextLimits, AreSetOrOnlyReadOrNotThere) {
  using enum LimitRule::Use;
  EXPECT_EQ(rule_of(ContextLimit::dev_runtime_sync_depth).use, unsupported);
  EXPECT_EQ(rule_of(ContextLimit::dev_runtime_pending_launch_count).use, settable);
  EXPECT_EQ(rule_of(ContextLimit::shmem_size).use, read_only);
  EXPECT_EQ(rule_of(ContextLimit::cig_enabled).use, read_only);
  EXPECT_EQ(rule_of(ContextLimit::cig_shmem_fallback_enabled).use, unsupported);
}

}  // namespace
}  // namespace tessera::sim
