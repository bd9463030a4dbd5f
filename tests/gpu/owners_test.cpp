// Every owner, buffer and the transport on a real GPU, under the validation layer: first as they
// are, then with each call failing in turn with one error. What the layers see left, and what the
// device's free memory says, has to be nothing.
#include "gpu_test.h"
#include "support/owner_programs.h"
#include "tessera/layers/driver_stack.h"

namespace tessera::gpu {
namespace {

class OwnersOnGpu : public GpuTest, public testing::WithParamInterface<test::OwnerProgram> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    if (GetParam().simulated_only) {
      GTEST_SKIP() << "simulated only";
    }
    if (machine().devices < GetParam().devices) {
      GTEST_SKIP() << "needs " << GetParam().devices << " devices";
    }
    // What the first use of each device's context takes is not the programs'.
    static_cast<void>(run_owner_program(GetParam(), driver()));
  }

  // Runs the program, and looks for findings and for what is left. How many calls it made.
  std::uint64_t run(const FaultPlan& plan) {
    const MemoryInfo before = must(driver().mem_get_info());
    const DriverStack stack =
        stack_layers(driver(), {.faults = plan, .validation = ValidationOptions()});
    const Status done = run_owner_program(GetParam(), stack.driver());
    const std::uint64_t faults = stack.faults()->faults();
    if (faults == 0) {
      EXPECT_TRUE(done) << to_string(done.error());
    } else if (!GetParam().may_recover) {
      EXPECT_EQ(answer(done), code_name(stack.faults()->first_fault()->code));
    }
    for (const Finding& finding : stack.validating()->findings()) {
      ADD_FAILURE() << to_string(finding);
    }
    const LeakReport left = stack.validating()->ledger().leak_report();
    EXPECT_TRUE(left.is_empty()) << to_string(left);
    EXPECT_EQ(must(driver().mem_get_info()).free.value(), before.free.value());
    return stack.faults()->calls();
  }
};

TEST_P(OwnersOnGpu, LeaveNothing) { run({}); }

TEST_P(OwnersOnGpu, LeaveNothingWhereACallFails) {
  const std::uint64_t calls = run({});
  for (std::uint64_t call = 1; call <= calls && !HasFailure(); ++call) {
    SCOPED_TRACE("call " + std::to_string(call));
    run({.faults = {Fault::nth(call, ErrorCode::out_of_memory)}, .never_fails = undo_calls()});
  }
}

INSTANTIATE_TEST_SUITE_P(All, OwnersOnGpu, testing::ValuesIn(test::owner_programs()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tessera::gpu
