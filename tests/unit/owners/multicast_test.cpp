#include "tessera/owners/multicast.h"

#include <array>
#include <optional>
#include <utility>

#include "owners_machine.h"

namespace tessera {
namespace {

constexpr std::array both = {device_0, device_1};

PhysicalAllocation memory_on(OwnersMachine& machine, DeviceOrdinal device, Bytes size) {
  return must(PhysicalAllocation::create(
      machine.use(), {.size = size, .memory = {.location = on_device(device)}}));
}

TEST(MulticastObject, IsMadeWithItsDevicesOrNotAtAll) {
  OwnersMachine machine("h200", 2);
  const MulticastObject object =
      must(MulticastObject::make(machine.use(), {.size = Bytes(1), .devices = both}));
  EXPECT_EQ(object.size(), object.granularity());
  const std::array twice = {device_0, device_0};
  EXPECT_FALSE(MulticastObject::make(machine.use(), {.size = 2_MiB, .devices = twice}));
}

TEST(MulticastBinding, KeepsItsMemoryAndItsObject) {
  OwnersMachine machine("h200", 2);
  std::optional<MulticastObject> object =
      must(MulticastObject::make(machine.use(), {.size = 2_MiB, .devices = both}));
  std::optional<PhysicalAllocation> memory = memory_on(machine, device_0, object->size());
  MulticastBinding binding = must(MulticastBinding::bind(*object, Bytes(0), *memory));
  // The memory first: with bare calls an error and a leak.
  EXPECT_THAT(memory->close(), is_ok());
  EXPECT_THAT(object->close(), is_ok());
  EXPECT_EQ(machine.books().allocations, 1U);
  EXPECT_THAT(binding.close(Quiescence::none()), fails_with(ErrorCode::not_permitted));
  EXPECT_THAT(binding.close(must(Quiescence::after_device(machine.driver(), device_0))), is_ok());
  EXPECT_EQ(machine.books().allocations, 0U);
}

TEST(MulticastBinding, LeavesToTheSinkWhatItsDestructorCouldNotUnbind) {
  OwnersMachine machine("h200", 2);
  FaultInjectingDriver layer =
      failing_once(machine.driver(), Call::multicast_unbind, ErrorCode::unknown);
  {
    const MulticastObject object =
        must(MulticastObject::make(machine.use(layer), {.size = 2_MiB, .devices = both}));
    const MulticastBinding binding = must(MulticastBinding::bind(
        object, Bytes(0),
        must(PhysicalAllocation::create(machine.use(layer), {.size = object.size()}))));
    EXPECT_EQ(binding.device(), device_0);
  }
  // Unbinding first, then the references: a driver ends the process over a stale handle.
  EXPECT_EQ(machine.sink().failures().size(), 3U);
  EXPECT_EQ(machine.books().allocations, 1U);
  EXPECT_THAT(machine.sink().retry_all(), is_ok());
}

TEST(MulticastBinding, IsForMemoryOnADevice) {
  OwnersMachine machine("h200", 2);
  const MulticastObject object =
      must(MulticastObject::make(machine.use(), {.size = 2_MiB, .devices = both}));
  const PhysicalAllocation on_the_host = must(PhysicalAllocation::create(
      machine.use(), {.size = object.size(), .memory = {.location = on_host_numa_node(0)}}));
  EXPECT_THAT(MulticastBinding::bind(object, Bytes(0), on_the_host),
              fails_with(ErrorCode::invalid_value));
}

TEST(MulticastBinding, IsUndoneByItsDestructor) {
  OwnersMachine machine("h200", 2);
  const MulticastObject object =
      must(MulticastObject::make(machine.use(), {.size = 2_MiB, .devices = both}));
  MulticastBinding first =
      must(MulticastBinding::bind(object, Bytes(0), memory_on(machine, device_0, object.size())));
  MulticastBinding second =
      must(MulticastBinding::bind(object, Bytes(0), memory_on(machine, device_1, object.size())));
  {
    Mapping mapping =
        must(Mapping::map(must(Reservation::make(machine.use(), {.size = object.size()})), Bytes(0),
                          object.memory()));
    EXPECT_THAT(mapping.grant(AccessSet::of_devices(both)), is_ok());
  }
  EXPECT_EQ(machine.books().allocations, 2U);
  first = std::move(second);
  EXPECT_EQ(first.device(), device_1);
  EXPECT_EQ(machine.books().allocations, 1U) << "the other is unbound, and its memory free";
}

TEST(MulticastObject, HasASize) {
  OwnersMachine machine("h200", 2);
  EXPECT_FALSE(MulticastObject::make(machine.use(), {.size = Bytes(0), .devices = both}));
  EXPECT_FALSE(
      MulticastObject::make(machine.use(), {.size = Bytes(~std::uint64_t{0}), .devices = both}));
}

// What is unbound stays so; the references are given back when that works again, by a further
// close or by the destructor.
TEST(MulticastBinding, GoesOnWhereItsCloseWasStopped) {
  for (const bool closes_again : {true, false}) {
    OwnersMachine machine("h200", 2);
    FaultInjectingDriver layer =
        failing_once(machine.driver(), Call::mem_release, ErrorCode::unknown);
    MulticastObject object =
        must(MulticastObject::make(machine.use(layer), {.size = 2_MiB, .devices = both}));
    PhysicalAllocation memory =
        must(PhysicalAllocation::create(machine.use(layer), {.size = object.size()}));
    {
      MulticastBinding binding = must(MulticastBinding::bind(object, Bytes(0), memory));
      MulticastBinding& same = binding;
      binding = std::move(same);
      must(memory.close());
      EXPECT_THAT(binding.close(Quiescence::promised()), fails_with(ErrorCode::unknown));
      EXPECT_TRUE(binding.is_open());
      if (closes_again) {
        EXPECT_THAT(binding.close(Quiescence::none()), is_ok());
        EXPECT_THAT(binding.close(Quiescence::none()), is_ok());
        EXPECT_FALSE(binding.is_open());
      }
    }
    EXPECT_EQ(machine.books().allocations, 0U);
    EXPECT_THAT(object.close(), is_ok());
  }
}

TEST(MulticastBinding, IsLeftToTheSinkWhereItsDestructorCouldNotWait) {
  class CannotWait final : public DriverWrapper {
   public:
    using DriverWrapper::DriverWrapper;
    Status ctx_synchronize() override { return Error{.code = ErrorCode::unknown}; }
  };
  OwnersMachine machine("h200", 2);
  CannotWait layer(&machine.driver());
  {
    const MulticastObject object =
        must(MulticastObject::make(machine.use(layer), {.size = 2_MiB, .devices = both}));
    const MulticastBinding binding = must(MulticastBinding::bind(
        object, Bytes(0),
        must(PhysicalAllocation::create(machine.use(layer), {.size = object.size()}))));
    EXPECT_TRUE(binding.is_open());
  }
  ASSERT_EQ(machine.sink().failures().size(), 3U);
  EXPECT_EQ(machine.sink().failures().front().error.code, ErrorCode::unknown);
  EXPECT_THAT(machine.sink().retry_all(), is_ok());
}

}  // namespace
}  // namespace tessera
