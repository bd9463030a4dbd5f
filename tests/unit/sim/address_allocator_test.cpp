#include "address_allocator.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "naive_regions.h"
#include "support/printers.h"

namespace tessera::sim {
namespace {

constexpr DeviceAddress no_hint;

// Blocks of 8 granules, 4 bytes each.
constexpr Bytes granule = 4_B;
constexpr Bytes block = 32_B;

AddressAllocator allocator_of(std::uint64_t begin, std::uint64_t end) {
  return AddressAllocator({range(begin, end)}, block, granule);
}

TEST(AddressAllocator, FillsABlockFromItsBegin) {
  AddressAllocator addresses = allocator_of(0, 320);
  EXPECT_EQ(addresses.take(4_B, 0_B, no_hint), range(288, 292));
  EXPECT_EQ(addresses.take(8_B, 0_B, no_hint), range(292, 300));
  EXPECT_EQ(addresses.take(20_B, 0_B, no_hint), range(300, 320));
  EXPECT_EQ(addresses.take(4_B, 0_B, no_hint), range(256, 260)) << "a new block below the last";
  EXPECT_EQ(addresses.check_invariants(), "");
}

TEST(AddressAllocator, TakesTheLowestBlockWithRoom) {
  AddressAllocator addresses = allocator_of(0, 320);
  EXPECT_EQ(addresses.take(28_B, 0_B, no_hint), range(288, 316));
  EXPECT_EQ(addresses.take(24_B, 0_B, no_hint), range(256, 280));
  EXPECT_EQ(addresses.take(4_B, 0_B, no_hint), range(280, 284)) << "both have room";
  EXPECT_EQ(addresses.take(8_B, 0_B, no_hint), range(224, 232)) << "none has";
  EXPECT_EQ(addresses.check_invariants(), "");
}

TEST(AddressAllocator, GivesWholeBlocksBack) {
  AddressAllocator addresses = allocator_of(0, 64);
  const auto first = addresses.take(4_B, 0_B, no_hint);
  const auto second = addresses.take(4_B, 0_B, no_hint);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(addresses.take(64_B, 0_B, no_hint)) << "the upper block is shared";
  addresses.give_back(*first);
  EXPECT_FALSE(addresses.take(64_B, 0_B, no_hint));
  addresses.give_back(*second);
  EXPECT_EQ(addresses.take(64_B, 0_B, no_hint), range(0, 64));
  EXPECT_EQ(addresses.check_invariants(), "");
}

TEST(AddressAllocator, FillsHolesFirst) {
  AddressAllocator addresses = allocator_of(0, 320);
  std::vector<AddressRange> taken;
  for (int i = 0; i < 8; ++i) {
    taken.push_back(*addresses.take(4_B, 0_B, no_hint));
  }
  addresses.give_back(taken[2]);
  addresses.give_back(taken[5]);
  addresses.give_back(taken[6]);
  EXPECT_EQ(addresses.take(8_B, 0_B, no_hint), range(308, 316)) << "the first hole is too small";
  EXPECT_EQ(addresses.take(4_B, 0_B, no_hint), taken[2]);
  EXPECT_EQ(addresses.check_invariants(), "");
}

TEST(AddressAllocator, GivesLargeRangesARegionOfTheirOwn) {
  AddressAllocator addresses = allocator_of(0, 320);
  const auto large = addresses.take(36_B, 0_B, no_hint);
  EXPECT_EQ(large, range(256, 292)) << "whole blocks, as high as they fit";
  EXPECT_EQ(addresses.take(4_B, 0_B, no_hint), range(224, 228)) << "nobody shares the rest";
  EXPECT_EQ(addresses.take(32_B, 0_B, no_hint), range(192, 224)) << "just a block";
  addresses.give_back(*large);
  EXPECT_EQ(addresses.take(64_B, 0_B, no_hint), range(256, 320)) << "the rest was given back too";
  EXPECT_EQ(addresses.check_invariants(), "");
}

TEST(AddressAllocator, AlignsInsideBlocks) {
  AddressAllocator addresses = allocator_of(0, 320);
  EXPECT_EQ(addresses.take(4_B, 16_B, no_hint), range(288, 292));
  EXPECT_EQ(addresses.take(4_B, 16_B, no_hint), range(304, 308));
  EXPECT_EQ(addresses.take(4_B, 16_B, no_hint), range(256, 260)) << "a new block";
  EXPECT_EQ(addresses.take(4_B, 8_B, no_hint), range(264, 268));
  EXPECT_EQ(addresses.take(4_B, 1_B, no_hint), range(260, 264)) << "granules at the least";
  EXPECT_EQ(addresses.check_invariants(), "");
}

TEST(AddressAllocator, LooksPastABlockThatCannotAlign) {
  AddressAllocator addresses = allocator_of(0, 320);
  EXPECT_EQ(addresses.take(8_B, 0_B, no_hint), range(288, 296));
  EXPECT_EQ(addresses.take(28_B, 0_B, no_hint), range(256, 284));
  EXPECT_EQ(addresses.take(4_B, 8_B, no_hint), range(296, 300))
      << "the lower block's last granule is not aligned";
}

TEST(AddressAllocator, GivesAlignmentsBeyondABlockARegion) {
  AddressAllocator addresses = allocator_of(0, 320);
  const auto aligned = addresses.take(4_B, 128_B, no_hint);
  EXPECT_EQ(aligned, range(256, 260));
  EXPECT_EQ(addresses.take(4_B, 0_B, no_hint), range(288, 292)) << "its block is not shared";
  EXPECT_EQ(addresses.take(4_B, 128_B, no_hint), range(128, 132));
  EXPECT_EQ(addresses.take(4_B, 512_B, no_hint), range(0, 4));
  EXPECT_FALSE(addresses.take(4_B, 512_B, no_hint));
  addresses.give_back(*aligned);
  EXPECT_EQ(addresses.take(4_B, 256_B, no_hint), range(256, 260));
  EXPECT_EQ(addresses.check_invariants(), "");
}

TEST(AddressAllocator, HonoursAHintInsideABlock) {
  AddressAllocator addresses = allocator_of(0, 320);
  EXPECT_EQ(addresses.take(4_B, 0_B, no_hint), range(288, 292));
  EXPECT_EQ(addresses.take(8_B, 0_B, DeviceAddress(304)), range(304, 312));
  EXPECT_EQ(addresses.take(8_B, 0_B, DeviceAddress(312)), range(312, 320)) << "up to its end";
  EXPECT_EQ(addresses.check_invariants(), "");
}

TEST(AddressAllocator, PassesOverAHintThatCannotBe) {
  // Where each goes instead, in a block with one granule taken.
  const auto take_with = [](Bytes size, Bytes alignment, std::uint64_t hint) {
    AddressAllocator addresses = allocator_of(64, 320);
    EXPECT_EQ(addresses.take(4_B, 0_B, no_hint), range(288, 292));
    const auto taken = addresses.take(size, alignment, DeviceAddress(hint));
    EXPECT_EQ(addresses.check_invariants(), "");
    return taken;
  };
  EXPECT_EQ(take_with(4_B, 0_B, 288), range(292, 296)) << "taken";
  EXPECT_EQ(take_with(8_B, 0_B, 316), range(292, 300)) << "runs past the block";
  EXPECT_EQ(take_with(4_B, 0_B, 256), range(292, 296)) << "in no block yet";
  EXPECT_EQ(take_with(4_B, 0_B, 8), range(292, 296)) << "outside the window";
  EXPECT_EQ(take_with(4_B, 0_B, 320), range(292, 296)) << "behind the last block";
  EXPECT_EQ(take_with(4_B, 0_B, 302), range(292, 296)) << "not on a granule";
  EXPECT_EQ(take_with(4_B, 16_B, 312), range(304, 308)) << "not aligned as asked";
  EXPECT_EQ(take_with(4_B, 16_B, 304), range(304, 308)) << "aligned as asked";
  EXPECT_EQ(take_with(36_B, 0_B, 292), range(224, 260)) << "larger than a block";
  EXPECT_EQ(take_with(4_B, 0_B, ~std::uint64_t{0}), range(292, 296)) << "the end of all addresses";
}

TEST(AddressAllocator, UsesSeveralWindows) {
  // The upper one has room for a block but not where it begins; the lower one has two.
  AddressAllocator addresses({range(0, 64), range(100, 170)}, block, granule);
  EXPECT_EQ(addresses.take(32_B, 0_B, no_hint), range(128, 160));
  EXPECT_EQ(addresses.take(32_B, 0_B, no_hint), range(32, 64));
  EXPECT_EQ(addresses.take(4_B, 0_B, no_hint), range(0, 4));
  EXPECT_EQ(addresses.take(28_B, 0_B, no_hint), range(4, 32));
  EXPECT_FALSE(addresses.take(4_B, 0_B, no_hint)) << "what is left of the windows is no block";
  EXPECT_EQ(addresses.check_invariants(), "");
}

TEST(AddressAllocator, GivesNothingMoreWhenExhausted) {
  AddressAllocator addresses = allocator_of(0, 64);
  EXPECT_FALSE(addresses.take(68_B, 0_B, no_hint));
  EXPECT_FALSE(addresses.take(Bytes(~std::uint64_t{3}), 0_B, no_hint)) << "rounding up wraps";
  const auto all = addresses.take(64_B, 0_B, no_hint);
  ASSERT_TRUE(all);
  EXPECT_FALSE(addresses.take(4_B, 0_B, no_hint));
  addresses.give_back(*all);
  EXPECT_TRUE(addresses.take(4_B, 0_B, no_hint));
  EXPECT_EQ(addresses.check_invariants(), "");
}

TEST(AddressAllocator, HasBlocksOfOneGranuleAndOfSixtyFour) {
  AddressAllocator single({range(0, 16)}, 4_B, 4_B);
  EXPECT_EQ(single.take(4_B, 0_B, no_hint), range(12, 16));
  EXPECT_EQ(single.take(8_B, 0_B, no_hint), range(4, 12));
  EXPECT_EQ(single.take(4_B, 0_B, no_hint), range(0, 4));
  EXPECT_FALSE(single.take(4_B, 0_B, no_hint));
  EXPECT_EQ(single.check_invariants(), "");
  AddressAllocator many({range(0, 128)}, 64_B, 1_B);
  EXPECT_EQ(many.take(64_B, 0_B, no_hint), range(64, 128));
  EXPECT_EQ(many.take(63_B, 0_B, no_hint), range(0, 63));
  EXPECT_EQ(many.take(1_B, 0_B, no_hint), range(63, 64));
  EXPECT_FALSE(many.take(1_B, 0_B, no_hint));
  many.give_back(range(64, 128));
  EXPECT_EQ(many.take(1_B, 0_B, no_hint), range(64, 65));
  EXPECT_EQ(many.check_invariants(), "");
}

TEST(AddressAllocator, SharesTheBlockOfTheDriver) {
  AddressAllocator addresses = allocator_of(0, 320);
  EXPECT_EQ(addresses.take_shared_block({range(0, 4), range(9, 14)}), DeviceAddress(288));
  EXPECT_EQ(addresses.take(4_B, 0_B, no_hint), range(292, 296));
  EXPECT_EQ(addresses.take(8_B, 0_B, no_hint), range(304, 312)) << "parts of granules are taken";
  addresses.give_back(range(292, 296));
  addresses.give_back(range(304, 312));
  EXPECT_EQ(addresses.take(32_B, 0_B, no_hint), range(256, 288)) << "the driver's stay for good";
  EXPECT_EQ(addresses.check_invariants(), "");
}

TEST(AddressAllocator, SharesOnlyTheFirstOfTheDriversBlocks) {
  AddressAllocator addresses = allocator_of(0, 320);
  EXPECT_EQ(addresses.take_shared_block({range(0, 16), range(28, 40), range(64, 68)}),
            DeviceAddress(224));
  EXPECT_EQ(addresses.take(12_B, 0_B, no_hint), range(240, 252));
  EXPECT_EQ(addresses.take(4_B, 0_B, no_hint), range(192, 196));
  EXPECT_EQ(addresses.take(4_B, 0_B, DeviceAddress(300)), range(196, 200))
      << "above its first block nobody gets in";
  EXPECT_EQ(addresses.check_invariants(), "");
}

TEST(AddressAllocator, TakesNoAddressesWhenItCannotShareABlock) {
  AddressAllocator addresses = allocator_of(0, 64);
  EXPECT_FALSE(addresses.take_shared_block({}));
  EXPECT_FALSE(addresses.take_shared_block({range(0, 4), range(96, 100)})) << "too large";
  EXPECT_FALSE(addresses.take_shared_block({range(32, 36)})) << "nothing in the shared block";
  EXPECT_EQ(addresses.take(64_B, 0_B, no_hint), range(0, 64));
  EXPECT_EQ(addresses.check_invariants(), "");
}

// The rules at the top of address_allocator.h, word by word.
class NaiveAllocator {
 public:
  explicit NaiveAllocator(const std::vector<AddressRange>& windows) : regions_(windows) {}

