// Where drivers differ: each quirk both ways, on copies of one profile.
#include <unistd.h>

#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

Profile with(bool Quirks::*quirk, bool value) {
  Profile profile = profile_named("h200");
  profile.quirks.*quirk = value;
  return profile;
}

TEST(SimDriverQuirks, UnmapAcceptsHoles) {
  for (const bool accepts : {true, false}) {
    SimMachine machine(with(&Quirks::unmap_accepts_holes, accepts));
    const DeviceAddress range = machine.reserve(4);
    const AllocationHandle handle = machine.create(1);
    machine.map(range, 1, handle);
    machine.map(range + machine.unit() * 2, 1, handle);
    const Books before = machine->books();
    const Status unmapped = machine.unmap(range, 4);
    EXPECT_EQ(unmapped.has_value(), accepts);
    EXPECT_EQ(machine->books().mappings, accepts ? 0U : 2U);
    if (!accepts) {
      EXPECT_EQ(machine->books(), before);
      EXPECT_THAT(machine.unmap(range, 1), is_ok());
      EXPECT_THAT(machine.unmap(range + machine.unit() * 2, 1), is_ok());
    }
    // Nothing at all, and unaligned ends.
    EXPECT_EQ(machine.unmap(range, 1).has_value(), accepts);
    EXPECT_EQ(machine->mem_unmap({.address = range + 1_B, .size = machine.unit()}).has_value(),
              accepts);
  }
}

TEST(SimDriverQuirks, SetAccessStopsAtAHole) {
  for (const bool stops : {true, false}) {
    SimMachine machine(with(&Quirks::set_access_stops_at_hole, stops));
    const DeviceAddress range = machine.reserve(3);
    const AllocationHandle handle = machine.create(1);
    machine.map(range, 1, handle);
    machine.map(range + machine.unit() * 2, 1, handle);
    EXPECT_EQ(machine.allow(range, 3).has_value(), stops);
    EXPECT_THAT(machine->mem_get_access({.address = range}),
                is_ok_and_holds(stops ? AccessFlags::read_write : AccessFlags::none));
    EXPECT_THAT(machine->mem_get_access({.address = range + machine.unit() * 2}),
                is_ok_and_holds(AccessFlags::none));
  }
}

TEST(SimDriverQuirks, AMappingMayLeaveItsReservation) {
  for (const bool may : {true, false}) {
    SimMachine machine(with(&Quirks::map_may_leave_reservation, may));
    const DeviceAddress range = machine.reserve(2);
    const AllocationHandle handle = machine.create(2);
    const Status mapped = machine->mem_map(
        {.address = range + machine.unit(), .size = machine.unit() * 2, .handle = handle});
    EXPECT_EQ(mapped.has_value(), may);
    if (may) {
      const DeviceAddress outside = range + machine.unit() * 2;
      EXPECT_THAT(machine.allow(range + machine.unit(), 2), is_ok());
      EXPECT_THAT(machine.put(outside, 3), is_ok());
      EXPECT_THAT(machine.get(outside), is_ok_and_holds(3));
      EXPECT_THAT(machine->mem_retain_allocation_handle(outside),
                  fails_with(ErrorCode::invalid_value));
      EXPECT_THAT(machine.unmap(range + machine.unit(), 2), is_ok());
    }
  }
}

TEST(SimDriverQuirks, AddressFreeRefusesMappedOnes) {
  for (const bool refuses : {true, false}) {
    SimMachine machine(with(&Quirks::address_free_refuses_mapped, refuses));
    const Books empty = machine->books();
    const DeviceAddress range = machine.mapped(2);
    const Books before = machine->books();
    const Status freed = machine->mem_address_free({.address = range, .size = machine.unit() * 2});
    EXPECT_EQ(freed.has_value(), !refuses);
    EXPECT_EQ(machine->books(), refuses ? before : empty);
  }
}

TEST(SimDriverQuirks, AnImportMayBeExportedAgain) {
  for (const bool may : {true, false}) {
    SimMachine machine(with(&Quirks::reexport_imported, may));
    const AllocationHandle handle =
        machine.create(1, {.requested_handle_types = HandleTypes::posix_file_descriptor});
    const ShareableHandle exported =
        must(machine->mem_export_to_shareable_handle({.handle = handle}));
    const AllocationHandle imported = must(machine->mem_import_from_shareable_handle(exported));
    const auto again = machine->mem_export_to_shareable_handle({.handle = imported});
    EXPECT_EQ(again.has_value(), may);
    if (again) {
      const auto third = machine->mem_import_from_shareable_handle(*again);
      EXPECT_THAT(third, is_ok());
      ::close(again->file_descriptor);
    }
    ::close(exported.file_descriptor);
    EXPECT_EQ(machine->books().allocations, 1U) << "one memory, several handles";
  }
}

