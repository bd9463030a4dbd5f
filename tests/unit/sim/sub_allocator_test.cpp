#include "sub_allocator.h"

#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

AddressRange block(std::uint64_t begin, Bytes size = 2_MiB) { return {DeviceAddress(begin), size}; }

TEST(SubAllocator, HasNothingWithoutBlocks) {
  SubAllocator allocator(512_B);
  EXPECT_FALSE(allocator.allocate(1_B));
  EXPECT_THAT(allocator.blocks(), IsEmpty());
  EXPECT_EQ(allocator.check_invariants(), "");
}

// As recorded: 1, 1, 255, 257 and 4096 bytes in one block.
TEST(SubAllocator, PacksRoundedPartsFromTheBegin) {
  SubAllocator allocator(512_B);
  allocator.add_block(block(0x20'0000));
  EXPECT_EQ(allocator.allocate(1_B), block(0x20'0000, 512_B));
  EXPECT_EQ(allocator.allocate(1_B), block(0x20'0200, 512_B));
  EXPECT_EQ(allocator.allocate(255_B), block(0x20'0400, 512_B));
  EXPECT_EQ(allocator.allocate(257_B), block(0x20'0600, 512_B));
  EXPECT_EQ(allocator.allocate(4_KiB), block(0x20'0800, 4_KiB));
  EXPECT_EQ(allocator.allocate(0_B), block(0x20'1800, 512_B));
  EXPECT_EQ(allocator.allocated(), 6_KiB + 512_B);
  EXPECT_EQ(allocator.check_invariants(), "");
}

TEST(SubAllocator, UsesTheLowestPlaceThatFits) {
  SubAllocator allocator(512_B);
  allocator.add_block(block(0x40'0000, 4_KiB));
  allocator.add_block(block(0x20'0000, 4_KiB));
  const auto first = allocator.allocate(1_KiB);
  const auto second = allocator.allocate(3_KiB);
  const auto third = allocator.allocate(2_KiB);
  ASSERT_TRUE(first && second && third);
  EXPECT_EQ(first->begin(), DeviceAddress(0x20'0000));
  EXPECT_EQ(third->begin(), DeviceAddress(0x40'0000));
  EXPECT_FALSE(allocator.free(first->begin()));
  EXPECT_EQ(allocator.allocate(2_KiB)->begin(), DeviceAddress(0x40'0800));
  EXPECT_EQ(allocator.allocate(512_B)->begin(), DeviceAddress(0x20'0000));
}

TEST(SubAllocator, SaysWhenABlockBecameEmpty) {
  SubAllocator allocator(512_B);
  allocator.add_block(block(0x20'0000));
  const auto first = allocator.allocate(1_MiB);
  const auto second = allocator.allocate(1_MiB);
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(allocator.owns(second->begin()));
  EXPECT_FALSE(allocator.owns(second->begin() + 512_B));
  EXPECT_FALSE(allocator.free(first->begin()));
  EXPECT_FALSE(allocator.owns(first->begin()));
  EXPECT_THAT(allocator.empty_blocks(), IsEmpty());
  EXPECT_EQ(allocator.free(second->begin()), block(0x20'0000));
  EXPECT_THAT(allocator.empty_blocks(), ElementsAre(block(0x20'0000)));
  allocator.remove_block(block(0x20'0000));
  EXPECT_THAT(allocator.blocks(), IsEmpty());
  EXPECT_FALSE(allocator.allocate(1_B));
}

TEST(SubAllocator, NeverCrossesTheBorderOfTwoBlocks) {
  SubAllocator allocator(512_B);
  allocator.add_block(block(0x20'0000, 1_KiB));
  allocator.add_block(block(0x20'0400, 1_KiB));
  EXPECT_FALSE(allocator.allocate(2_KiB));
  const auto below = allocator.allocate(1_KiB);
  const auto above = allocator.allocate(1_KiB);
  ASSERT_TRUE(below && above);
  EXPECT_TRUE(allocator.free(above->begin()));
  EXPECT_TRUE(allocator.free(below->begin()));
  EXPECT_FALSE(allocator.allocate(2_KiB));
  EXPECT_EQ(allocator.check_invariants(), "");
  allocator.remove_block(block(0x20'0000, 1_KiB));
  EXPECT_EQ(allocator.allocate(1_KiB)->begin(), DeviceAddress(0x20'0400));
}

TEST(SubAllocator, RefusesSizesThatNoBlockHas) {
  SubAllocator allocator(512_B);
  allocator.add_block(block(0x20'0000));
  EXPECT_FALSE(allocator.allocate(2_MiB + 1_B));
  EXPECT_FALSE(allocator.allocate(Bytes(~0ULL)));
  EXPECT_TRUE(allocator.allocate(2_MiB));
}

TEST(SubAllocator, RoundsToAnyAlignment) {
  SubAllocator allocator(768_B);
  allocator.add_block(block(768 * 100, 768_B * 3));
  EXPECT_EQ(allocator.allocate(769_B), block(768 * 100, 1536_B));
  EXPECT_FALSE(allocator.allocate(769_B));
}

// The model: the lowest place, found by walking through all parts.
class Model {
 public:
  void add_block(AddressRange block) { blocks_.emplace(block.begin(), block); }
  std::optional<AddressRange> allocate(Bytes size) {
    for (const auto& [begin, block] : blocks_) {
      DeviceAddress place = begin;
      for (auto part = parts_.lower_bound(begin); place < block.end(); ++part) {
        const bool is_last = part == parts_.end() || part->first >= block.end();
        const DeviceAddress end = is_last ? block.end() : part->first;
        if (end - place >= size) {
          parts_.emplace(place, size);
          return AddressRange(place, size);
        }
        if (is_last) {
          break;
        }
        place = part->first + part->second;
      }
    }
    return std::nullopt;
  }
  void free(DeviceAddress part) { parts_.erase(part); }
  [[nodiscard]] DeviceAddress part(std::size_t index) const {
    return std::next(parts_.begin(), static_cast<std::ptrdiff_t>(index))->first;
  }
  [[nodiscard]] std::size_t parts() const { return parts_.size(); }

 private:
  std::map<DeviceAddress, AddressRange> blocks_;
  std::map<DeviceAddress, Bytes> parts_;
};

TEST(SubAllocator, AnswersAsAModelUnderRandomUse) {
  std::mt19937_64 random(20240607);
  SubAllocator allocator(16_B);
  Model model;
  for (std::uint64_t i = 1; i <= 6; ++i) {
    const AddressRange added = block(i * 0x1000, Bytes(i % 2 == 0 ? 0x1000 : 0x800));
    allocator.add_block(added);
    model.add_block(added);
  }
  for (int step = 0; step < 20'000; ++step) {
    if (model.parts() > 0 && random() % 100 < 45) {
      const DeviceAddress part = model.part(random() % model.parts());
      model.free(part);
      (void)allocator.free(part);
      ASSERT_FALSE(allocator.owns(part));
    } else {
      const Bytes size = Bytes(1 + random() % (step % 7 == 0 ? 120 : 6)) * 16;
      ASSERT_EQ(allocator.allocate(size), model.allocate(size)) << "step " << step;
    }
    if (step % 16 == 0) {
      ASSERT_EQ(allocator.check_invariants(), "") << "step " << step;
    }
  }
  while (model.parts() > 0) {
    const DeviceAddress part = model.part(0);
    model.free(part);
    (void)allocator.free(part);
  }
  EXPECT_EQ(allocator.empty_blocks().size(), 6U);
  EXPECT_EQ(allocator.allocated(), 0_B);
  EXPECT_EQ(allocator.check_invariants(), "");
}

TEST(SubAllocator, HoldsTwentyThousandParts) {
  SubAllocator allocator(512_B);
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    allocator.add_block(block(0x1'0000'0000 + i * 0x20'0000));
    ASSERT_TRUE(allocator.allocate(1_MiB));
    ASSERT_TRUE(allocator.allocate(1_MiB));
  }
  const DeviceAddress middle(0x1'0000'0000 + 5'000 * 0x20'0000ULL);
  for (int i = 0; i < 20'000; ++i) {
    (void)allocator.free(middle);
    ASSERT_EQ(allocator.allocate(1_MiB)->begin(), middle);
  }
  EXPECT_EQ(allocator.check_invariants(), "");
}

TEST(SubAllocatorDeath, RefusesMisuse) {
  SubAllocator allocator(512_B);
  allocator.add_block(block(0x20'0000));
  const auto part = allocator.allocate(1_KiB);
  ASSERT_TRUE(part);
  EXPECT_DEATH((void)allocator.free(part->begin() + 512_B), "");
  EXPECT_DEATH(allocator.remove_block(block(0x20'0000)), "");
  EXPECT_DEATH(allocator.remove_block(block(0x40'0000)), "");
  EXPECT_DEATH(allocator.add_block(block(0x30'0000)), "");
  EXPECT_DEATH(allocator.add_block(block(0x10'0000)), "");
  EXPECT_DEATH(allocator.add_block(block(0x20'0000)), "");
  EXPECT_DEATH(allocator.add_block(block(0x50'0001)), "");
  EXPECT_DEATH(SubAllocator(0_B), "");
}

}  // namespace
}  // namespace tessera::sim
