// An H200 answered launch_failed, not illegal_address, to every call once an unmap had taken memory
// from under a copy. Destructors took that for work which may still run, and kept what they owned.
#include <gtest/gtest.h>

#include "support/sim_machine.h"
#include "tessera/layers/fault_injecting_driver.h"
#include "tessera/owners/mapping.h"
#include "tessera/owners/vmm_alloc.h"

namespace tessera::sim {
namespace {

// What stays mapped of an owner's and of vmm_alloc's memory where waiting is answered with `code`.
std::uint64_t mappings_kept_after(ErrorCode code) {
  SimMachine machine("h200");
  FaultInjectingDriver faults(&machine.driver(), {});
  CollectingSink sink;
  {
    const Reservation reservation = must(Reservation::make({faults, sink}, {.size = 2_MiB}));
    const PhysicalAllocation memory =
        must(PhysicalAllocation::create({faults, sink}, {.size = 2_MiB}));
    Mapping owned = must(Mapping::map(reservation, Bytes(0), memory));
    must(owned.grant(AccessSet::of_device(device_0)));
    const DeviceAddress allocated = must(vmm_alloc({faults, sink}, 2_MiB));
    faults.set_plan({.faults = {Fault::each_of(Call::ctx_synchronize, code)}});
    static_cast<void>(vmm_free(faults, allocated));
  }
  return machine.driver().books().mappings;
}

TEST(LaunchFailed, IsAContextLostInWhichNothingRuns) {
  EXPECT_EQ(mappings_kept_after(ErrorCode::launch_failed), 0U);
  EXPECT_EQ(mappings_kept_after(ErrorCode::illegal_address), 0U);
}

TEST(LaunchFailed, IsNotWhatEveryErrorMeans) {
  EXPECT_EQ(mappings_kept_after(ErrorCode::unknown), 2U);
}

}  // namespace
}  // namespace tessera::sim
