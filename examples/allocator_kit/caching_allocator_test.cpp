#include <gtest/gtest.h>

#include "caching_allocator_kit.h"
#include "tessera/layers/ledger_driver.h"

using namespace tessera;
using namespace tessera::testing;

// Allocations and frees in any order: no overlap, no lost byte, no broken rule, nothing left.
TEST(CachingAllocator, KeepsItsPromisesInAnyOrder) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const AllocatorReport report = check_allocator(caching_allocator(), Choices(seed));
    ASSERT_TRUE(report.passed()) << "seed " << seed << '\n' << to_string(report);
  }
}

// Each of its driver calls fails once with each error that it can give: nothing is left even then.
TEST(CachingAllocator, GivesAllBackWhateverFails) {
  const SweepReport report = sweep_allocator(caching_allocator(), Choices(1));
  EXPECT_TRUE(report.passed()) << to_string(report);
}

// A leak check of a test of one's own, whatever it does.
TEST(CachingAllocator, LeavesNothing) {
  const std::unique_ptr<Driver> simulator = caching_allocator().make_driver();
  LedgerDriver driver(simulator.get());
  ASSERT_TRUE(driver.init(0));
  {
    CachingAllocator allocator(driver);
    ASSERT_TRUE(allocator.allocate(3_MiB));
  }
  EXPECT_TRUE(driver.ledger().leak_report().is_empty()) << to_string(driver.ledger().leak_report());
}
