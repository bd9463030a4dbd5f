// Where two parts of the machine meet: what lies beside a mapping, sizes that no machine has, and
// what profiles can say that no built-in one does.
#include <array>
#include <bit>

#include <unistd.h>

#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

constexpr LocationType on_host = LocationType::host_numa;

TEST(SimDriverCorners, AMappingEndsWithin64Bits) {
  SimMachine machine("h200", {.devices = 2});
  const AllocationHandle handle =
      must(machine->multicast_create({.device_count = 1, .size = last_unit}));
  const Status mapped =
      machine->mem_map({.address = machine.reserve(1), .size = last_unit, .handle = handle});
  ASSERT_THAT(mapped, fails_with(ErrorCode::invalid_value));
  EXPECT_EQ(mapped.error().reason, Reason::leaves_reservation);
}

TEST(SimDriverCorners, AddressesAreNotFreedUnderHalfAMapping) {
  Profile profile = profile_named("h200");
  profile.quirks.address_free_refuses_mapped = false;
  SimMachine machine(profile, {.devices = 2});
  const DeviceAddress address = machine.reserve(1);
  machine.fill(address, 2);
  const Status freed = machine.free(address, 1);
  ASSERT_THAT(freed, fails_with(ErrorCode::invalid_value));
  EXPECT_EQ(freed.error().reason, Reason::cuts_mapping);
  must(machine.unmap(address, 2));
  EXPECT_THAT(machine.free(address, 1), is_ok());
}

// A unit mapped, and beside it one that mem_alloc gave; gives the first.
DeviceAddress beside_an_allocation(SimMachine& machine) {
  const DeviceAddress allocated = must(machine->mem_alloc(machine.unit()));
  const DeviceAddress address = machine.reserve(1, allocated - machine.unit());
  EXPECT_EQ(address, allocated - machine.unit());
  machine.fill(address, 1);
  return address;
}

TEST(SimDriverCorners, AccessStopsBeforeAnAllocation) {
  Profile profile = profile_named("documented");
  profile.quirks.set_access_stops_at_hole = true;
  SimMachine machine(profile);
  const DeviceAddress address = beside_an_allocation(machine);
  EXPECT_THAT(machine.allow(address, 2), is_ok());
  EXPECT_THAT(machine.put(address, 1), is_ok());
}

TEST(SimDriverCorners, AccessIsNotForAnAllocation) {
  SimMachine machine("documented");
  const DeviceAddress address = beside_an_allocation(machine);
  const Status allowed = machine.allow(address, 2);
  ASSERT_THAT(allowed, fails_with(ErrorCode::invalid_value));
  EXPECT_EQ(allowed.error().reason, Reason::hole_in_range);
}

// Only on a device is the shortage told as a wrong argument.
TEST(SimDriverCorners, ATilePoolOnTheHostRunsOutOfMemory) {
  SimMachine machine("h200");
  const Bytes size = profile_named("h200").host_memory + machine.unit();
  const auto create = [&](Location location) {
    return machine->mem_create(
        {.size = size, .properties = {.location = location, .usage = usage_tile_pool}});
  };
  EXPECT_THAT(create({.type = on_host}), fails_with(ErrorCode::out_of_memory));
  must(machine->mem_create({.size = 64_GiB, .properties = {}}));
  EXPECT_THAT(create(on_device(device_0)), fails_with(ErrorCode::invalid_value));
}

TEST(SimDriverCorners, AHostMayHaveMemoryWithoutEnd) {
  Profile profile = profile_named("h200");
  profile.host_memory = Bytes();
  SimMachine machine(profile, {.bytes = false});
  EXPECT_THAT(
      machine->mem_create({.size = 1024_TiB, .properties = {.location = {.type = on_host}}}),
      is_ok());
}

TEST(SimDriverCorners, WindowsHandlesHaveMetadata) {
  const std::array<std::byte, 8> metadata = {};
  SimMachine machine("wddm");
  EXPECT_THAT(machine->mem_create({.size = machine.unit(),
                                   .properties = {.requested_handle_types = HandleTypes::win32,
                                                  .win32_handle_metadata =
                                                      const_cast<std::byte*>(metadata.data())}}),
              is_ok());
}

TEST(SimDriverCorners, MemoryOnTheHostIsImportedToo) {
  SimMachine exporter("h200");
  const AllocationHandle handle =
      exporter.create(1, {.requested_handle_types = HandleTypes::posix_file_descriptor,
                          .location = {.type = on_host}});
  const ShareableHandle exported =
      must(exporter->mem_export_to_shareable_handle({.handle = handle}));
  SimMachine importer("h200");
  const Bytes free = importer.free_memory();
  const AllocationHandle imported = must(importer->mem_import_from_shareable_handle(exported));
  ::close(exported.file_descriptor);
  EXPECT_EQ(importer.free_memory(), free);
  const auto properties =
      must(importer->mem_get_allocation_properties_from_handle({.handle = imported}));
  EXPECT_EQ(properties.location.type, on_host);
}

