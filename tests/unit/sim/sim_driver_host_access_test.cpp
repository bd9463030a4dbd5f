#include "support/sim_machine.h"
#include "support/sim_refusals.h"

namespace tessera::sim {
namespace {

// The host's own loads and stores: where a program would crash, an answer.
TEST(SimDriverHostAccess, IsRefusedWhereAProgramWouldCrash) {
  SimMachine machine("h200");
  const DeviceAddress on_device_0 = machine.mapped(1);
  const AllocationHandle handle =
      machine.create(1, {.location = {.type = LocationType::host_numa, .id = 0}});
  const DeviceAddress on_host = machine.reserve(1);
  machine.map(on_host, 1, handle);
  must(machine.allow(on_host, 1));
  const DeviceAddress allocated = must(machine->mem_alloc(4_KiB));
  for (const DeviceAddress address :
       {DeviceAddress(), nowhere, last_address, on_device_0, on_host, allocated}) {
    const auto read = machine->host_read(address);
    ASSERT_THAT(read, fails_with(ErrorCode::illegal_address));
    EXPECT_NE(explain(read.error()), "");
    EXPECT_THAT(machine->host_write(address, std::byte{1}), fails_with(ErrorCode::illegal_address));
  }
  must(machine.put(on_host, 9));
  const std::array read_only = {AccessDescriptor{
      .location = {.type = LocationType::host_numa, .id = 0}, .flags = AccessFlags::read}};
  must(machine->mem_set_access(
      {.address = on_host, .size = machine.unit(), .descriptors = read_only}));
  EXPECT_THAT(machine->host_read(on_host), is_ok_and_holds(std::byte{9}));
  EXPECT_THAT(machine->host_write(on_host, std::byte{1}), fails_with(ErrorCode::illegal_address));
  std::byte* locked = must(machine->mem_host_alloc({.size = 1_B}));
  const DeviceAddress address(reinterpret_cast<std::uintptr_t>(locked));
  EXPECT_THAT(machine->host_write(address, std::byte{3}), is_ok());
  EXPECT_EQ(*locked, std::byte{3});
}

// What the driver keeps for itself lies at the top: no reservation can, but for its holes.
TEST(SimDriverHostAccess, IsRefusedWhereTheDriversOwnMemoryIs) {
  SimMachine machine("h200");
  const Profile& profile = profile_named("h200");
  const DeviceAddress base = profile.address_windows.back().end() - profile.driver_addresses;
  const DeviceAddress own =
      base + Bytes(profile.driver_mapped_single_device.front().begin().value());
  const DeviceAddress hole = base + Bytes(profile.driver_free.front().begin().value());
  EXPECT_EQ(machine.reserve(1, hole), hole);
  EXPECT_NE(machine.reserve(1, own), own);
  EXPECT_THAT(machine->host_read(own), fails_with(ErrorCode::illegal_address));
  EXPECT_THAT(machine->host_write(own, std::byte{1}), fails_with(ErrorCode::illegal_address));
}

}  // namespace
}  // namespace tessera::sim
