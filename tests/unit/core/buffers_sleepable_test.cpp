#include <utility>

#include "support/exhausted_host.h"
#include "support/mock_driver.h"
#include "tessera/buffers/sleepable_buffer.h"
#include "unit/core/buffers_support.h"

namespace tessera {
namespace {

using sim::SimMachine;
using test::device_0;
using test::fails_with;
using test::holds_pattern;
using test::is_ok;
using test::must;
using test::write_pattern;

class SleepableBufferOn : public testing::TestWithParam<const char*> {
 protected:
  SleepableBufferOn() : machine(GetParam()), unit(test::unit_of(sim::profile_named(GetParam()))) {}

  SimMachine machine;
  Bytes unit;
  const sim::Books before = machine->books();
  SleepableBuffer buffer = must(
      SleepableBuffer::make(machine.driver(), {.size = unit * 5 - 3_B, .piece_size = unit * 2}));
};

TEST_P(SleepableBufferOn, GivesMemoryBackAndKeepsItsAddresses) {
  const DeviceAddress address = buffer.address();
  EXPECT_EQ(buffer.state(), SleepState::awake);
  EXPECT_EQ(buffer.pieces().size(), 3U);
  EXPECT_EQ(buffer.pieces()[2].memory.size(), unit);
  must(buffer.sleep(Quiescence::promised()));
  EXPECT_EQ(buffer.state(), SleepState::asleep);
  EXPECT_TRUE(buffer.pieces().empty());
  EXPECT_EQ(machine->books().devices, before.devices);
  EXPECT_EQ(machine->books().mappings, before.mappings);
  EXPECT_EQ(machine->books().reservations, before.reservations + 1);
  must(buffer.wake());
  EXPECT_EQ(buffer.state(), SleepState::awake);
  EXPECT_EQ(buffer.address(), address);
  write_pattern(machine.driver(), address, buffer.size(), 1);
  must(buffer.close(Quiescence::promised()));
  EXPECT_TRUE(machine->books() == before);
}

TEST_P(SleepableBufferOn, KeepsContentsOnTheHost) {
  write_pattern(machine.driver(), buffer.address(), buffer.size(), 2);
  must(buffer.sleep(Quiescence::promised(), Contents::keep_on_host));
  EXPECT_TRUE(buffer.keeps_contents());
  // Somebody else has the memory meanwhile.
  const DeviceAddress other = machine.mapped(4);
  write_pattern(machine.driver(), other, machine.unit() * 4, 3);
  must(machine.unmap(other, 4));
  must(buffer.wake());
  EXPECT_FALSE(buffer.keeps_contents());
  EXPECT_TRUE(holds_pattern(machine.driver(), buffer.address(), buffer.size(), 2));
}

TEST_P(SleepableBufferOn, TwiceIsNothing) {
  must(buffer.wake());
  EXPECT_EQ(buffer.generation(), 1U);
  write_pattern(machine.driver(), buffer.address(), buffer.size(), 4);
  must(buffer.sleep(Quiescence::promised(), Contents::keep_on_host));
  must(buffer.sleep(Quiescence::none(), Contents::discard));
  must(buffer.wake());
  must(buffer.wake());
  EXPECT_EQ(buffer.generation(), 2U);
  EXPECT_TRUE(holds_pattern(machine.driver(), buffer.address(), buffer.size(), 4));
}

TEST_P(SleepableBufferOn, CloseWhileAsleepReturnsOnlyTheAddresses) {
  must(buffer.sleep(Quiescence::promised()));
  EXPECT_THAT(buffer.close(Quiescence::none()), is_ok());
  EXPECT_TRUE(machine->books() == before);
  EXPECT_THAT(buffer.close(Quiescence::none()), is_ok());
  EXPECT_THAT(buffer.wake(), fails_with(ErrorCode::illegal_state));
  EXPECT_THAT(buffer.sleep(Quiescence::promised()), fails_with(ErrorCode::illegal_state));
}

TEST_P(SleepableBufferOn, WakesLaterWhenMemoryLacksNow) {
  write_pattern(machine.driver(), buffer.address(), buffer.size(), 5);
  must(buffer.sleep(Quiescence::promised(), Contents::keep_on_host));
  const Bytes free = align_down(machine.free_memory(), machine.unit());
  // Leaves room for the first piece only.
  const AllocationHandle others = machine.create((free - unit * 3) / machine.unit());
  const sim::Books asleep = machine->books();
  const Status refused = buffer.wake();
  EXPECT_THAT(refused, fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(refused.error().call, Call::mem_create);
  EXPECT_EQ(buffer.state(), SleepState::asleep);
  EXPECT_TRUE(machine->books() == asleep);
  EXPECT_EQ(buffer.generation(), 1U);
  must(machine->mem_release(others));
  must(buffer.wake());
  EXPECT_TRUE(holds_pattern(machine.driver(), buffer.address(), buffer.size(), 5));
}

INSTANTIATE_TEST_SUITE_P(Profiles, SleepableBufferOn, testing::Values("h200", "tiny", "odd"),
                         test::profile_name);

TEST(SleepableBuffer, WorkInFlightKeepsItAwake) {
  SimMachine machine("h200", {.devices = 2});
  SleepableBuffer buffer = must(SleepableBuffer::make(
      machine.driver(), {.size = 2_MiB, .access = AccessSet::of_device(test::device_1)}));
  must(machine.launch_write(buffer.address(), 9, 1'000'000));
  const EventHandle event = must(machine->event_create(EventFlags::none));
  must(machine->event_record({.event = event}));
  EXPECT_THAT(Quiescence::of_event(machine.driver(), device_0, event),
              fails_with(ErrorCode::not_ready));
  const Status refused = buffer.sleep(must(Quiescence::after_device(machine.driver(), device_0)));
  EXPECT_THAT(refused, fails_with(ErrorCode::not_permitted));
  EXPECT_THAT(to_string(refused.error()), testing::HasSubstr("device 1"));
  EXPECT_EQ(buffer.state(), SleepState::awake);
  must(buffer.sleep(
      must(Quiescence::after_devices(machine.driver(), std::array{device_0, test::device_1}))));
  EXPECT_THAT(machine->ctx_synchronize(), is_ok());
}

TEST(SleepableBuffer, GivesTheSameAccessAtEachWake) {
  SimMachine machine("h200", {.devices = 2});
  SleepableBuffer buffer = must(SleepableBuffer::make(
      machine.driver(), {.size = 4_MiB,
                         .access = AccessSet::of_device(test::device_1, AccessFlags::read),
                         .piece_size = 2_MiB}));
  must(buffer.sleep(Quiescence::promised()));
  must(buffer.wake());
  for (const Piece& piece : buffer.pieces()) {
    EXPECT_EQ(must(machine->mem_get_access(
                  {.address = piece.range().begin(), .location = on_device(test::device_1)})),
              AccessFlags::read);
  }
}

TEST(SleepableBuffer, ContentsNeedAContext) {
  SimMachine machine("h200");
  SleepableBuffer buffer = must(SleepableBuffer::make(machine.driver(), {.size = 2_MiB}));
  write_pattern(machine.driver(), buffer.address(), 2_MiB, 6);
  must(machine->ctx_set_current({}));
  EXPECT_THAT(buffer.sleep(Quiescence::promised(), Contents::keep_on_host),
              fails_with(ErrorCode::invalid_context));
  EXPECT_EQ(buffer.state(), SleepState::awake);
  must(machine->ctx_set_current(machine.primary()));
  must(buffer.sleep(Quiescence::promised(), Contents::keep_on_host));
  const sim::Books asleep = machine->books();
  must(machine->ctx_set_current({}));
  EXPECT_THAT(buffer.wake(), fails_with(ErrorCode::invalid_context));
  EXPECT_EQ(buffer.state(), SleepState::asleep);
  EXPECT_TRUE(buffer.keeps_contents());
  EXPECT_TRUE(machine->books() == asleep);
  must(machine->ctx_set_current(machine.primary()));
  must(buffer.wake());
  EXPECT_TRUE(holds_pattern(machine.driver(), buffer.address(), 2_MiB, 6));
}

// --- Failures while it falls asleep ---

class RestlessBuffer : public testing::Test {
 protected:
  SimMachine machine{"h200"};
  const sim::Books before = machine->books();
  test::FaultyDriver driver{&machine.driver()};
  CollectingSink sink;
  SleepableBuffer buffer =
      must(SleepableBuffer::make({driver, sink}, {.size = 6_MiB, .piece_size = 2_MiB}));
};

TEST_F(RestlessBuffer, AnUnmapThatFailsHalfWayLeavesItAwakeWithItsBytes) {
  write_pattern(driver, buffer.address(), 6_MiB, 1);
  const sim::Books awake = machine->books();
  driver.arm(1, ErrorCode::unknown);  // the second of three
  EXPECT_THAT(buffer.sleep(Quiescence::promised()), fails_with(ErrorCode::unknown));
  EXPECT_EQ(driver.fired(), Call::mem_unmap);
  EXPECT_EQ(buffer.state(), SleepState::awake);
  EXPECT_TRUE(machine->books() == awake);
  EXPECT_TRUE(holds_pattern(driver, buffer.address(), 6_MiB, 1));
  EXPECT_THAT(buffer.sleep(Quiescence::none()), fails_with(ErrorCode::not_permitted));
  EXPECT_THAT(buffer.sleep(Quiescence::promised()), is_ok());
  EXPECT_EQ(machine->books().devices, before.devices);
}

TEST_F(RestlessBuffer, AReleaseThatFailsLeavesItAsleepAndIsTriedAgain) {
  driver.arm(3, ErrorCode::unknown);
  EXPECT_THAT(buffer.sleep(Quiescence::promised()), fails_with(ErrorCode::unknown));
  EXPECT_EQ(driver.fired(), Call::mem_release);
  EXPECT_EQ(buffer.state(), SleepState::asleep);
  EXPECT_EQ(machine->books().allocations, before.allocations + 1);
  EXPECT_THAT(buffer.sleep(Quiescence::none()), is_ok());
  EXPECT_EQ(machine->books().allocations, before.allocations);
  EXPECT_THAT(buffer.wake(), is_ok());
}

TEST_F(RestlessBuffer, FailsForGoodWhenTheUndoFailsToo) {
  driver.arm(1, ErrorCode::unknown, 2);  // the second unmap, and the map that would undo the first
  EXPECT_THAT(buffer.sleep(Quiescence::promised()), fails_with(ErrorCode::unknown));
  EXPECT_EQ(buffer.state(), SleepState::failed);
  EXPECT_EQ(buffer.first_error().error().call, Call::mem_unmap);
  const Status refused = buffer.wake();
  EXPECT_THAT(refused, fails_with(ErrorCode::illegal_state));
  EXPECT_THAT(to_string(refused.error()), testing::HasSubstr("only close works"));
  EXPECT_THAT(buffer.sleep(Quiescence::promised()), fails_with(ErrorCode::illegal_state));
  EXPECT_THAT(buffer.close(Quiescence::promised()), is_ok());
  EXPECT_TRUE(machine->books() == before);
}

TEST_F(RestlessBuffer, FailsForGoodWhenNobodyGetsAccessBack) {
  driver.arm(1, ErrorCode::unknown, 3);  // the second unmap, and the first one's set access
  EXPECT_THAT(buffer.sleep(Quiescence::promised()), fails_with(ErrorCode::unknown));
  EXPECT_EQ(buffer.state(), SleepState::failed);
  EXPECT_THAT(buffer.close(Quiescence::none()), fails_with(ErrorCode::not_permitted));
  EXPECT_THAT(buffer.close(Quiescence::promised()), is_ok());
  EXPECT_TRUE(machine->books() == before);
}

TEST_F(RestlessBuffer, KeepsTheErrorThatItFailedWith) {
  driver.arm(1, ErrorCode::unknown, 3);
  EXPECT_FALSE(buffer.sleep(Quiescence::promised()));
  driver.arm(2, ErrorCode::not_ready);  // the second unmap
  EXPECT_THAT(buffer.close(Quiescence::promised()), fails_with(ErrorCode::not_ready));
  EXPECT_EQ(buffer.first_error().error().code, ErrorCode::unknown);
  EXPECT_THAT(buffer.close(Quiescence::promised()), is_ok());
}

TEST_F(RestlessBuffer, StaysAwakeWhereTheHostHasNoRoomForItsContents) {
  if (!test::ExhaustedHost::is_possible) {
    GTEST_SKIP() << "the thread sanitizer brings its own memory";
  }
  const Status slept = [&] {
    const test::ExhaustedHost exhausted;
    return buffer.sleep(Quiescence::promised(), Contents::keep_on_host);
  }();
  ASSERT_THAT(slept, fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(slept.error().reason, Reason::out_of_host_memory);
  EXPECT_EQ(buffer.state(), SleepState::awake);
}

TEST_F(RestlessBuffer, FailsForGoodWhenAWakeCannotBeUndone) {
  must(buffer.sleep(Quiescence::promised()));
  driver.arm(6, ErrorCode::out_of_memory, 7);  // set access, and the first unmap after it
  EXPECT_THAT(buffer.wake(), fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(driver.fired(), Call::mem_set_access);
  EXPECT_EQ(buffer.state(), SleepState::failed);
  EXPECT_EQ(buffer.first_error().error().call, Call::mem_set_access);
  // Its destructor cleans up as well as close.
  buffer = must(SleepableBuffer::make(machine.driver(), {.size = 2_MiB}));
  must(buffer.close(Quiescence::promised()));
  EXPECT_TRUE(machine->books() == before);
  EXPECT_TRUE(sink.failures().empty());
}

TEST_F(RestlessBuffer, ACloseThatFailsHalfWayGoesOnLater) {
  driver.arm(2, ErrorCode::unknown);  // the second unmap: unmap, release, unmap
  EXPECT_THAT(buffer.close(Quiescence::promised()), fails_with(ErrorCode::unknown));
  EXPECT_TRUE(buffer.is_open());
  EXPECT_EQ(buffer.state(), SleepState::failed);
  EXPECT_EQ(buffer.pieces().size(), 2U);
  EXPECT_THAT(buffer.close(Quiescence::promised()), is_ok());
  EXPECT_TRUE(machine->books() == before);
}

TEST(SleepableBuffer, ItsDestructorWaitsOnceForAll) {
  SimMachine machine("h200");
  testing::NiceMock<test::MockDriver> driver;
  driver.delegate_to(machine.driver());
  {
    const SleepableBuffer buffer =
        must(SleepableBuffer::make(driver, {.size = 8_MiB, .piece_size = 2_MiB}));
    EXPECT_CALL(driver, ctx_synchronize()).Times(1);
    must(machine.launch_write(buffer.address() + 7_MiB, 1, 1'000'000));
  }
  EXPECT_THAT(machine->ctx_synchronize(), is_ok());
}

TEST(SleepableBuffer, RefusesWrongUse) {
  SimMachine machine("h200");
  EXPECT_THAT(SleepableBuffer::make(machine.driver(), {.size = 0_B}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(SleepableBuffer::make(machine.driver(), {.size = test::largest_size}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(
      SleepableBuffer::make(machine.driver(), {.size = 2_MiB, .piece_size = test::largest_size}),
      fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(
      SleepableBuffer::make(machine.driver(),
                            {.size = 2_MiB, .memory = {.location = on_device(DeviceOrdinal(1))}}),
      fails_with(ErrorCode::invalid_device));
}

}  // namespace
}  // namespace tessera
