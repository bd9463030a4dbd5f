// A growable buffer whose growth failed, and could not be undone, never grew again: what was left
// mapped lay where the next piece was to go.
#include <gmock/gmock.h>

#include "support/sim_machine.h"
#include "tessera/buffers/growable_buffer.h"
#include "tessera/layers/driver_stack.h"

namespace tessera::sim {
namespace {

TEST(GrowthAfterFailedUndo, MovesOutOfTheWay) {
  SimMachine machine("h200");
  const Books before = machine->books();
  const DriverStack stack =
      stack_layers(machine.driver(), {.faults = FaultPlan(), .validation = ValidationOptions{}});
  CollectingSink sink;
  GrowableBuffer buffer = must(GrowableBuffer::make(
      {stack.driver(), sink}, {.reserve = 16_MiB, .growth = GrowthPolicy::exact()}));
  must(buffer.grow_to(2_MiB));
  must(machine.put(buffer.address(), 7));

  stack.faults()->set_plan({.faults = {Fault::nth_of(Call::mem_set_access, 1, ErrorCode::unknown),
                                       Fault::nth_of(Call::mem_unmap, 1, ErrorCode::unknown)}});
  EXPECT_THAT(buffer.grow_to(4_MiB), fails_with(ErrorCode::unknown));
  EXPECT_EQ(sink.failures().size(), 1U);
  const Growth growth = must(buffer.grow_to(4_MiB));
  EXPECT_TRUE(growth.moved);
  EXPECT_THAT(machine.get(buffer.address()), is_ok_and_holds(7));

  must(buffer.close(Quiescence::promised()));
  EXPECT_THAT(sink.retry_all(), is_ok());
  EXPECT_TRUE(machine->books() == before);
  EXPECT_EQ(stack.validating()->finding_count(), 0U);
}

}  // namespace
}  // namespace tessera::sim
