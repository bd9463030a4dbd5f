// What is tested, and on what: for the tests and for the fuzz target.
#pragma once

#include "caching_allocator.h"
#include "tessera/sim/sim_driver.h"
#include "tessera/testing/allocator_check.h"

inline tessera::testing::AllocatorTest caching_allocator() {
  using namespace tessera;
  return {
      .make_driver =
          [] { return std::make_unique<sim::SimDriver>(*sim::built_in_profile("h200")); },
      .make_allocator =
          [](Driver& driver) { return tessera::testing::under_test<CachingAllocator>(driver); }};
}
