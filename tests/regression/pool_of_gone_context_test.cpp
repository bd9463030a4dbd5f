// The memory of a pool stayed taken when its context went with allocations in it.
#include <gtest/gtest.h>

#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

TEST(PoolOfGoneContext, GivesItsMemoryBack) {
  SimDriver driver(profile_named("h200"));
  must(driver.init(0));
  const Bytes before = driver.books().devices[0].free;
  must(driver.ctx_set_current(must(driver.device_primary_ctx_retain(device_0))));
  must(driver.mem_alloc_async({.size = 1000_MiB}));
  must(driver.device_primary_ctx_release(device_0));
  EXPECT_EQ(driver.books().devices[0].free, before);
}

}  // namespace
}  // namespace tessera::sim