TEST(SimDriverQuirks, UnknownHandleTypesMayBeIgnored) {
  for (const bool ignores : {true, false}) {
    SimMachine machine(with(&Quirks::ignores_unknown_handle_types, ignores));
    const auto created = machine->mem_create(
        {.size = machine.unit(),
         .properties = {.requested_handle_types = static_cast<HandleTypes>(16)}});
    EXPECT_EQ(created.has_value(), ignores);
    if (created) {
      EXPECT_THAT(machine->mem_get_allocation_properties_from_handle({.handle = *created}),
                  is_ok_and_holds(AllocationProperties()));
    }
  }
}

TEST(SimDriverQuirks, CopiesMayFault) {
  for (const bool check : {true, false}) {
    SimMachine machine(with(&Quirks::copies_check_access, check));
    const DeviceAddress range = machine.reserve(1);
    EXPECT_THAT(machine.put(range, 1),
                fails_with(check ? ErrorCode::invalid_value : ErrorCode::illegal_address));
    EXPECT_EQ(machine->ctx_synchronize().has_value(), check);
  }
}

TEST(SimDriverQuirks, PartsOfAHandleMayBeMapped) {
  SimMachine machine(with(&Quirks::partial_mapping, true));
  const DeviceAddress whole = machine.reserve(4);
  const DeviceAddress part = machine.reserve(4);
  const AllocationHandle handle = machine.create(4);
  machine.map(whole, 4, handle);
  must(machine.allow(whole, 4));
  const auto map_part = [&](Bytes size, Bytes offset) {
    return machine->mem_map({.address = part, .size = size, .offset = offset, .handle = handle});
  };
  const Books before = machine->books();
  const auto is_refused = fails_with(ErrorCode::invalid_value);
  EXPECT_THAT(map_part(machine.unit() * 5, 0_B), is_refused);
  EXPECT_THAT(map_part(machine.unit() * 2, machine.unit() * 3), is_refused);
  EXPECT_THAT(map_part(machine.unit(), 4_KiB), is_refused);
  EXPECT_THAT(map_part(4_KiB, 0_B), is_refused);
  EXPECT_THAT(map_part(machine.unit(), last_unit), is_refused);
  EXPECT_EQ(machine->books(), before);
  ASSERT_THAT(map_part(machine.unit() * 2, machine.unit()), is_ok());
  must(machine.allow(part, 2));
  EXPECT_THAT(machine.put(part + 5_B, 71), is_ok());
  EXPECT_THAT(machine.get(whole + machine.unit() + 5_B), is_ok_and_holds(71));
  EXPECT_THAT(machine.put(whole + machine.unit() * 3 - 1_B, 72), is_ok());
  EXPECT_THAT(machine.get(part + machine.unit() * 2 - 1_B), is_ok_and_holds(72));
  EXPECT_THAT(machine->mem_retain_allocation_handle(part), is_ok_and_holds(handle));
  EXPECT_THAT(machine->pointer_get_attribute(
                  {.attribute = PointerAttribute::mapping_size, .address = part}),
              is_ok_and_holds((machine.unit() * 2).value()));
}

