// Asked for the host, mem_get_access answered with the greater of the host's flags and device 0's;
// the driver answers with those that were changed last.
#include <gtest/gtest.h>

#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

TEST(AccessOfHost, IsWhatWasChangedLastWhereTheDeviceHasSomeToo) {
  constexpr Location host = {.type = LocationType::host};
  SimMachine machine("h200");
  const DeviceAddress address = machine.reserve(1);
  machine.map(address, 1, machine.create(1, {.location = {.type = LocationType::host_numa}}));
  const auto asked = [&] {
    return must(machine->mem_get_access({.address = address, .location = host}));
  };
  must(machine.allow_for(address, 1, host, AccessFlags::read_write));
  must(machine.allow(address, 1, device_0, AccessFlags::read));
  EXPECT_EQ(asked(), AccessFlags::read);
  must(machine.allow_for(address, 1, host, AccessFlags::read_write));
  EXPECT_EQ(asked(), AccessFlags::read) << "nothing changed";
  must(machine.allow(address, 1, device_0, AccessFlags::none));
  EXPECT_EQ(asked(), AccessFlags::read_write);
  must(machine.allow_for(address, 1, host, AccessFlags::read));
  must(machine.allow(address, 1, device_0, AccessFlags::read_write));
  EXPECT_EQ(asked(), AccessFlags::read_write);
}

}  // namespace
}  // namespace tessera::sim
