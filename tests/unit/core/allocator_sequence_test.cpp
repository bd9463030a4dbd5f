#include "testing/allocator_sequence.h"

#include <array>
#include <cstdint>
#include <set>
#include <span>

#include <gmock/gmock.h>

namespace tessera::testing {
namespace {

using ::testing::ElementsAre;

constexpr AllocatorOp allocate(std::size_t block, Bytes size = 1_B) {
  return {.block = block, .size = size};
}
constexpr AllocatorOp free(std::size_t block) { return {.block = block}; }

TEST(AllocatorSequence, FreesWhatWasAllocatedAtMostOnce) {
  const AllocatorTest test = {.make_driver = {}, .make_allocator = {}, .blocks_max = 8};
  std::set<Bytes> sizes;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Choices choices(seed);
    const AllocatorSequence sequence = draw_sequence(test, 50, 2_MiB, choices);
    ASSERT_EQ(sequence.size(), 50U);
    std::set<std::size_t> live;
    std::size_t blocks = 0;
    for (const AllocatorOp& op : sequence) {
      if (op.is_free()) {
        ASSERT_EQ(live.erase(op.block), 1U);
      } else {
        ASSERT_EQ(op.block, ++blocks);
        ASSERT_LE(op.size, test.size_max);
        live.insert(op.block);
        sizes.insert(op.size);
      }
      ASSERT_LE(live.size(), 8U);
    }
  }
  for (const Bytes size : {2_MiB - 1_B, 2_MiB, 2_MiB + 1_B, 8_MiB}) {
    EXPECT_TRUE(sizes.contains(size)) << size.value();
  }
  EXPECT_LT(*sizes.begin(), 4_KiB);
}

TEST(AllocatorSequence, EndsWithItsBytes) {
  const AllocatorTest test = {.make_driver = {}, .make_allocator = {}};
  constexpr std::array<std::uint8_t, 3> bytes = {0, 0, 0};
  Choices choices{std::span(bytes)};
  EXPECT_THAT(draw_sequence(test, 50, 2_MiB, choices), ElementsAre(allocate(1, 2_MiB)));
  Choices none{std::span<const std::uint8_t>()};
  EXPECT_THAT(draw_sequence(test, 50, 2_MiB, none), ElementsAre(allocate(1, 2_MiB)));
}

TEST(AllocatorSequence, LeavesOutFreesWithTheirAllocation) {
  const AllocatorSequence sequence = {allocate(1), allocate(2), free(1), allocate(3), free(2)};
  EXPECT_THAT(without(sequence, 0, 1), ElementsAre(allocate(2), allocate(3), free(2)));
  EXPECT_THAT(without(sequence, 2, 1), ElementsAre(allocate(1), allocate(2), allocate(3), free(2)));
  EXPECT_THAT(without(sequence, 0, 2), ElementsAre(allocate(3)));
  EXPECT_THAT(without(sequence, 2, 3), ElementsAre(allocate(1), allocate(2)));
}

TEST(AllocatorSequence, NumbersBlocksAnew) {
  EXPECT_THAT(renumbered({allocate(7), allocate(3), free(7), free(3)}),
              ElementsAre(allocate(1), allocate(2), free(1), free(2)));
}

TEST(AllocatorSequence, SaysWhatAnOperationDoes) {
  EXPECT_EQ(to_string(allocate(3, 2_MiB)), "b3 = allocate 2 MiB (2097152)");
  EXPECT_EQ(to_string(free(3)), "free b3");
}

}  // namespace
}  // namespace tessera::testing
