// Work was dropped when its context ended. On an H200 each end of a context, on any device, waits
// for all work of the process; what faults then loses the others.
#include <gtest/gtest.h>

#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

constexpr std::uint64_t second = 1'000'000'000;

TEST(WorkAtContextEnd, IsDoneFirst) {
  SimMachine machine("h200");
  const DeviceAddress memory = machine.mapped(1);
  must(machine.launch_write(memory, 1, second));
  must(machine->device_primary_ctx_reset(device_0));
  must(machine->device_primary_ctx_retain(device_0));
  EXPECT_THAT(machine.get(memory), is_ok_and_holds(1));
  must(machine->device_primary_ctx_release(device_0));
  must(machine.launch_write(memory, 2, second));
  must(machine->device_primary_ctx_release(device_0));
  must(machine->device_primary_ctx_retain(device_0));
  EXPECT_THAT(machine.get(memory), is_ok_and_holds(2));
  const ContextHandle context = must(machine->ctx_create({.device = device_0}));
  must(machine.launch_write(memory, 3, second));
  must(machine->ctx_destroy(context));
  EXPECT_THAT(machine.get(memory), is_ok_and_holds(3));
}

TEST(WorkAtContextEnd, IsWaitedForAlsoElsewhere) {
  SimMachine machine("h200", {.devices = 2});
  const DeviceAddress memory = machine.mapped(1);
  const ContextHandle first = must(machine->ctx_get_current());
  const ContextHandle other = must(machine->ctx_create({.device = DeviceOrdinal(1)}));
  must(machine->ctx_set_current(first));
  const StreamHandle stream = must(machine->stream_create(StreamFlags::non_blocking));
  const EventHandle kernel = must(machine->event_create(EventFlags::none));
  must(machine.launch_write(memory, 1, second, stream));
  must(machine->event_record({.event = kernel, .stream = stream}));
  EXPECT_THAT(machine->event_query(kernel), fails_with(ErrorCode::not_ready));
  // Not the last reference: nothing ends.
  must(machine->device_primary_ctx_retain(device_0));
  must(machine->device_primary_ctx_release(device_0));
  EXPECT_THAT(machine->event_query(kernel), fails_with(ErrorCode::not_ready));
  must(machine->ctx_destroy(other));
  EXPECT_THAT(machine->event_query(kernel), is_ok());
}

TEST(WorkAtContextEnd, LosesTheOthersWhereItFaults) {
  SimMachine machine("h200");
  const DeviceAddress nothing = machine.reserve(1);
  must(machine.launch_write(nothing, 1, second));
  EXPECT_THAT(machine->device_primary_ctx_reset(device_0), is_ok());
  EXPECT_THAT(machine->device_primary_ctx_retain(device_0), fails_with(ErrorCode::illegal_address));
}

// To make a context takes a fifth of a second.
TEST(WorkAtContextEnd, EndsWhileAContextIsMade) {
  SimMachine machine("h200");
  const ContextHandle first = must(machine->ctx_get_current());
  const StreamHandle stream = must(machine->stream_create(StreamFlags::non_blocking));
  const EventHandle kernel = must(machine->event_create(EventFlags::none));
  const DeviceAddress memory = machine.mapped(1);
  must(machine.launch_write(memory, 1, second / 10, stream));
  must(machine->event_record({.event = kernel, .stream = stream}));
  static_cast<void>(must(machine->ctx_create({.device = device_0})));
  EXPECT_THAT(machine->event_query(kernel), is_ok());
  must(machine->ctx_set_current(first));
  must(machine.launch_write(memory, 1, second, stream));
  must(machine->event_record({.event = kernel, .stream = stream}));
  static_cast<void>(must(machine->ctx_create({.device = device_0})));
  EXPECT_THAT(machine->event_query(kernel), fails_with(ErrorCode::not_ready));
}

}  // namespace
}  // namespace tessera::sim