TEST(SimDriverQuirks, PeersAreWhatTheProfileSays) {
  SimMachine machine("odd", {.devices = 4});
  const auto reaches = [&](std::int32_t from, std::int32_t to) {
    return must(machine->device_can_access_peer(
        {.device = DeviceOrdinal(from), .peer = DeviceOrdinal(to)}));
  };
  EXPECT_TRUE(reaches(0, 1));
  EXPECT_TRUE(reaches(2, 0));
  EXPECT_FALSE(reaches(0, 2));
  EXPECT_FALSE(reaches(3, 0));
  const DeviceAddress range = machine.reserve(2);
  const AllocationHandle handle = machine.create(2, {.location = on_device(DeviceOrdinal(2))});
  machine.map(range, 2, handle);
  EXPECT_THAT(machine.allow(range, 2, device_0), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(machine.allow(range, 2, DeviceOrdinal(3)), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(machine.allow(range, 2, device_0, AccessFlags::none), is_ok());
  EXPECT_THAT(machine.allow(range, 2, DeviceOrdinal(2)), is_ok());
  const ContextHandle other = must(machine->device_primary_ctx_retain(DeviceOrdinal(2)));
  EXPECT_THAT(machine->ctx_enable_peer_access({.peer = other}),
              fails_with(ErrorCode::peer_access_unsupported));
}

// Where memory for GPU-direct RDMA lost its first mapping, a mapping that gets access then blocks
// the others, until it loses it or goes.
TEST(SimDriverQuirks, RdmaNeedsItsFirstMapping) {
  for (const bool needs : {true, false}) {
    SimMachine machine(with(&Quirks::rdma_needs_first_mapping, needs), {.devices = 2});
    const DeviceAddress range = machine.reserve(4);
    const auto at = [&](std::uint64_t index) { return range + machine.unit() * index; };
    const AllocationHandle handle = machine.create(1, {.gpu_direct_rdma_capable = 1});
    for (std::uint64_t i = 0; i < 3; ++i) {
      machine.map(at(i), 1, handle);
    }
    must(machine.allow(at(2), 1, device_0, AccessFlags::read));
    must(machine.unmap(range, 1));
    must(machine.allow(at(1), 1));
    const Status further = machine.allow(at(2), 1);
    EXPECT_EQ(further.has_value(), !needs);
    EXPECT_EQ(machine.BareCalls::map(at(3), 1, handle).has_value(), !needs);
    EXPECT_EQ(machine.allow(at(1), 1, device_1).has_value(), !needs) << "a peer gets none at all";
    if (needs) {
      EXPECT_THAT(further, fails_with(ErrorCode::unknown));
      EXPECT_EQ(further.error().values[0], at(1).value());
      EXPECT_THAT(machine->mem_get_access({.address = at(2)}), is_ok_and_holds(AccessFlags::none))
          << "what it had is lost";
      EXPECT_THAT(machine->mem_get_access({.address = at(1)}),
                  is_ok_and_holds(AccessFlags::read_write));
      // Nothing else is blocked: other memory, and access that stays as it is.
      EXPECT_THAT(machine.allow(at(1), 1), is_ok());
      EXPECT_THAT(machine.put(machine.mapped(1), 1), is_ok());
      must(machine.allow(at(1), 1, device_0, AccessFlags::none));
      EXPECT_THAT(machine.BareCalls::map(at(3), 1, handle), is_ok());
      EXPECT_THAT(machine.allow(at(2), 1), is_ok()) << "the new mapping is noted";
    }
  }
}

TEST(SimDriverQuirks, TheCpuCopiesHostMemory) {
  for (const bool copies : {true, false}) {
    SimMachine machine(with(&Quirks::cpu_copies_host_memory, copies));
    const DeviceAddress range = machine.reserve(1);
    machine.map(range, 1, machine.create(1, {.location = {.type = LocationType::host_numa}}));
    EXPECT_THAT(machine.put(range, 5), fails_with(ErrorCode::invalid_value));
    must(machine.allow_for(range, 1, {.type = LocationType::host}, AccessFlags::read));
    EXPECT_THAT(machine.put(range, 5), fails_with(ErrorCode::invalid_value));
    EXPECT_EQ(machine.get(range).has_value(), copies);
    must(machine.allow_for(range, 1, {.type = LocationType::host}, AccessFlags::read_write));
    const DeviceAddress other = must(machine->mem_alloc(16_B));
    const StreamHandle stream = must(machine->stream_create(StreamFlags::non_blocking));
    must(machine.launch_write(other, 9, 1'000'000, stream));
    const Status copied = machine->memcpy_dtod_async(
        {.copy = {.destination = range, .source = other, .size = 1_B}, .stream = stream});
    EXPECT_EQ(copied.has_value(), copies);
    if (copies) {
      EXPECT_THAT(machine->host_read(range), is_ok_and_holds(std::byte{9})) << "it has waited";
    }
    EXPECT_THAT(machine->memset_d8({.destination = range, .value = 1, .size = 1_B}),
                fails_with(ErrorCode::invalid_value))
        << "the device fills";
  }
}

}  // namespace
}  // namespace tessera::sim
