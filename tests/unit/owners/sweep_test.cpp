// Every owner, buffer and the transport under sweep_faults on the simulator. Nothing may be left,
// no rule of the validation layer broken, the first error has to come back, and the program has to
// work afterwards. On a GPU the same runs in tests/gpu/owners_test.cpp.
#include <string>

#include <gmock/gmock.h>

#include "support/must.h"
#include "support/owner_sweep.h"
#include "tessera/sim/sim_driver.h"

namespace tessera {
namespace {

using test::must;
using test::OwnerProgram;

// Two simulated devices, whose contexts are there.
class SimulatedMachine {
 public:
  SimulatedMachine() : driver_(*sim::built_in_profile("h200"), {.devices = 2, .bytes = false}) {
    must(driver_.init(0));
    must(driver_.device_primary_ctx_retain(DeviceOrdinal(1)));
    must(driver_.ctx_set_current(must(driver_.device_primary_ctx_retain(DeviceOrdinal(0)))));
    before_ = driver_.books();
  }

  Driver& driver() { return driver_; }
  std::string left() { return driver_.books() == before_ ? "" : "the simulator's books differ"; }
  std::string broken() { return driver_.check_invariants(); }

 private:
  sim::SimDriver driver_;
  sim::Books before_;
};

class OwnersSweep : public ::testing::TestWithParam<OwnerProgram> {
 protected:
  static void sweep(const CallSet& never_fails) {
    const auto report = test::sweep_owner_program<SimulatedMachine>(GetParam(), never_fails);
    EXPECT_TRUE(report.passed()) << to_string(report);
    RecordProperty("faults", static_cast<int>(report.faults));
  }
};

TEST_P(OwnersSweep, LeavesNothingWhereACallFails) { sweep(undo_calls()); }

TEST_P(OwnersSweep, LeavesNothingWhereGivingBackFailsToo) { sweep(test::undo_calls_may_fail()); }

INSTANTIATE_TEST_SUITE_P(All, OwnersSweep, ::testing::ValuesIn(test::owner_programs()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tessera
