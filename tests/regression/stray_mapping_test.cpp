// A mapping may run past its reservation's end. Other allocations and the driver's own blocks came
// to lie on it.
#include <gtest/gtest.h>

#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

TEST(StrayMapping, IsPassedOverByAllocations) {
  for (const std::uint64_t units : {1U, 2U, 3U, 4U, 8U, 64U}) {
    SimMachine machine("h200");
    Driver& driver = machine.driver();
    const DeviceAddress base = must(driver.mem_address_reserve({.size = 4_MiB}));
    const AllocationHandle memory = must(driver.mem_create({.size = 4_MiB, .properties = {}}));
    must(driver.mem_map({.address = base + 2_MiB, .size = 4_MiB, .handle = memory}));
    const DeviceAddress allocated = must(driver.mem_alloc(2_MiB * units));
    EXPECT_FALSE(
        AddressRange(allocated, 2_MiB * units).intersects(AddressRange(base + 2_MiB, 4_MiB)));
  }
}

TEST(StrayMapping, IsPassedOverByTheFirstContext) {
  Profile profile = profile_named("h200");
  // So little that what the driver takes lies right above the reservation.
  profile.address_windows = {AddressRange(DeviceAddress(0x3'0200'0000), 192_MiB)};
  SimDriver driver(profile);
  must(driver.init(0));
  const DeviceAddress base = must(driver.mem_address_reserve({.size = 32_MiB}));
  const AllocationHandle memory = must(driver.mem_create({.size = 192_MiB, .properties = {}}));
  must(driver.mem_map({.address = base, .size = 192_MiB, .handle = memory}));
  EXPECT_THAT(driver.device_primary_ctx_retain(device_0), is_ok());
  EXPECT_EQ(driver.check_invariants(), "");
}

}  // namespace
}  // namespace tessera::sim
