#include "tessera/owners/mapping.h"

#include <utility>

#include "owners_machine.h"

namespace tessera {
namespace {

TEST(Mapping, KeepsItsReservationAndItsMemoryAlive) {
  OwnersMachine machine;
  {
    const Mapping mapping = machine.mapped(2);  // both owners are gone
    EXPECT_THAT(machine.machine().put(mapping.begin(), 7), is_ok());
    EXPECT_EQ(machine.books().mappings, 1U);
  }
  EXPECT_EQ(machine.books().reservations, 0U);
}

TEST(Mapping, MustLieInsideItsReservation) {
  OwnersMachine machine;
  const Reservation reservation = machine.reserve(4);
  const PhysicalAllocation memory = machine.create(2);
  // A driver looks at the begin alone, and says OK [h200].
  const auto refused = Mapping::map(reservation, machine.unit() * 3, memory);
  ASSERT_THAT(refused, fails_with(ErrorCode::invalid_value));
  EXPECT_NE(to_string(refused.error()).find("4 MiB (4194304) at offset 6 MiB"), std::string::npos)
      << to_string(refused.error());
  EXPECT_THAT(Mapping::map(reservation, Bytes(~std::uint64_t{0}), memory),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(Mapping::map(reservation, machine.unit() * 2, memory), is_ok());
}

TEST(Mapping, ChangesNothingWhereSomethingIsMapped) {
  OwnersMachine machine;
  const Reservation reservation = machine.reserve(2);
  const Mapping first = must(Mapping::map(reservation, Bytes(0), machine.create(2)));
  EXPECT_THAT(Mapping::map(reservation, machine.unit(), machine.create(1)),
              fails_with(ErrorCode::invalid_value));
  EXPECT_EQ(machine.books().mappings, 1U);
  EXPECT_EQ(machine.books().allocations, 1U);
}

TEST(Mapping, IsNotUnmappedWithoutProofForEachDeviceThatHasAccess) {
  OwnersMachine machine("h200", 2);
  Mapping mapping = machine.mapped(1, {device_0, device_1});
  auto proof = must(Quiescence::after_device(machine.driver(), device_0));
  const Status refused = mapping.close(std::move(proof));
  ASSERT_THAT(refused, fails_with(ErrorCode::not_permitted));
  EXPECT_NE(to_string(refused.error()).find("device 1 has access"), std::string::npos)
      << to_string(refused.error());
  EXPECT_TRUE(mapping.is_open());
  const std::array devices = {device_0, device_1};
  EXPECT_THAT(mapping.close(must(Quiescence::after_devices(machine.driver(), devices))), is_ok());
}

TEST(Mapping, WaitsInItsDestructorForWorkThatUsesIt) {
  OwnersMachine machine;
  {
    const Mapping mapping = machine.mapped(1);
    ASSERT_THAT(machine.machine().launch_write(mapping.begin(), 5, 1'000'000), is_ok());
  }
  // Had it been unmapped under the kernel, the context would be lost.
  EXPECT_THAT(machine.driver().ctx_synchronize(), is_ok());
}

TEST(Mapping, GivesAccessAndTakesItAway) {
  OwnersMachine machine("h200", 2);
  Mapping mapping = machine.mapped(1, {});
  EXPECT_THAT(machine.machine().put(mapping.begin(), 1), testing::Not(is_ok()));
  ASSERT_THAT(mapping.grant(AccessSet::of_devices({device_0, device_1})), is_ok());
  EXPECT_EQ(mapping.access().devices(), (std::vector{device_0, device_1}));
  EXPECT_THAT(machine.machine().put(mapping.begin(), 1), is_ok());
  ASSERT_THAT(mapping.revoke(AccessSet::of_device(device_0), Quiescence::promised()), is_ok());
  EXPECT_THAT(machine.machine().put(mapping.begin(), 1), testing::Not(is_ok()));
  EXPECT_EQ(mapping.access().devices(), std::vector{device_1});
  EXPECT_THAT(mapping.revoke(AccessSet::of_device(device_1), Quiescence::none()),
              fails_with(ErrorCode::not_permitted));
}

TEST(Mapping, TakesAwayAgainWhatARefusedGrantGave) {
  OwnersMachine machine("h200", 2);
  Mapping mapping = machine.mapped(1, {});
  // Descriptors apply in order until one fails [h200]: device 0's would stay.
  AccessSet access = AccessSet::of_devices({device_0, DeviceOrdinal(9)});
  EXPECT_FALSE(mapping.grant(access));
  EXPECT_TRUE(mapping.access().is_empty());
  EXPECT_EQ(must(machine.driver().mem_get_access(
                {.address = mapping.begin(), .location = on_device(device_0)})),
            AccessFlags::none);
}

// Whatever a driver does of a call that it refuses: who had less than was asked for has it again.
TEST(Mapping, PutsBackWhatADriverChangedBeforeItRefused) {
  class ChangesSome final : public DriverWrapper {
   public:
    using DriverWrapper::DriverWrapper;
    Status mem_set_access(const SetAccessRequest& request) override {
      if (request.descriptors.size() < 2) {
        return DriverWrapper::mem_set_access(request);
      }
      must(DriverWrapper::mem_set_access(request));
      return Error{.code = ErrorCode::invalid_value, .call = Call::mem_set_access};
    }
  };
  OwnersMachine machine("h200", 2);
  ChangesSome layer(&machine.driver());
  Mapping mapping = must(
      Mapping::map(must(Reservation::make(machine.use(layer), {.size = machine.unit()})), Bytes(0),
                   must(PhysicalAllocation::create(machine.use(layer), {.size = machine.unit()}))));
  AccessSet reads;
  reads.set(on_device(device_0), AccessFlags::read);
  must(mapping.grant(reads));
  EXPECT_THAT(mapping.grant(AccessSet::of_devices({device_0, device_1})),
              fails_with(ErrorCode::invalid_value));
  EXPECT_EQ(mapping.access(), reads);
  const auto access_of = [&](DeviceOrdinal device) {
    return must(machine.driver().mem_get_access(
        {.address = mapping.begin(), .location = on_device(device)}));
  };
  EXPECT_EQ(access_of(device_0), AccessFlags::read);
  EXPECT_EQ(access_of(device_1), AccessFlags::none);
}

TEST(Mapping, GoesOnWhereItsCloseWasStopped) {
  OwnersMachine machine;
  FaultInjectingDriver layer =
      failing_once(machine.driver(), Call::mem_address_free, ErrorCode::invalid_value);
  Mapping mapping = must(
      Mapping::map(must(Reservation::make(machine.use(layer), {.size = machine.unit()})), Bytes(0),
                   must(PhysicalAllocation::create(machine.use(layer), {.size = machine.unit()}))));
  EXPECT_THAT(mapping.close(Quiescence::promised()), fails_with(ErrorCode::invalid_value));
  EXPECT_TRUE(mapping.is_open());
  EXPECT_EQ(machine.books().mappings, 0U);
  EXPECT_EQ(machine.books().allocations, 0U);
  EXPECT_THAT(mapping.close(Quiescence::promised()), is_ok());
  EXPECT_FALSE(mapping.is_open());
}

TEST(Mapping, TellsTheSinkAllThatItsDestructorCouldNotUndoInAnOrderThatCanBeRetried) {
  OwnersMachine machine;
  FaultInjectingDriver layer =
      failing_once(machine.driver(), Call::mem_unmap, ErrorCode::invalid_value);
  {
    const Mapping mapping = must(Mapping::map(
        must(Reservation::make(machine.use(layer), {.size = machine.unit()})), Bytes(0),
        must(PhysicalAllocation::create(machine.use(layer), {.size = machine.unit()}))));
  }
  ASSERT_EQ(machine.sink().failures().size(), 2U);  // the addresses are still mapped
  EXPECT_THAT(machine.sink().retry_all(), is_ok());
}

TEST(Mapping, IsLeftToTheSinkWhereItsDestructorCouldNotWait) {
  class CannotWait final : public DriverWrapper {
   public:
    using DriverWrapper::DriverWrapper;
    Status ctx_synchronize() override { return Error{.code = ErrorCode::unknown}; }
  };
  OwnersMachine machine;
  CannotWait layer(&machine.driver());
  {
    Mapping mapping = must(Mapping::map(
        must(Reservation::make(machine.use(layer), {.size = machine.unit()})), Bytes(0),
        must(PhysicalAllocation::create(machine.use(layer), {.size = machine.unit()}))));
    must(mapping.grant(AccessSet::of_device(device_0)));
    must(machine.machine().launch_write(mapping.begin(), 1, 1'000'000));
  }
  // Work may run there still: neither the mapping nor its addresses were touched.
  EXPECT_EQ(machine.books().mappings, 1U);
  ASSERT_EQ(machine.sink().failures().size(), 2U);
  EXPECT_EQ(machine.sink().failures().front().error.code, ErrorCode::unknown);
  EXPECT_THAT(machine.driver().ctx_synchronize(), is_ok());
  EXPECT_THAT(machine.sink().retry_all(), is_ok());
}

TEST(Mapping, MovesAndUnmapsWhatItHeld) {
  OwnersMachine machine;
  Mapping first = machine.mapped(1);
  Mapping second = machine.mapped(2);
  first = std::move(second);
  EXPECT_FALSE(second.is_open());  // NOLINT(bugprone-use-after-move): what is tested
  EXPECT_EQ(first.size(), machine.unit() * 2);
  EXPECT_EQ(machine.books().mappings, 1U);
}

TEST(Mapping, MapsOneMemoryTwice) {
  OwnersMachine machine;
  const PhysicalAllocation memory = machine.create(1);
  const Reservation reservation = machine.reserve(2);
  Mapping left = must(Mapping::map(reservation, Bytes(0), memory));
  Mapping right = must(Mapping::map(reservation, machine.unit(), memory));
  must(left.grant(AccessSet::of_device(device_0)));
  must(right.grant(AccessSet::of_device(device_0)));
  must(machine.machine().put(left.begin(), 42));
  EXPECT_EQ(must(machine.machine().get(right.begin())), 42);
  EXPECT_EQ(memory.mapping_count(), 2U);
}

TEST(Mapping, MayBeMovedOntoItself) {
  OwnersMachine machine;
  Mapping mapping = machine.mapped(1);
  Mapping& same = mapping;
  mapping = std::move(same);
  EXPECT_TRUE(mapping.is_open());
  EXPECT_THAT(machine.machine().put(mapping.begin(), 1), is_ok());
}

TEST(Mapping, TakesNoAccessAwayThatNobodyHas) {
  OwnersMachine machine("h200", 2);
  Mapping mapping = machine.mapped(1);
  EXPECT_THAT(mapping.revoke(AccessSet::of_device(device_1), Quiescence::none()), is_ok());
  EXPECT_EQ(mapping.access(), AccessSet::of_device(device_0));
}

// More devices than most machines have.
TEST(Mapping, GivesAccessToManyDevices) {
  constexpr std::int32_t count = 12;
  OwnersMachine machine("h200", count);
  Mapping mapping = machine.mapped(1);
  AccessSet all;
  for (std::int32_t device = 0; device < count; ++device) {
    all.set(on_device(DeviceOrdinal(device)), AccessFlags::read_write);
  }
  EXPECT_THAT(mapping.grant(all), is_ok());
  EXPECT_EQ(mapping.access(), all);
  EXPECT_EQ(must(machine.driver().mem_get_access(
                {.address = mapping.begin(), .location = on_device(DeviceOrdinal(count - 1))})),
            AccessFlags::read_write);
}

}  // namespace
}  // namespace tessera
