#include "slab.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace tessera::sim {
namespace {

TEST(Slab, NamesObjectsByTheirIndex) {
  Slab<std::string> slab;
  EXPECT_EQ(slab.size(), 0U);
  EXPECT_EQ(slab.limit(), 0U);
  const SlabIndex first = slab.insert("first");
  const SlabIndex second = slab.insert("second");
  EXPECT_NE(first, second);
  EXPECT_EQ(slab[first], "first");
  EXPECT_EQ(std::as_const(slab)[second], "second");
  EXPECT_EQ(slab.size(), 2U);
  EXPECT_EQ(slab.limit(), 2U);
}

TEST(Slab, UsesIndicesAgain) {
  Slab<int> slab;
  const SlabIndex first = slab.insert(1);
  const SlabIndex second = slab.insert(2);
  slab.erase(first);
  EXPECT_EQ(slab.size(), 1U);
  EXPECT_EQ(slab[first], 0) << "a freed object is as new";
  EXPECT_EQ(slab.insert(3), first);
  EXPECT_EQ(slab[first], 3);
  EXPECT_EQ(slab[second], 2);
  EXPECT_EQ(slab.limit(), 2U);
}

TEST(Slab, KeepsIndicesWhileItGrows) {
  Slab<int> slab;
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_EQ(slab.insert(i), static_cast<SlabIndex>(i));
  }
  for (SlabIndex i = 0; i < slab.limit(); ++i) {
    EXPECT_EQ(slab[i], static_cast<int>(i));
  }
  for (SlabIndex i = 0; i < 1'000; i += 2) {
    slab.erase(i);
  }
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(slab.insert(-1) % 2, 0U);
  }
  EXPECT_EQ(slab.size(), 1'000U);
  EXPECT_EQ(slab.limit(), 1'000U);
}

TEST(Slab, FreesWhatAnObjectHolds) {
  Slab<std::shared_ptr<int>> slab;
  const auto held = std::make_shared<int>(7);
  const SlabIndex index = slab.insert(held);
  EXPECT_EQ(held.use_count(), 2);
  slab.erase(index);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Slab, HoldsMoveOnlyObjects) {
  Slab<std::unique_ptr<int>> slab;
  const SlabIndex index = slab.insert(std::make_unique<int>(7));
  EXPECT_EQ(*slab[index], 7);
}

}  // namespace
}  // namespace tessera::sim
