// A buffer woke with its contents, and slept again at once: on an H200 the copy back, from pageable
// memory, was still under way, the unmap took its place from it, and every context was lost.
#include <gtest/gtest.h>

#include "support/sim_machine.h"
#include "tessera/buffers/sleepable_buffer.h"
#include "tessera/layers/validating_driver.h"

namespace tessera::sim {
namespace {

TEST(CopyBackInFlight, IsWaitedForByTheWakeThatMakesIt) {
  SimMachine machine("h200");
  ValidatingDriver driver(&machine.driver());
  SleepableBuffer buffer = must(SleepableBuffer::make(driver, {.size = 4_MiB}));
  must(buffer.sleep(Quiescence::promised(), Contents::keep_on_host));
  must(buffer.wake());
  must(buffer.sleep(Quiescence::promised()));
  EXPECT_EQ(driver.finding_count(), 0U);
}

}  // namespace
}  // namespace tessera::sim
