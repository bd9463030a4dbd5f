// A buffer woke with its contents, and slept again at once: on an H200 the copy back, from pageable
// memory, was still under way, the unmap took its place from it, and every context was lost.
#include <gtest/gtest.h>

#include "support/sim_machine.h"
#include "tessera/buffers/sleepable_buffer.h"
#include "tessera/layers/fault_injecting_driver.h"
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

// Of a machine whose waits fail while it wakes.
SleepableBuffer failed_in_its_wake(Driver& driver, FaultInjectingDriver& faults) {
  SleepableBuffer buffer = must(SleepableBuffer::make(driver, {.size = 4_MiB}));
  must(buffer.sleep(Quiescence::promised(), Contents::keep_on_host));
  faults.set_plan({.faults = {Fault::each_of(Call::stream_synchronize, ErrorCode::unknown)}});
  EXPECT_FALSE(buffer.wake());
  faults.set_plan({});
  return buffer;
}

// Neither the wake nor its undoing could wait: what may be copied to stays mapped.
TEST(CopyBackInFlight, KeepsItsPlaceWhereItCannotBeWaitedFor) {
  SimMachine machine("h200");
  FaultInjectingDriver faults(&machine.driver(), {});
  ValidatingDriver driver(&faults);
  SleepableBuffer buffer = failed_in_its_wake(driver, faults);
  EXPECT_EQ(buffer.state(), SleepState::failed);
  EXPECT_EQ(driver.finding_count(), 0U);
  must(buffer.close(must(Quiescence::after_device(driver, device_0))));
  EXPECT_EQ(driver.finding_count(), 0U);
  EXPECT_TRUE(driver.ledger().leak_report().is_empty());
}

// Such a buffer knew of no device with access: its end waited for none, and any proof would do.
TEST(CopyBackInFlight, IsWaitedForByWhoeverGivesThePlaceBack) {
  for (const bool closes : {true, false}) {
    SimMachine machine("h200");
    FaultInjectingDriver faults(&machine.driver(), {});
    ValidatingDriver driver(&faults);
    {
      SleepableBuffer buffer = failed_in_its_wake(driver, faults);
      if (closes) {
        EXPECT_THAT(buffer.close(Quiescence::none()), fails_with(ErrorCode::not_permitted));
      }
    }
    EXPECT_EQ(driver.finding_count(), 0U);
    EXPECT_TRUE(driver.ledger().leak_report().is_empty());
  }
}

}  // namespace
}  // namespace tessera::sim
