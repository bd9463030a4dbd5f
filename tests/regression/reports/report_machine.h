// What the tests of reports share: two simulated H200s with faults on demand, under validation.
//
//   program -> ValidatingDriver -> FaultInjectingDriver -> SimDriver
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/bare_calls.h"
#include "support/matchers.h"
#include "tessera/layers/fault_injecting_driver.h"
#include "tessera/layers/validating_driver.h"
#include "tessera/owners/mapping.h"
#include "tessera/sim/sim_driver.h"

namespace tessera::reports {

using test::fails_with;
using test::is_ok;
using test::must;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

inline constexpr DeviceOrdinal device_0{0};
inline constexpr DeviceOrdinal device_1{1};
inline constexpr Bytes unit = 2_MiB;

class ReportMachine : public test::BareCalls<ReportMachine> {
 public:
  explicit ReportMachine(const FaultPlan& plan = {},
                         const sim::Profile& profile = *sim::built_in_profile("h200"))
      : simulator_(profile, {.devices = 2}), faults_(&simulator_, {}), driver_(&faults_) {
    must(driver_.init(0));
    primary_ = must(driver_.device_primary_ctx_retain(device_0));
    must(driver_.ctx_set_current(primary_));
    must(driver_.device_primary_ctx_retain(device_1));
    faults_.set_plan(plan);
  }

  [[nodiscard]] ValidatingDriver& driver() noexcept { return driver_; }
  ValidatingDriver* operator->() noexcept { return &driver_; }
  [[nodiscard]] sim::SimDriver& simulator() noexcept { return simulator_; }
  [[nodiscard]] DriverUse use() noexcept { return {driver_, sink_}; }
  void set_faults(const FaultPlan& plan) { faults_.set_plan(plan); }

  // Rules broken so far; with what is left, after `end`.
  [[nodiscard]] std::vector<RuleId> broken() const {
    std::vector<RuleId> rules;
    for (const Finding& finding : driver_.findings()) {
      rules.push_back(finding.rule);
    }
    return rules;
  }
  // Gives the contexts back, and looks for leaks.
  std::vector<RuleId> end() {
    must(driver_.ctx_set_current({}));
    must(driver_.device_primary_ctx_release(device_0));
    must(driver_.device_primary_ctx_release(device_1));
    driver_.check_leaks();
    return broken();
  }
  // All that was found, in words.
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const Finding& finding : driver_.findings()) {
      all += to_string(finding) + "\n";
    }
    return all;
  }

  [[nodiscard]] static Bytes unit() { return reports::unit; }
  StreamHandle stream() { return must(driver_.stream_create(StreamFlags::non_blocking)); }
  EventHandle event() { return must(driver_.event_create(EventFlags::none)); }

 private:
  sim::SimDriver simulator_;
  FaultInjectingDriver faults_;
  ValidatingDriver driver_;
  CollectingSink sink_;
  ContextHandle primary_;
};

}  // namespace tessera::reports