TEST(SimDriverCorners, AnImportNeedsRoom) {
  SimMachine exporter("h200");
  const ShareableHandle exported =
      must(exporter->mem_export_to_shareable_handle({.handle = exporter.exportable(8)}));
  SimMachine importer("tiny");
  const Books before = importer->books();
  const auto imported = importer->mem_import_from_shareable_handle(exported);
  ::close(exported.file_descriptor);
  ASSERT_THAT(imported, fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(imported.error().reason, Reason::out_of_device_memory);
  EXPECT_EQ(importer->books(), before);
}

TEST(SimDriverCorners, AnExternalWaitBelongsIntoAGraph) {
  SimMachine machine("h200");
  const EventHandle event = must(machine->event_create(EventFlags::none));
  EXPECT_THAT(machine->stream_wait_event({.event = event, .flags = 1}),
              fails_with(ErrorCode::illegal_state));
  EXPECT_THAT(machine->stream_wait_event({.event = event, .flags = 2}),
              fails_with(ErrorCode::invalid_value));
}

TEST(SimDriverCorners, AContextNeedsRoomForItsStacks) {
  SimMachine machine("h200");
  const Profile& profile = *built_in_profile("h200");
  const Bytes free = machine.free_memory();
  // Room for the context without its stacks, and a little.
  const Bytes rest = profile.context_static - 2_MiB;
  static_cast<void>(must(machine->mem_create({.size = align_down(free - rest, 2_MiB)})));
  const Books before = machine->books();
  EXPECT_THAT(machine->ctx_create({.device = device_0}), fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(machine->books(), before);
}

TEST(SimDriverCorners, StacksNeedRoom) {
  SimMachine machine("h200");
  const Bytes free = machine.free_memory();
  static_cast<void>(must(machine->mem_create({.size = align_down(free, 2_MiB)})));
  const Bytes before = must(machine->ctx_get_limit(ContextLimit::stack_size));
  EXPECT_THAT(machine->ctx_set_limit({.limit = ContextLimit::stack_size, .value = 64_KiB}),
              fails_with(ErrorCode::out_of_memory));
  EXPECT_THAT(machine->ctx_get_limit(ContextLimit::stack_size), is_ok_and_holds(before));
}

TEST(SimDriverCorners, TheHostDoesNotReadTheDriversOwnMemory) {
  SimMachine machine("h200");
  const AddressRange own = built_in_profile("h200")->driver_mapped_single_device.front();
  EXPECT_THAT(machine->host_read(own.begin()), fails_with(ErrorCode::illegal_address));
}

TEST(SimDriverCorners, FillsAreForPinnedMemoryToo) {
  SimMachine machine("h200");
  std::byte* pinned = must(machine->mem_host_alloc({.size = 16_B}));
  const DeviceAddress at(std::bit_cast<std::uintptr_t>(pinned));
  must(machine->memset_d8({.destination = at + 3_B, .value = 7, .size = 2_B}));
  must(machine->ctx_synchronize());
  EXPECT_EQ(pinned[2], std::byte{0});
  EXPECT_EQ(pinned[3], std::byte{7});
  EXPECT_EQ(pinned[4], std::byte{7});
  EXPECT_EQ(pinned[5], std::byte{0});
}

TEST(SimDriverCorners, AResetEndsPeerAccess) {
  SimMachine machine("h200", {.devices = 2});
  const ContextHandle peer = must(machine->device_primary_ctx_retain(DeviceOrdinal(1)));
  must(machine->ctx_enable_peer_access({.peer = peer}));
  must(machine->device_primary_ctx_reset(device_0));
  must(machine->device_primary_ctx_retain(device_0));
  EXPECT_THAT(machine->ctx_enable_peer_access({.peer = peer}), is_ok());
}

// Answers of an H200, driver 580.159.04, about memory of mem_alloc.
TEST(SimDriverCorners, DmaBufsKnowOneFlagAndDoNotHaveIt) {
  SimMachine machine("h200");
  const DeviceAddress memory = must(machine->mem_alloc(4_MiB));
  const auto ask = [&](DeviceAddress address, std::uint64_t flags) {
    return machine->mem_get_handle_for_address_range(
        {.address = address, .size = 2_MiB, .flags = flags});
  };
  EXPECT_THAT(ask(memory, 1), fails_with(ErrorCode::not_supported));
  EXPECT_THAT(ask(memory, 2), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(ask(memory, 9), fails_with(ErrorCode::not_supported));
  EXPECT_THAT(ask(DeviceAddress(1ULL << 40U), 9), fails_with(ErrorCode::invalid_value));
}

TEST(CheckMachine, SaysWhatIsWrongWithItsProfile) {
  Profile profile = profile_named("h200");
  EXPECT_EQ(check_machine(profile, {}), "");
  profile.heap_block = 3_MiB;
  EXPECT_THAT(check_machine(profile, {}), testing::StartsWith("heap_block is 3 MiB"));
}

}  // namespace
}  // namespace tessera::sim
