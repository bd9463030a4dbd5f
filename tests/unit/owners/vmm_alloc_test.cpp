#include "tessera/owners/vmm_alloc.h"

#include <optional>
#include <utility>

#include "owners_machine.h"

namespace tessera {
namespace {

TEST(VmmAlloc, GivesMemoryThatTheDeviceCanUse) {
  OwnersMachine machine;
  const DeviceAddress address = must(vmm_alloc(machine.use(), Bytes(5)));
  EXPECT_THAT(machine.machine().put(address, 9), is_ok());
  EXPECT_EQ(must(vmm_range(machine.driver(), address)).size(), 2_MiB);
  EXPECT_THAT(vmm_free(address), is_ok());
}

TEST(VmmAlloc, UndoesEveryFailure) {
  const auto refuse = [](OwnersMachine& machine, Driver& layer) {
    EXPECT_THAT(vmm_alloc(machine.use(layer), 2_MiB), fails_with(ErrorCode::out_of_memory));
    EXPECT_EQ(machine.books(), machine.books_before());
  };
  OwnersMachine machine;
  FaultInjectingDriver reserve = failing_once(machine.driver(), Call::mem_address_reserve);
  refuse(machine, reserve);
  FaultInjectingDriver create = failing_once(machine.driver(), Call::mem_create);
  refuse(machine, create);
  FaultInjectingDriver map = failing_once(machine.driver(), Call::mem_map);
  refuse(machine, map);
  FaultInjectingDriver set_access = failing_once(machine.driver(), Call::mem_set_access);
  refuse(machine, set_access);
}

TEST(VmmAlloc, GivesAccessToOtherDevicesToo) {
  OwnersMachine machine("h200", 2);
  const DeviceAddress address =
      must(vmm_alloc(machine.use(), 2_MiB, {.access = AccessSet::of_device(device_1)}));
  for (const DeviceOrdinal device : {device_0, device_1}) {
    EXPECT_EQ(
        must(machine.driver().mem_get_access({.address = address, .location = on_device(device)})),
        AccessFlags::read_write);
  }
  EXPECT_THAT(vmm_free(machine.driver(), address), is_ok());
}

TEST(VmmFree, TakesNull) { EXPECT_THAT(vmm_free(DeviceAddress()), is_ok()); }

TEST(VmmFree, RefusesWhatItDidNotGive) {
  OwnersMachine machine;
  const DeviceAddress address = must(vmm_alloc(machine.use(), 4_MiB));
  const Status inside = vmm_free(address + 2_MiB);
  ASSERT_THAT(inside, fails_with(ErrorCode::invalid_value));
  EXPECT_NE(to_string(inside.error()).find("not given by vmm_alloc"), std::string::npos);
  const Reservation reservation = machine.reserve(1);
  EXPECT_THAT(vmm_free(reservation.base()), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(vmm_free(address), is_ok());
  EXPECT_THAT(vmm_free(address), fails_with(ErrorCode::invalid_value)) << "twice";
}

TEST(VmmFree, AsksWhichDriverIsMeantWhereTwoGaveAnAddress) {
  OwnersMachine first;
  OwnersMachine second;
  const DeviceAddress address = must(vmm_alloc(first.use(), 2_MiB));
  ASSERT_EQ(must(vmm_alloc(second.use(), 2_MiB)), address);
  const Status refused = vmm_free(address);
  ASSERT_THAT(refused, fails_with(ErrorCode::invalid_value));
  EXPECT_NE(to_string(refused.error()).find("several drivers"), std::string::npos);
  EXPECT_THAT(vmm_free(second.driver(), address), is_ok());
  EXPECT_THAT(vmm_free(address), is_ok());
}

TEST(VmmFree, WaitsForTheDevice) {
  OwnersMachine machine;
  const DeviceAddress address = must(vmm_alloc(machine.use(), 2_MiB));
  must(machine.machine().launch_write(address, 1, 1'000'000));
  EXPECT_THAT(vmm_free(address), is_ok());
  EXPECT_THAT(machine.driver().ctx_synchronize(), is_ok());
}

// The context would take memory that is not there; so it was not there either, and has no work.
TEST(VmmFree, NeedsNoMemoryForAContextThatIsNotThere) {
  sim::SimDriver driver(sim::profile_named("h200"), {.bytes = false});
  must(driver.init(0));
  CollectingSink sink;
  const Bytes all = align_down(driver.books().devices[0].free, 2_MiB);
  const DeviceAddress address = must(vmm_alloc({driver, sink}, all));
  EXPECT_THAT(driver.device_primary_ctx_retain(device_0), fails_with(ErrorCode::out_of_memory));
  EXPECT_THAT(Quiescence::after_device(driver, device_0), is_ok());
  EXPECT_THAT(vmm_free(driver, address), is_ok());
  EXPECT_EQ(driver.books().allocations, 0U);
}

TEST(VmmFree, WaitsForAContextThatIsNoPrimaryOne) {
  OwnersMachine machine;
  const ContextHandle created = must(machine.driver().ctx_create({.device = device_0}));
  const DeviceAddress address = must(vmm_alloc(machine.use(), 2_MiB));
  must(machine.machine().launch_write(address, 1, 1'000'000));
  EXPECT_THAT(vmm_free(address), is_ok());
  EXPECT_THAT(machine.driver().ctx_synchronize(), is_ok());
  must(machine.driver().ctx_destroy(created));
}

TEST(VmmAlloc, GivesHostMemoryThatTheHostCanUse) {
  OwnersMachine machine;
  const DeviceAddress address =
      must(vmm_alloc(machine.use(), 2_MiB, {.memory = {.location = on_host()}}));
  EXPECT_THAT(machine.driver().host_write(address, std::byte{3}), is_ok());
  EXPECT_THAT(vmm_free(address), is_ok());
}

TEST(VmmFree, KeepsWhatItCouldNotUndo) {
  OwnersMachine machine;
  FaultInjectingDriver layer = failing_once(machine.driver(), Call::mem_unmap, ErrorCode::unknown);
  const DeviceAddress address = must(vmm_alloc(machine.use(layer), 2_MiB));
  EXPECT_THAT(vmm_free(address), fails_with(ErrorCode::unknown));
  EXPECT_THAT(vmm_free(layer, address, Quiescence::none()), fails_with(ErrorCode::not_permitted));
  EXPECT_THAT(vmm_free(address), is_ok());
}

// A driver that is gone cannot take anything back, and another one at its place gives the same
// addresses: what is freed is the new one's.
TEST(VmmAlloc, ForgetsWhatADriverGaveThatIsGone) {
  std::optional<sim::SimMachine> machine(std::in_place, "h200");
  const DeviceAddress address = must(vmm_alloc(machine->driver(), 2_MiB));
  machine.emplace("h200");
  ASSERT_EQ(must(vmm_alloc(machine->driver(), 2_MiB)), address);
  EXPECT_THAT(vmm_free(machine->driver(), address), is_ok());
  EXPECT_EQ(machine->driver().books().mappings, 0U);
  EXPECT_THAT(vmm_range(machine->driver(), address), fails_with(ErrorCode::invalid_value));
}

}  // namespace
}  // namespace tessera
