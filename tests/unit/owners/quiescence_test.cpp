#include "tessera/owners/quiescence.h"

#include <utility>

#include "owners_machine.h"
#include "tessera/owners/retire_queue.h"

namespace tessera {
namespace {

// Work in flight that uses a mapping, with an event behind it.
struct InFlight {
  explicit InFlight(OwnersMachine& machine, std::uint64_t nanoseconds = 1'000'000)
      : mapping(machine.mapped(1)),
        stream(must(machine.driver().stream_create(StreamFlags::non_blocking))),
        event(must(machine.driver().event_create(EventFlags::none))) {
    must(machine.machine().launch_write(mapping.begin(), 1, nanoseconds, stream));
    must(machine.driver().event_record({.event = event, .stream = stream}));
  }

  Mapping mapping;
  StreamHandle stream;
  EventHandle event;
};

TEST(Quiescence, IsNotToBeHadOfAnEventThatIsNotReady) {
  OwnersMachine machine;
  InFlight work(machine);
  EXPECT_THAT(Quiescence::of_event(machine.driver(), device_0, work.event),
              fails_with(ErrorCode::not_ready));
  machine.driver().advance(2'000'000);
  Quiescence proof = must(Quiescence::of_event(machine.driver(), device_0, work.event));
  EXPECT_THAT(work.mapping.close(std::move(proof)), is_ok());
  EXPECT_THAT(machine.driver().ctx_synchronize(), is_ok());
}

TEST(Quiescence, IsHadByWaitingForAnEventAStreamOrAContext) {
  OwnersMachine machine;
  Driver& driver = machine.driver();
  {
    InFlight work(machine);
    EXPECT_THAT(work.mapping.close(must(Quiescence::after_event(driver, device_0, work.event))),
                is_ok());
  }
  {
    InFlight work(machine);
    EXPECT_THAT(work.mapping.close(must(Quiescence::after_stream(driver, device_0, work.stream))),
                is_ok());
  }
  {
    InFlight work(machine);
    EXPECT_THAT(work.mapping.close(must(Quiescence::after_current_context(driver, device_0))),
                is_ok());
  }
  EXPECT_THAT(driver.ctx_synchronize(), is_ok());
}

TEST(Quiescence, OfADeviceLeavesTheCurrentContextAlone) {
  OwnersMachine machine("h200", 2);
  const ContextHandle before = must(machine.driver().ctx_get_current());
  EXPECT_TRUE(must(Quiescence::after_device(machine.driver(), device_1)).covers(device_1));
  EXPECT_EQ(must(machine.driver().ctx_get_current()), before);
}

TEST(Quiescence, OfAMissingDeviceIsRefused) {
  OwnersMachine machine;
  EXPECT_THAT(Quiescence::after_device(machine.driver(), DeviceOrdinal(7)),
              fails_with(ErrorCode::invalid_device));
  EXPECT_THAT(Quiescence::after_current_context(machine.driver(), DeviceOrdinal(-1)),
              fails_with(ErrorCode::invalid_device));
  EXPECT_FALSE(Quiescence::promised().covers(DeviceOrdinal(-1)));
  // More than an access set can name.
  EXPECT_FALSE(Quiescence::promised().covers(DeviceOrdinal(AccessSet::locations_max)));
}

TEST(Quiescence, JoinsAndIsUsedUpByMoving) {
  OwnersMachine machine("h200", 2);
  Quiescence both = Quiescence::none();
  both.join(must(Quiescence::after_device(machine.driver(), device_0)));
  EXPECT_FALSE(both.covers(device_1));
  both.join(must(Quiescence::after_device(machine.driver(), device_1)));
  EXPECT_TRUE(both.covers(device_0) && both.covers(device_1));
  const Quiescence taken = std::move(both);
  EXPECT_TRUE(taken.covers(device_0));
  EXPECT_FALSE(both.covers(device_0));  // NOLINT(bugprone-use-after-move): what is tested
}

TEST(RetireQueue, UnmapsOnceTheEventCompletesAndNeverWaits) {
  OwnersMachine machine;
  InFlight work(machine);
  RetireQueue queue(machine.driver());
  const std::uint64_t before = machine.driver().now_ns();
  ASSERT_THAT(queue.retire(work.mapping, {{.device = device_0, .event = work.event}}), is_ok());
  EXPECT_FALSE(work.mapping.is_open());
  EXPECT_EQ(must(queue.collect()), 0U);
  EXPECT_LT(machine.driver().now_ns() - before, 1'000'000U);
  EXPECT_EQ(queue.bytes(), machine.unit());
  machine.driver().advance(2'000'000);
  EXPECT_EQ(must(queue.collect()), 1U);
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_THAT(machine.driver().ctx_synchronize(), is_ok());
}

TEST(RetireQueue, WantsAnEventOfEachDeviceThatHasAccess) {
  OwnersMachine machine("h200", 2);
  Mapping mapping = machine.mapped(1, {device_0, device_1});
  RetireQueue queue(machine.driver());
  const EventHandle event = must(machine.driver().event_create(EventFlags::none));
  const Status refused = queue.retire(mapping, {{.device = device_0, .event = event}});
  ASSERT_THAT(refused, fails_with(ErrorCode::not_permitted));
  EXPECT_NE(to_string(refused.error()).find("device 1"), std::string::npos);
  EXPECT_TRUE(mapping.is_open());
}

TEST(RetireQueue, WaitsForWhatIsLeftWhenItGoes) {
  OwnersMachine machine;
  InFlight work(machine);
  {
    RetireQueue queue(machine.driver());
    must(queue.retire(work.mapping, {{.device = device_0, .event = work.event}}));
  }
  EXPECT_THAT(machine.driver().ctx_synchronize(), is_ok());
}

TEST(RetireQueue, KeepsWhatCouldNotBeUnmapped) {
  OwnersMachine machine;
  FaultInjectingDriver layer = failing_once(machine.driver(), Call::mem_unmap, ErrorCode::unknown);
  Mapping mapping = must(
      Mapping::map(must(Reservation::make(machine.use(layer), {.size = machine.unit()})), Bytes(0),
                   must(PhysicalAllocation::create(machine.use(layer), {.size = machine.unit()}))));
  RetireQueue queue(layer);
  must(queue.retire(mapping, {}));
  EXPECT_THAT(queue.collect(), fails_with(ErrorCode::unknown));
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_EQ(must(queue.collect()), 1U);
}

TEST(RetireQueue, TakesNothingOfWhatIsClosed) {
  OwnersMachine machine;
  Mapping mapping = machine.mapped(1);
  must(mapping.close(Quiescence::promised()));
  RetireQueue queue(machine.driver());
  EXPECT_THAT(queue.retire(mapping, {}), is_ok());
  EXPECT_EQ(queue.size(), 0U);
}

// Each is tried, whatever became of those before.
TEST(RetireQueue, ReturnsTheFirstOfItsErrors) {
  OwnersMachine machine;
  FaultInjectingDriver layer(&machine.driver(),
                             {.faults = {Fault::nth_of(Call::mem_unmap, 1, ErrorCode::unknown),
                                         Fault::nth_of(Call::mem_unmap, 2, ErrorCode::not_ready)}});
  const auto map = [&] {
    return must(Mapping::map(
        must(Reservation::make(machine.use(layer), {.size = machine.unit()})), Bytes(0),
        must(PhysicalAllocation::create(machine.use(layer), {.size = machine.unit()}))));
  };
  RetireQueue queue(layer);
  for (int i = 0; i < 3; ++i) {
    Mapping mapping = map();
    must(queue.retire(mapping, {}));
  }
  EXPECT_THAT(queue.collect(), fails_with(ErrorCode::unknown));
  EXPECT_EQ(queue.size(), 2U);
  // Events that are not there.
  for (int i = 0; i < 2; ++i) {
    Mapping mapping = map();
    must(queue.retire(mapping, {{.device = device_0, .event = EventHandle(0x77)}}));
  }
  EXPECT_FALSE(queue.collect());
  EXPECT_EQ(queue.size(), 2U);
}

}  // namespace
}  // namespace tessera
