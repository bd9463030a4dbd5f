// mem_free of what mem_free_async is still to free: it waited, and then freed it a second time.
#include <gtest/gtest.h>

#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

TEST(FreeWhileFreeing, IsRefused) {
  SimMachine machine("h200");
  Driver& driver = machine.driver();
  const DeviceAddress busy = must(driver.mem_alloc(8_B));
  must(driver.launch_touch(
      {.address = busy, .touch = Touch::write, .value = 1, .duration_ns = 1'000'000}));
  const DeviceAddress memory = must(driver.mem_alloc(16_B));
  must(driver.mem_free_async({.address = memory}));
  EXPECT_THAT(driver.mem_free(memory), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver.mem_free_async({.address = memory}), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver.ctx_synchronize(), is_ok());
  EXPECT_THAT(driver.mem_free(busy), is_ok());
  EXPECT_EQ(machine.driver().books().legacy_allocations, 0U);
}

}  // namespace
}  // namespace tessera::sim