  std::optional<AddressRange> take(Bytes size, Bytes alignment, DeviceAddress hint) {
    alignment = std::max(alignment, granule);
    if (size > block || alignment > block) {
      const auto region = regions_.take(align_up(size, block), std::max(alignment, block));
      return region ? std::optional(AddressRange(region->begin(), size)) : std::nullopt;
    }
    for (const auto& [base, inside] : blocks_) {
      if (is_aligned(hint, alignment) && base <= hint && hint < base + block &&
          inside.is_free({hint, size})) {
        return take_at(hint, size);
      }
    }
    for (const auto& [base, inside] : blocks_) {
      for (DeviceAddress at = base; at < base + block; at = at + granule) {
        if (is_aligned(at, alignment) && inside.is_free({at, size})) {
          return take_at(at, size);
        }
      }
    }
    const auto region = regions_.take(block, block);
    if (!region) {
      return std::nullopt;
    }
    blocks_.emplace(region->begin(), NaiveRegions({*region}));
    return take_at(region->begin(), size);
  }
  void give_back(AddressRange taken) {
    const DeviceAddress base(align_down(Bytes(taken.begin().value()), block).value());
    const auto found = blocks_.find(base);
    if (found == blocks_.end()) {
      regions_.give_back({taken.begin(), align_up(taken.size(), block)});
      return;
    }
    found->second.give_back(taken);
    if (found->second.is_free({base, block})) {
      blocks_.erase(found);
      regions_.give_back({base, block});
    }
  }

