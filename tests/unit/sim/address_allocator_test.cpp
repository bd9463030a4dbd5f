#include "address_allocator.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "naive_regions.h"
#include "support/printers.h"

namespace tessera::sim {
namespace {

// Blocks of 8 granules, 4 bytes each.
constexpr Bytes granule = 4_B;
constexpr Bytes block = 32_B;

AddressAllocator allocator_of(std::uint64_t begin, std::uint64_t end) {
  return AddressAllocator({range(begin, end)}, block, granule);
}

// --- As measured on an H200: granules of 2 MiB ---

constexpr Bytes u = 2_MiB;

class MeasuredAddresses : public testing::Test {
 protected:
  std::uint64_t take(std::uint64_t granules, Bytes alignment = {}, std::uint64_t hint = 0) {
    const auto taken =
        addresses.take({.size = u * granules, .alignment = alignment, .hint = DeviceAddress(hint)});
    EXPECT_EQ(addresses.check_invariants(), "");
    return taken ? taken->begin().value() : 0;
  }
  void give_back(std::uint64_t begin, std::uint64_t granules) {
    addresses.give_back({DeviceAddress(begin), u * granules});
    EXPECT_EQ(addresses.check_invariants(), "");
  }

  AddressAllocator addresses = AddressAllocator(
      {range(0x3'0200'0000, 0x100'0000'0000), range(0x100'0400'0000, 0x5555'5400'0000)}, 32_MiB, u);
};

TEST_F(MeasuredAddresses, FillABlockThenOpenTheNext) {
  for (std::uint64_t i = 0; i < 16; ++i) {
    EXPECT_EQ(take(1), 0x3'0200'0000 + i * u.value());
  }
  EXPECT_EQ(take(1), 0x3'0400'0000U);
}

TEST_F(MeasuredAddresses, UseTheRestOfTheNewestBlockFirst) {
  EXPECT_EQ(take(16), 0x3'0200'0000U);
  EXPECT_EQ(take(4), 0x3'0400'0000U);
  EXPECT_EQ(take(20), 0x3'0600'0000U);
  EXPECT_EQ(take(1), 0x3'0880'0000U) << "the rest of the newest";
  EXPECT_EQ(take(12), 0x3'0480'0000U) << "only the older block has room";
  EXPECT_EQ(take(12), 0x3'0a00'0000U) << "none has";
}

TEST_F(MeasuredAddresses, UseTheRestOfTheLastOfSeveral) {
  for (std::uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(take(20), 0x3'0200'0000 + i * 0x400'0000);
  }
  EXPECT_EQ(take(1), 0x3'1200'0000 + 20 * u.value());
}

TEST_F(MeasuredAddresses, UseTheLowestPlaceForANewBlock) {
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(take(16), 0x3'0200'0000 + i * 0x200'0000);
  }
  give_back(0x3'0400'0000, 16);
  EXPECT_EQ(take(16), 0x3'0400'0000U);
  give_back(0x3'0200'0000, 16);
  give_back(0x3'0600'0000, 16);
  EXPECT_EQ(take(32), 0x3'0a00'0000U);
  EXPECT_EQ(take(16), 0x3'0200'0000U);
  EXPECT_EQ(take(16), 0x3'0600'0000U);
}

TEST_F(MeasuredAddresses, MakeABlockAsLargeAsTheAlignment) {
  EXPECT_EQ(take(1, 1_GiB), 0x3'4000'0000U);
  EXPECT_EQ(take(1, 64_MiB), 0x3'4400'0000U);
  EXPECT_EQ(take(20), 0x3'4020'0000U) << "after the first";
  EXPECT_EQ(take(16), 0x3'4420'0000U) << "after the second";
  EXPECT_EQ(take(512), 0x3'8000'0000U) << "the block ends";
}

TEST_F(MeasuredAddresses, HonourHintsInsideAndOutsideBlocks) {
  EXPECT_EQ(take(1), 0x3'0200'0000U);
  EXPECT_EQ(take(1, {}, 0x3'0300'0000), 0x3'0300'0000U) << "free in a block";
  EXPECT_EQ(take(1, {}, 0x4'0000'0000), 0x4'0000'0000U) << "free, outside all blocks";
  EXPECT_EQ(take(1, {}, 0x3'1000'0000), 0x4'0020'0000U) << "a block above has room";
  EXPECT_EQ(take(16, {}, 0x3'1000'0000), 0x3'1000'0000U) << "none has";
  EXPECT_EQ(take(16, {}, 0x5'0080'0000), 0x5'0200'0000U) << "the lowest place above";
  EXPECT_EQ(take(1, {}, 0x100'0000'0000), 0x100'0400'0000U) << "between windows";
}

// --- Each rule ---

TEST(AddressAllocator, GivesBlocksBackWhenTheyAreEmpty) {
  AddressAllocator addresses = allocator_of(0, 64);
  EXPECT_EQ(addresses.take({.size = 4_B}), range(0, 4));
  EXPECT_EQ(addresses.take({.size = 4_B}), range(4, 8));
  EXPECT_FALSE(addresses.take({.size = 64_B}));
  addresses.give_back(range(0, 4));
  EXPECT_FALSE(addresses.take({.size = 64_B})) << "the block is not empty";
  addresses.give_back(range(4, 8));
  EXPECT_EQ(addresses.take({.size = 64_B}), range(0, 64));
  addresses.give_back(range(0, 64));
  EXPECT_EQ(addresses.take({.size = 64_B}), range(0, 64));
  EXPECT_EQ(addresses.check_invariants(), "");
}

TEST(AddressAllocator, FillsTheFirstHoleThatFits) {
  AddressAllocator addresses = allocator_of(0, 320);
  EXPECT_EQ(addresses.take({.size = 32_B}), range(0, 32));
  addresses.give_back(range(0, 32));
  for (std::uint64_t at = 0; at < 32; at += 4) {
    EXPECT_EQ(addresses.take({.size = 4_B}), range(at, at + 4));
  }
  addresses.give_back(range(8, 12));
  addresses.give_back(range(24, 28));
  addresses.give_back(range(20, 24));
  EXPECT_EQ(addresses.take({.size = 8_B}), range(20, 28)) << "the first hole is too small";
  EXPECT_EQ(addresses.take({.size = 4_B}), range(8, 12));
  EXPECT_EQ(addresses.check_invariants(), "");
}

TEST(AddressAllocator, LooksPastABlockThatCannotAlign) {
  AddressAllocator addresses = allocator_of(0, 320);
  EXPECT_EQ(addresses.take({.size = 8_B}), range(0, 8));
  EXPECT_EQ(addresses.take({.size = 28_B}), range(32, 60));
  EXPECT_EQ(addresses.take({.size = 4_B, .alignment = 8_B}), range(8, 12))
      << "the newest block's last granule is not aligned";
  EXPECT_EQ(addresses.take({.size = 4_B, .alignment = 1_B}), range(60, 64)) << "granules at least";
}

TEST(AddressAllocator, PassesOverAHintThatCannotBe) {
  const auto take_with = [](Bytes size, Bytes alignment, std::uint64_t hint) {
    AddressAllocator addresses = allocator_of(64, 320);
    EXPECT_EQ(addresses.take({.size = 4_B}), range(64, 68));
    const auto taken =
        addresses.take({.size = size, .alignment = alignment, .hint = DeviceAddress(hint)});
    EXPECT_EQ(addresses.check_invariants(), "");
    return taken;
  };
  EXPECT_EQ(take_with(4_B, 0_B, 64), range(68, 72)) << "taken";
  EXPECT_EQ(take_with(4_B, 0_B, 8), range(68, 72)) << "below all blocks: they are above";
  EXPECT_EQ(take_with(8_B, 0_B, 92), range(96, 104)) << "runs past the block";
  EXPECT_EQ(take_with(4_B, 0_B, 82), range(84, 88)) << "not on a granule";
  EXPECT_EQ(take_with(4_B, 16_B, 84), range(96, 100)) << "not aligned, nor room after it";
  EXPECT_EQ(take_with(4_B, 0_B, 320), range(96, 100)) << "above all: a new block anywhere";
  EXPECT_EQ(take_with(4_B, 16_B, ~std::uint64_t{0}), range(96, 100)) << "aligning it wraps";
}

TEST(AddressAllocator, TakesBelowTheHintRatherThanNothing) {
  AddressAllocator addresses = allocator_of(0, 32);
  EXPECT_EQ(addresses.take({.size = 4_B}), range(0, 4));
  EXPECT_EQ(addresses.take({.size = 4_B, .hint = DeviceAddress(64)}), range(4, 8));
  EXPECT_FALSE(addresses.take({.size = 32_B, .hint = DeviceAddress(64)}));
}

TEST(AddressAllocator, OpensBlocksAtTheTopForWhatPrefersIt) {
  AddressAllocator addresses = allocator_of(0, 320);
  EXPECT_EQ(addresses.take({.size = 4_B, .prefers_top = true}), range(288, 292));
  EXPECT_EQ(addresses.take({.size = 36_B, .prefers_top = true}), range(224, 260));
  EXPECT_EQ(addresses.take({.size = 4_B}), range(260, 264)) << "blocks are for all";
  EXPECT_EQ(addresses.take({.size = 32_B}), range(0, 32));
  EXPECT_EQ(addresses.check_invariants(), "");
}

TEST(AddressAllocator, UsesSeveralWindowsUntilTheyAreExhausted) {
  AddressAllocator addresses({range(100, 170), range(0, 64)}, block, granule);
  EXPECT_EQ(addresses.take({.size = 64_B}), range(0, 64));
  EXPECT_EQ(addresses.take({.size = 4_B}), range(128, 132));
  EXPECT_EQ(addresses.take({.size = 28_B}), range(132, 160));
  EXPECT_FALSE(addresses.take({.size = 4_B})) << "what is left of the windows is no block";
  EXPECT_FALSE(addresses.take({.size = Bytes(~std::uint64_t{3})})) << "rounding up wraps";
  EXPECT_EQ(addresses.check_invariants(), "");
  AddressAllocator none(std::vector<AddressRange>{}, block, granule);
  EXPECT_FALSE(none.take({.size = 4_B}));
}

TEST(AddressAllocator, GivesNothingForNothing) {
  AddressAllocator addresses = allocator_of(0, 64);
  EXPECT_FALSE(addresses.take({.size = 0_B}));
  EXPECT_FALSE(addresses.take({.size = 0_B, .alignment = 64_B, .hint = DeviceAddress(32)}));
  EXPECT_EQ(addresses.take({.size = 64_B}), range(0, 64));
  EXPECT_EQ(addresses.check_invariants(), "");
}

TEST(AddressAllocator, KeepsTheDriversAddressesForGood) {
  AddressAllocator addresses = allocator_of(0, 320);
  EXPECT_EQ(addresses.take_for_driver(60_B, {range(4, 8), range(40, 56)}), DeviceAddress(256));
  EXPECT_EQ(addresses.take({.size = 8_B}), range(296, 304)) << "the first is too small";
  EXPECT_EQ(addresses.take({.size = 4_B}), range(260, 264)) << "the first is the newest";
  EXPECT_EQ(addresses.take({.size = 4_B, .hint = DeviceAddress(308)}), range(308, 312));
  addresses.give_back(range(260, 264));
  addresses.give_back(range(296, 304));
  addresses.give_back(range(308, 312));
  EXPECT_EQ(addresses.check_invariants(), "");
  EXPECT_EQ(addresses.take({.size = 16_B}), range(296, 312)) << "free again, and still there";
  EXPECT_EQ(addresses.take({.size = 256_B}), range(0, 256));
  EXPECT_EQ(addresses.take({.size = 4_B}), range(260, 264));
  EXPECT_FALSE(addresses.take({.size = 4_B}));
  EXPECT_EQ(addresses.check_invariants(), "");
}

TEST(AddressAllocator, KeepsNothingForTheDriverWithoutRoom) {
  AddressAllocator addresses = allocator_of(0, 64);
  EXPECT_FALSE(addresses.take_for_driver(0_B, {}));
  EXPECT_FALSE(addresses.take_for_driver(65_B, {range(0, 4)}));
  EXPECT_FALSE(addresses.take_for_driver(Bytes(~std::uint64_t{0}), {}));
  EXPECT_EQ(addresses.take({.size = 64_B}), range(0, 64));
  EXPECT_EQ(addresses.check_invariants(), "");
}

// The rules at the top of address_allocator.h, word by word.
class NaiveAllocator {
 public:
  explicit NaiveAllocator(const std::vector<AddressRange>& windows) : regions_(windows) {}

  std::optional<AddressRange> take(const AddressAllocator::Request& request) {
    const Bytes alignment = std::max(request.alignment, granule);
    for (Block& some : blocks_) {
      const AddressRange wanted(request.hint, request.size);
      if (!request.hint.is_null() && is_aligned(request.hint, alignment) &&
          some.free.is_free(wanted) && some.range.contains(wanted)) {
        some.free.take_exactly(wanted);
        return wanted;
      }
    }
    if (const auto range = take_in_blocks(request.size, alignment, request.hint)) {
      return range;
    }
    const Bytes size = align_up(std::max(request.size, alignment), block);
    const Bytes block_alignment = std::max(alignment, block);
    auto region = request.prefers_top ? regions_.take_highest(size, block_alignment)
                                      : regions_.take_lowest(size, block_alignment, request.hint);
    if (!region) {
      region = regions_.take_lowest(size, block_alignment, DeviceAddress());
    }
    if (!region) {
      return take_in_blocks(request.size, alignment, DeviceAddress());
    }
    blocks_.insert(blocks_.begin(), {*region, NaiveRegions({*region}), false});
    return take_in_blocks(request.size, alignment, region->begin());
  }
  void take_for_driver(Bytes size, const std::vector<AddressRange>& free) {
    const auto region = regions_.take_highest(align_up(size, block), block);
    for (std::size_t i = 0; i < free.size(); ++i) {
      const AddressRange some(region->begin() + Bytes(free[i].begin().value()), free[i].size());
      blocks_.push_back({some, NaiveRegions({some}), true});
    }
  }
  void give_back(AddressRange taken) {
    const auto around = std::find_if(blocks_.begin(), blocks_.end(),
                                     [&](const Block& some) { return some.range.contains(taken); });
    around->free.give_back(taken);
    if (!around->is_driver && around->free.is_free(around->range)) {
      regions_.give_back(around->range);
      blocks_.erase(around);
    }
  }

 private:
  struct Block {
    AddressRange range;
    NaiveRegions free;
    bool is_driver;
  };
  std::optional<AddressRange> take_in_blocks(Bytes size, Bytes alignment, DeviceAddress from) {
    for (Block& some : blocks_) {
      if (const auto range = some.free.take_lowest(size, alignment, from)) {
        return range;
      }
    }
    return std::nullopt;
  }

  NaiveRegions regions_;
  std::vector<Block> blocks_;  // the newest first
};

TEST(AddressAllocator, AgreesWithANaiveOne) {
  const std::vector<AddressRange> windows = {range(20, 300), range(310, 330), range(416, 700)};
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    std::mt19937_64 random(seed);
    AddressAllocator addresses(windows, block, granule);
    NaiveAllocator naive(windows);
    const bool has_driver = seed % 2 == 0;
    if (has_driver) {
      ASSERT_TRUE(addresses.take_for_driver(60_B, {range(4, 8), range(32, 56)}));
      naive.take_for_driver(60_B, {range(4, 8), range(32, 56)});
    }
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
        const AddressAllocator::Request request = {
            .size = size, .alignment = alignment, .hint = hint, .prefers_top = random() % 4 == 0};
        const auto got = addresses.take(request);
        ASSERT_EQ(got, naive.take(request));
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
    EXPECT_EQ(addresses.take({.size = 256_B}), range(32, 288)) << "all was given back";
    EXPECT_EQ(addresses.take({.size = 192_B}), range(416, 608));
  }
}

TEST(AddressAllocatorDeathTest, RefusesWhatItNeverGave) {
  AddressAllocator addresses = allocator_of(0, 320);
  ASSERT_EQ(addresses.take({.size = 4_B}), range(0, 4));
  EXPECT_DEATH(addresses.give_back(range(4, 8)), "check failed");
  EXPECT_DEATH(addresses.give_back(range(0, 8)), "check failed");
  EXPECT_DEATH(addresses.give_back(range(0, 64)), "check failed");
  EXPECT_DEATH(addresses.give_back(range(64, 68)), "check failed");
  EXPECT_DEATH(static_cast<void>(addresses.take({.size = 5_B})), "check failed");
}

TEST(AddressAllocatorDeathTest, WantsPowersOfTwo) {
  EXPECT_DEATH(AddressAllocator({range(0, 320)}, 24_B, 4_B), "check failed");
  EXPECT_DEATH(AddressAllocator({range(0, 320)}, 32_B, 3_B), "check failed");
  EXPECT_DEATH(AddressAllocator({range(0, 320)}, 2_B, 4_B), "check failed");
  EXPECT_DEATH(AddressAllocator({range(0, 320)}, 0_B, 4_B), "check failed");
  EXPECT_DEATH(AddressAllocator({range(0, 320)}, 32_B, 0_B), "check failed");
}

}  // namespace
}  // namespace tessera::sim
