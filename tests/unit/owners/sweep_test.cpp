// Every owner, buffer and the transport under sweep_faults: each call fails with each error that it
// can give. Nothing may be left, no rule of the validation layer broken, the first error has to
// come back, and the program has to work afterwards.
//
// Twice: calls that give back are left alone, as on a healthy driver; and they fail, too, which
// closing again, a destructor or a retry by the sink has to make good.
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "support/must.h"
#include "support/owner_programs.h"
#include "tessera/layers/validating_driver.h"
#include "tessera/sim/sim_driver.h"
#include "tessera/testing/fault_sweep.h"

namespace tessera {
namespace {

using tessera::testing::SweepOptions;
using tessera::testing::SweepReport;
using test::must;
using test::OwnerProgram;

// Two simulated devices under validation. The contexts are the world's own.
class ValidatedWorld final : public tessera::testing::SweepWorld {
 public:
  ValidatedWorld() : simulator_(*sim::built_in_profile("h200"), {.devices = 2, .bytes = false}) {
    must(simulator_.init(0));
    must(simulator_.device_primary_ctx_retain(DeviceOrdinal(1)));
    must(simulator_.ctx_set_current(must(simulator_.device_primary_ctx_retain(DeviceOrdinal(0)))));
    before_ = simulator_.books();
  }

  Driver& driver() override { return validating_; }
  std::string leaks() override {
    const LeakReport left = validating_.ledger().leak_report();
    std::string words = left.is_empty() ? std::string() : to_string(left);
    if (simulator_.books() != before_) {
      words += "the simulator's books differ";
    }
    return words;
  }
  std::string violations() override {
    std::string words = simulator_.check_invariants();
    for (const Finding& finding : validating_.findings()) {
      words += to_string(finding) + "\n";
    }
    return words;
  }

 private:
  sim::SimDriver simulator_;
  ValidatingDriver validating_{&simulator_};
  sim::Books before_;
};

// What a call can give in a world without faults of devices, in which the contexts exist: injected,
// those would say what is not so, and destructors believe them.
std::span<const ErrorCode> errors_of(Call call) {
  static const auto all = [] {
    std::array<std::vector<ErrorCode>, call_count> lists;
    for (std::size_t i = 0; i < call_count; ++i) {
      for (const ErrorCode error : call_errors(static_cast<Call>(i))) {
        const bool is_so = error != ErrorCode::illegal_address &&
                           !(error == ErrorCode::out_of_memory &&
                             static_cast<Call>(i) == Call::device_primary_ctx_retain);
        if (is_so) {
          lists[i].push_back(error);
        }
      }
    }
    return lists;
  }();
  return all[static_cast<std::size_t>(call)];
}

class OwnersSweep : public ::testing::TestWithParam<OwnerProgram> {
 protected:
  static void sweep(const CallSet& never_fails) {
    SweepOptions options;
    options.make_world = [] { return std::make_unique<ValidatedWorld>(); };
    options.never_fails = never_fails;
    options.errors_of = errors_of;
    options.may_recover = GetParam().may_recover;
    const SweepReport report = tessera::testing::sweep_faults(
        [](Driver& driver) { return run_owner_program(GetParam(), driver); }, options);
    EXPECT_TRUE(report.passed()) << to_string(report);
    RecordProperty("faults", static_cast<int>(report.faults));
  }
};

TEST_P(OwnersSweep, LeavesNothingWhereACallFails) { sweep(undo_calls()); }

TEST_P(OwnersSweep, LeavesNothingWhereGivingBackFailsToo) {
  sweep({Call::device_primary_ctx_release, Call::event_destroy});
}

INSTANTIATE_TEST_SUITE_P(All, OwnersSweep, ::testing::ValuesIn(test::owner_programs()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tessera