 private:
  AddressRange take_at(DeviceAddress at, Bytes size) {
    const DeviceAddress base(align_down(Bytes(at.value()), block).value());
    blocks_.at(base).take_exactly({at, size});
    return {at, size};
  }

  NaiveRegions regions_;
  std::map<DeviceAddress, NaiveRegions> blocks_;
};

TEST(AddressAllocator, AgreesWithANaiveOne) {
  const std::vector<AddressRange> windows = {range(20, 300), range(310, 330), range(416, 700)};
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    std::mt19937_64 random(seed);
    AddressAllocator addresses(windows, block, granule);
    NaiveAllocator naive(windows);
    std::vector<AddressRange> taken;
    for (int step = 0; step < 1'500; ++step) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", step " << step);
      if (!taken.empty() && random() % 5 < 2) {
        const std::size_t which = random() % taken.size();
        addresses.give_back(taken[which]);
        naive.give_back(taken[which]);
        taken[which] = taken.back();
        taken.pop_back();
      } else {
        const Bytes size = granule * (1 + random() % (random() % 6 == 0 ? 24 : 5));
        const Bytes alignment(random() % 2 == 0 ? 0 : 1ULL << random() % 8);
        const DeviceAddress hint(random() % 2 == 0 ? 0 : random() % 720);
        const auto got = addresses.take(size, alignment, hint);
        ASSERT_EQ(got, naive.take(size, alignment, hint));
        if (got) {
          ASSERT_TRUE(alignment.is_zero() || is_aligned(got->begin(), alignment));
          taken.push_back(*got);
        }
      }
      ASSERT_EQ(addresses.check_invariants(), "");
    }
    for (const AddressRange& some : taken) {
      addresses.give_back(some);
    }
    EXPECT_EQ(addresses.take(256_B, 0_B, no_hint), range(416, 672)) << "all was given back";
    EXPECT_EQ(addresses.take(256_B, 0_B, no_hint), range(32, 288));
  }
}

TEST(AddressAllocatorDeathTest, RefusesWhatItNeverGave) {
  AddressAllocator addresses = allocator_of(0, 320);
  ASSERT_EQ(addresses.take(4_B, 0_B, no_hint), range(288, 292));
  EXPECT_DEATH(addresses.give_back(range(292, 296)), "check failed");
  EXPECT_DEATH(addresses.give_back(range(288, 296)), "check failed");
}

TEST(AddressAllocatorDeathTest, HasOneToSixtyFourWholeGranulesInABlock) {
  EXPECT_DEATH(AddressAllocator({range(0, 320)}, 65_B, 1_B), "check failed");
  EXPECT_DEATH(AddressAllocator({range(0, 320)}, 6_B, 4_B), "check failed");
  EXPECT_DEATH(AddressAllocator({range(0, 320)}, 0_B, 4_B), "check failed");
}

}  // namespace
}  // namespace tessera::sim
