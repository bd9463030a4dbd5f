// Every owner, buffer and the transport under sweep_faults on a real GPU, as
// tests/unit/owners/sweep_test.cpp does it on the simulator: what the validation layer sees left,
// and what the device's free memory says, has to be nothing.
#include "gpu_test.h"
#include "support/owner_sweep.h"

namespace tessera::gpu {
namespace {

class RealMachine {
 public:
  RealMachine() : before_(must(driver().mem_get_info()).free) {}

  [[nodiscard]] static Driver& driver() { return *machine().driver; }
  [[nodiscard]] std::string left() const {
    const Bytes now = must(driver().mem_get_info()).free;
    return now == before_ ? ""
                          : std::to_string(before_.value()) + " bytes were free, now " +
                                std::to_string(now.value());
  }
  [[nodiscard]] static std::string broken() { return {}; }

 private:
  Bytes before_;
};

class OwnersOnGpu : public GpuTest, public ::testing::WithParamInterface<test::OwnerProgram> {
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
    // Contexts stay, and what their first use takes is not the programs'.
    for (std::int32_t other = 1; other < GetParam().devices; ++other) {
      must(driver().device_primary_ctx_retain(DeviceOrdinal(other)));
    }
    static_cast<void>(run_owner_program(GetParam(), driver()));
  }

  static void sweep(const CallSet& never_fails) {
    const auto report = test::sweep_owner_program<RealMachine>(GetParam(), never_fails);
    EXPECT_TRUE(report.passed()) << to_string(report);
    RecordProperty("faults", static_cast<int>(report.faults));
  }
};

TEST_P(OwnersOnGpu, LeaveNothingWhereACallFails) { sweep(undo_calls()); }

TEST_P(OwnersOnGpu, LeaveNothingWhereGivingBackFailsToo) { sweep(test::undo_calls_may_fail()); }

INSTANTIATE_TEST_SUITE_P(All, OwnersOnGpu, ::testing::ValuesIn(test::owner_programs()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tessera::gpu
