#include "region_allocator.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "naive_regions.h"
#include "support/printers.h"

namespace tessera::sim {
namespace {

constexpr std::uint64_t max_u64 = std::numeric_limits<std::uint64_t>::max();

TEST(RegionAllocator, TakesTheHighestPlace) {
  RegionAllocator regions({range(100, 200)});
  EXPECT_EQ(regions.take_highest(10_B, 1_B), range(190, 200));
  EXPECT_EQ(regions.take_highest(10_B, 1_B), range(180, 190));
  EXPECT_EQ(regions.check_invariants(), "");
}

TEST(RegionAllocator, TakesTheHighestPlaceOfAllWindows) {
  // In whatever order the windows stand, and although the lower window is larger.
  for (const auto& windows :
       {std::vector{range(0, 100), range(200, 220)}, std::vector{range(200, 220), range(0, 100)}}) {
    RegionAllocator regions(windows);
    EXPECT_EQ(regions.take_highest(10_B, 1_B), range(210, 220));
    EXPECT_EQ(regions.take_highest(30_B, 1_B), range(70, 100)) << "too large for the upper window";
    EXPECT_EQ(regions.take_highest(10_B, 1_B), range(200, 210));
    EXPECT_EQ(regions.take_highest(10_B, 1_B), range(60, 70)) << "the upper window is exhausted";
    EXPECT_EQ(regions.check_invariants(), "");
  }
}

TEST(RegionAllocator, AlignsDownwards) {
  RegionAllocator regions({range(100, 200)});
  EXPECT_EQ(regions.take_highest(10_B, 64_B), range(128, 138));
  EXPECT_EQ(regions.take_highest(10_B, 1_B), range(190, 200)) << "what lies above stays free";
  EXPECT_EQ(regions.take_highest(52_B, 1_B), range(138, 190));
  EXPECT_EQ(regions.take_highest(28_B, 1_B), range(100, 128));
  EXPECT_EQ(regions.take_highest(1_B, 1_B), std::nullopt);
}

TEST(RegionAllocator, AlignsToAnySize) {
  RegionAllocator regions({range(100, 200)});
  EXPECT_EQ(regions.take_highest(10_B, 60_B), range(180, 190));
  EXPECT_EQ(regions.take_highest(10_B, 60_B), range(120, 130));
  EXPECT_EQ(regions.take_highest(10_B, 60_B), std::nullopt);
}

TEST(RegionAllocator, GivesAllAndNoMore) {
  RegionAllocator regions({range(100, 200)});
  EXPECT_EQ(regions.take_highest(101_B, 1_B), std::nullopt);
  EXPECT_EQ(regions.take_highest(Bytes(max_u64), 1_B), std::nullopt);
  EXPECT_EQ(regions.take_highest(100_B, 1_B), range(100, 200));
  EXPECT_EQ(regions.take_highest(1_B, 1_B), std::nullopt);
  regions.give_back(range(100, 200));
  EXPECT_EQ(regions.take_highest(100_B, 1_B), range(100, 200));
  EXPECT_EQ(regions.check_invariants(), "");
}

TEST(RegionAllocator, GivesNothingForNothing) {
  RegionAllocator regions({range(100, 200)});
  EXPECT_EQ(regions.take_highest(0_B, 1_B), std::nullopt);
  RegionAllocator none({});
  EXPECT_EQ(none.take_highest(1_B, 1_B), std::nullopt);
  EXPECT_EQ(none.check_invariants(), "");
}

TEST(RegionAllocator, TakesTheLowestPlace) {
  RegionAllocator regions({range(200, 300), range(100, 120)});
  EXPECT_EQ(regions.take_lowest(10_B, 1_B, DeviceAddress()), range(100, 110));
  EXPECT_EQ(regions.take_lowest(20_B, 1_B, DeviceAddress()), range(200, 220));
  EXPECT_EQ(regions.take_lowest(10_B, 1_B, DeviceAddress()), range(110, 120));
  EXPECT_EQ(regions.take_lowest(10_B, 64_B, DeviceAddress()), range(256, 266));
  EXPECT_EQ(regions.take_lowest(0_B, 1_B, DeviceAddress()), std::nullopt);
  EXPECT_EQ(regions.take_lowest(81_B, 1_B, DeviceAddress()), std::nullopt);
  EXPECT_EQ(regions.check_invariants(), "");
}

TEST(RegionAllocator, TakesTheLowestPlaceFromAnAddressOn) {
  RegionAllocator regions({range(100, 200), range(300, 400)});
  EXPECT_EQ(regions.take_lowest(10_B, 1_B, DeviceAddress(150)), range(150, 160)) << "in a gap";
  EXPECT_EQ(regions.take_lowest(10_B, 1_B, DeviceAddress(155)), range(160, 170)) << "taken";
  EXPECT_EQ(regions.take_lowest(10_B, 1_B, DeviceAddress(195)), range(300, 310)) << "too near";
  EXPECT_EQ(regions.take_lowest(10_B, 1_B, DeviceAddress(310)), range(310, 320)) << "its begin";
  EXPECT_EQ(regions.take_lowest(10_B, 1_B, DeviceAddress(391)), std::nullopt);
  EXPECT_EQ(regions.take_lowest(10_B, 64_B, DeviceAddress(max_u64)), std::nullopt);
  EXPECT_EQ(regions.check_invariants(), "");
}

TEST(RegionAllocator, JoinsWhatIsGivenBack) {
  // Three neighbours, given back in each order.
  for (const auto& order :
       {std::vector{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
    RegionAllocator regions({range(0, 30)});
    std::vector<AddressRange> taken;
    for (int i = 0; i < 3; ++i) {
      taken.push_back(*regions.take_highest(10_B, 1_B));
    }
    for (const int which : order) {
      regions.give_back(taken.at(static_cast<std::size_t>(which)));
      EXPECT_EQ(regions.check_invariants(), "");
    }
    EXPECT_EQ(regions.take_highest(30_B, 1_B), range(0, 30));
  }
}

TEST(RegionAllocator, TakesFromAHoleThatFits) {
  RegionAllocator regions({range(0, 100)});
  const auto whole = regions.take_highest(100_B, 1_B);
  ASSERT_TRUE(whole);
  regions.give_back(range(80, 83));
  regions.give_back(range(40, 60));
  EXPECT_EQ(regions.take_highest(5_B, 1_B), range(55, 60));
  EXPECT_EQ(regions.take_highest(3_B, 1_B), range(80, 83));
  EXPECT_EQ(regions.take_highest(3_B, 1_B), range(52, 55));
  EXPECT_EQ(regions.check_invariants(), "");
}

TEST(RegionAllocator, ReachesTheTopOfSixtyFourBits) {
  RegionAllocator regions({range(max_u64 - 1'048'576, max_u64)});
  EXPECT_EQ(regions.take_highest(1_B, 1_B), range(max_u64 - 1, max_u64));
  const auto aligned = regions.take_highest(4_KiB, 4_KiB);
  ASSERT_TRUE(aligned);
  EXPECT_TRUE(is_aligned(aligned->begin(), 4_KiB));
  RegionAllocator everything({range(0, max_u64)});
  EXPECT_EQ(everything.take_highest(Bytes(max_u64), 1_B), range(0, max_u64));
  EXPECT_EQ(everything.check_invariants(), "");
}

TEST(RegionAllocator, AgreesWithANaiveOne) {
  const std::vector<AddressRange> windows = {range(7, 200), range(200, 250), range(300, 511)};
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    std::mt19937_64 random(seed);
    RegionAllocator regions(windows);
    NaiveRegions naive(windows);
    std::vector<AddressRange> taken;
    for (int step = 0; step < 3'000; ++step) {
      if (!taken.empty() && random() % 5 < 2) {
        const std::size_t which = random() % taken.size();
        regions.give_back(taken[which]);
        naive.give_back(taken[which]);
        taken[which] = taken.back();
        taken.pop_back();
      } else {
        const Bytes size(1 + random() % (random() % 8 == 0 ? 100 : 12));
        const Bytes alignment(random() % 3 == 0 ? 1 + random() % 24 : 1ULL << random() % 6);
        const DeviceAddress from(random() % 3 == 0 ? 0 : random() % 540);
        const bool lowest = random() % 2 == 0;
        const auto region = lowest ? regions.take_lowest(size, alignment, from)
                                   : regions.take_highest(size, alignment);
        ASSERT_EQ(region, lowest ? naive.take_lowest(size, alignment, from)
                                 : naive.take_highest(size, alignment))
            << "seed " << seed << " step " << step;
        if (region) {
          taken.push_back(*region);
        }
      }
      ASSERT_EQ(regions.check_invariants(), "") << "seed " << seed << " step " << step;
    }
    for (const AddressRange& region : taken) {
      regions.give_back(region);
    }
    EXPECT_EQ(regions.take_highest(211_B, 1_B), range(300, 511));
    EXPECT_EQ(regions.take_highest(243_B, 1_B), range(7, 250)) << "neighbouring windows are one";
  }
}

}  // namespace
}  // namespace tessera::sim
