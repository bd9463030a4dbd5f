// mem_alloc and its relatives: managed and host memory, and freeing in a stream's order.
#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

std::byte* pointer_to(DeviceAddress address) {
  return reinterpret_cast<std::byte*>(address.value());
}

TEST(SimDriverLegacy, ManagedMemoryIsAttachedToTheHostOrToAll) {
  SimMachine machine("h200");
  for (const ManagedFlags flags : {ManagedFlags::attach_global, ManagedFlags::attach_host}) {
    const DeviceAddress address = must(machine->mem_alloc_managed({.size = 1_B, .flags = flags}));
    *pointer_to(address) = std::byte{5};
    EXPECT_THAT(machine.get(address), is_ok_and_holds(5));
    EXPECT_THAT(machine->mem_free(address), is_ok());
  }
}

TEST(SimDriverLegacy, ManagedMemoryIsNotOnEachMachine) {
  Profile profile = profile_named("h200");
  profile.managed_memory = false;
  profile.device_attributes[83] = 0;  // what says so
  SimMachine machine(profile);
  EXPECT_THAT(machine->mem_alloc_managed({.size = 1_B}), fails_with(ErrorCode::not_supported));
}

TEST(SimDriverLegacy, EachKindHasItsOwnFree) {
  SimMachine machine("h200");
  const DeviceAddress managed = must(machine->mem_alloc_managed({.size = 1_B}));
  EXPECT_THAT(machine->mem_free_host(pointer_to(managed)), fails_with(ErrorCode::invalid_value));
  std::byte* host = must(machine->mem_host_alloc({.size = 1_B}));
  const DeviceAddress address(reinterpret_cast<std::uintptr_t>(host));
  EXPECT_THAT(machine->mem_free(address), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(machine->mem_free_async({.address = address}), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(machine->mem_free_host(host), is_ok());
  EXPECT_THAT(machine->mem_free(managed), is_ok());
}

// Mappings may run past their reservation, up to where the host's memory lies.
TEST(SimDriverLegacy, HostMemoryLiesInNoMapping) {
  SimMachine machine("h200", {.devices = 2});
  constexpr Bytes all_above = 128_TiB;
  const AllocationHandle handle =
      must(machine->multicast_create({.device_count = 1, .size = all_above}));
  const DeviceAddress address = machine.reserve(1);
  must(machine->mem_map({.address = address, .size = all_above, .handle = handle}));
  const auto refused = machine->mem_host_alloc({.size = 1_B});
  ASSERT_THAT(refused, fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(refused.error().reason, Reason::out_of_host_memory);
  must(machine->mem_unmap({.address = address, .size = all_above}));
  EXPECT_THAT(machine->mem_host_alloc({.size = 1_B}), is_ok());
}

// A block of the heap stays mapped as long as there is something in it.
TEST(SimDriverLegacy, AKernelMayTouchTheRestOfABlock) {
  SimMachine machine("h200");
  must(machine->mem_alloc(64_KiB));
  const DeviceAddress freed = must(machine->mem_alloc(64_KiB));
  must(machine->mem_free(freed));
  EXPECT_THAT(machine.launch_write(freed, 1), is_ok());
  EXPECT_THAT(machine->ctx_synchronize(), is_ok());
}

TEST(SimDriverLegacy, NothingIsFreedOnceTheProcessIsLost) {
  SimMachine machine("h200");
  const DeviceAddress device = must(machine->mem_alloc(1_B));
  std::byte* host = must(machine->mem_host_alloc({.size = 1_B}));
  must(machine.launch_write(machine.reserve(1), 1));
  EXPECT_THAT(machine->ctx_synchronize(), fails_with(ErrorCode::illegal_address));
  // Without a context, too.
  must(machine->ctx_set_current({}));
  EXPECT_THAT(machine->mem_free(device), fails_with(ErrorCode::illegal_address));
  EXPECT_THAT(machine->mem_free_host(host), fails_with(ErrorCode::illegal_address));
}

// The context that memory was allocated in takes it along; what was to be freed is gone by then,
// and what lies there now is another's.
TEST(SimDriverLegacy, AFreeInAStreamFreesOnlyWhatItWasFor) {
  SimMachine machine("h200");
  const ContextHandle other = must(machine->ctx_create({.device = device_0}));
  const DeviceAddress address = must(machine->mem_alloc_async({.size = 1_MiB}));
  must(machine->ctx_set_current(machine.primary()));
  const StreamHandle stream = must(machine->stream_create(StreamFlags::non_blocking));
  const auto free_after_work = [&] {
    must(machine.launch_write(machine.mapped(1), 1, 1'000'000'000, stream));
    must(machine->mem_free_async({.address = address, .stream = stream}));
  };
  free_after_work();
  must(machine->ctx_destroy(other));
  const DeviceAddress next = must(machine->mem_alloc_async({.size = 1_MiB}));
  ASSERT_EQ(next, address);
  must(machine.put(next, 7));
  must(machine->stream_synchronize(stream));
  EXPECT_THAT(machine.get(next), is_ok_and_holds(7));
  EXPECT_THAT(machine->mem_free(next), is_ok());
}

TEST(SimDriverLegacy, AFreeInAStreamMayComeTooLate) {
  SimMachine machine("h200");
  const ContextHandle other = must(machine->ctx_create({.device = device_0}));
  const DeviceAddress address = must(machine->mem_alloc_async({.size = 1_MiB}));
  must(machine->ctx_set_current(machine.primary()));
  must(machine.launch_write(machine.mapped(1), 1, 1'000'000'000));
  must(machine->mem_free_async({.address = address}));
  must(machine->ctx_destroy(other));
  EXPECT_THAT(machine->ctx_synchronize(), is_ok());
}

}  // namespace
}  // namespace tessera::sim
