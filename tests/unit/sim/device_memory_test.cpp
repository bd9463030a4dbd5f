#include "device_memory.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tessera::sim {
namespace {

TEST(DeviceMemory, BeginsFree) {
  const DeviceMemory memory({.total = 10_MiB});
  EXPECT_EQ(memory.total(), 10_MiB);
  EXPECT_EQ(memory.used(), 0_B);
  EXPECT_EQ(memory.free(), 10_MiB);
  EXPECT_EQ(memory.largest_free(), 10_MiB);
  EXPECT_EQ(memory.paged_out(), 0_B);
  EXPECT_EQ(memory.check_invariants(), "");
}

TEST(DeviceMemory, GivesAllOfItAndNoMore) {
  DeviceMemory memory({.total = 10_MiB});
  const auto first = memory.take(7_MiB);
  ASSERT_TRUE(first);
  EXPECT_FALSE(memory.take(3_MiB + 1_B));
  EXPECT_EQ(memory.used(), 7_MiB);
  const auto second = memory.take(3_MiB);
  ASSERT_TRUE(second);
  EXPECT_FALSE(memory.take(1_B));
  EXPECT_FALSE(memory.take(Bytes(~0ULL)));
  memory.give_back(*first);
  EXPECT_EQ(memory.free(), 7_MiB);
  memory.give_back(*second);
  EXPECT_EQ(memory.free(), 10_MiB);
}

TEST(DeviceMemory, TakesNothingOfNothing) {
  DeviceMemory memory({.total = 0_B, .contiguous = true});
  EXPECT_FALSE(memory.take(1_B));
  EXPECT_EQ(memory.largest_free(), 0_B);
  const auto nothing = memory.take(0_B);
  ASSERT_TRUE(nothing);
  memory.give_back(*nothing);
  EXPECT_EQ(memory.check_invariants(), "");
}

TEST(DeviceMemory, PagesOutWhatIsTooMuch) {
  DeviceMemory memory({.total = 10_MiB, .may_page_out = 5_MiB});
  const auto most = memory.take(8_MiB);
  const auto more = memory.take(6_MiB);
  ASSERT_TRUE(most && more);
  EXPECT_EQ(memory.free(), 0_B);
  EXPECT_EQ(memory.paged_out(), 4_MiB);
  EXPECT_EQ(memory.largest_free(), 1_MiB);
  EXPECT_FALSE(memory.take(2_MiB));
  memory.give_back(*more);
  EXPECT_EQ(memory.paged_out(), 0_B);
  EXPECT_EQ(memory.free(), 2_MiB);
  EXPECT_EQ(memory.check_invariants(), "");
}

TEST(DeviceMemory, IsTooFragmentedForARequestAlthoughEnoughIsFree) {
  DeviceMemory memory({.total = 8_MiB, .contiguous = true});
  std::vector<DeviceMemory::Piece> pieces;
  for (int i = 0; i < 8; ++i) {
    pieces.push_back(*memory.take(1_MiB));
  }
  for (std::size_t i = 0; i < 8; i += 2) {
    memory.give_back(pieces[i]);
  }
  EXPECT_EQ(memory.free(), 4_MiB);
  EXPECT_EQ(memory.largest_free(), 1_MiB);
  EXPECT_FALSE(memory.take(2_MiB));
  memory.give_back(pieces[1]);  // joins both neighbours
  EXPECT_EQ(memory.largest_free(), 3_MiB);
  EXPECT_TRUE(memory.take(2_MiB));
  EXPECT_EQ(memory.check_invariants(), "");
}

TEST(DeviceMemory, TakesTheSmallestGapThatFits) {
  DeviceMemory memory({.total = 10_MiB, .contiguous = true});
  const auto large = memory.take(4_MiB);
  const auto wall = memory.take(1_MiB);
  const auto small = memory.take(2_MiB);
  const auto rest = memory.take(3_MiB);
  ASSERT_TRUE(large && wall && small && rest);
  memory.give_back(*large);
  memory.give_back(*small);
  EXPECT_EQ(memory.take(1_MiB)->place, 5_MiB);
  EXPECT_EQ(memory.largest_free(), 4_MiB);
}

TEST(DeviceMemory, KeepsItsInvariantsUnderRandomUse) {
  std::mt19937_64 random(20240607);
  DeviceMemory memory({.total = 1'000_B, .contiguous = true});
  std::vector<DeviceMemory::Piece> pieces;
  for (int step = 0; step < 5'000; ++step) {
    if (!pieces.empty() && random() % 2 == 0) {
      const std::size_t which = random() % pieces.size();
      memory.give_back(pieces[which]);
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      const Bytes size(random() % 120);
      const Bytes largest = memory.largest_free();
      const auto piece = memory.take(size);
      ASSERT_EQ(piece.has_value(), size <= largest) << "step " << step;
      if (piece) {
        pieces.push_back(*piece);
      }
    }
    ASSERT_EQ(memory.check_invariants(), "") << "step " << step;
  }
  for (const auto& piece : pieces) {
    memory.give_back(piece);
  }
  EXPECT_EQ(memory.largest_free(), memory.total());
}

TEST(DeviceMemoryDeath, RefusesWhatItNeverGave) {
  DeviceMemory memory({.total = 10_MiB, .contiguous = true});
  const auto piece = memory.take(2_MiB);
  ASSERT_TRUE(piece);
  EXPECT_DEATH(memory.give_back({.size = 3_MiB}), "");
  EXPECT_DEATH(memory.give_back({.size = 1_MiB, .place = 5_MiB}), "");
  EXPECT_DEATH(memory.give_back({.size = 2_MiB, .place = 9_MiB}), "");
  EXPECT_DEATH(DeviceMemory({.total = 1_MiB, .contiguous = true, .may_page_out = 1_MiB}), "");
}

}  // namespace
}  // namespace tessera::sim
