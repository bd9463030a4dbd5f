// The owners' programs under sweep_faults, on any machine: each call fails with each error that it
// can give on a healthy device, under the validation layer.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "support/owner_programs.h"
#include "tessera/layers/validating_driver.h"
#include "tessera/testing/fault_sweep.h"

namespace tessera::test {

// `Machine` has driver(), whose context of device 0 is current, and says in words what is there
// that was not there when it was made (left()) and what is wrong with it (broken()).
template <class Machine>
class ValidatedWorld final : public tessera::testing::SweepWorld {
 public:
  Driver& driver() override { return validating_; }
  std::string leaks() override {
    const LeakReport left = validating_.ledger().leak_report();
    return (left.is_empty() ? std::string() : to_string(left)) + machine_.left();
  }
  std::string violations() override {
    std::string words = machine_.broken();
    for (const Finding& finding : validating_.findings()) {
      words += to_string(finding) + "\n";
    }
    return words;
  }

 private:
  Machine machine_;
  ValidatingDriver validating_{&machine_.driver()};
};

// What a call can give in a world without faults of devices, in which the contexts exist: injected,
// those would say what is not so, and destructors believe them.
[[nodiscard]] std::span<const ErrorCode> healthy_errors(Call call);

// Two sweeps are of use: calls that give back left alone, as on a healthy driver (undo_calls); and
// failing too, which closing again, a destructor or a retry by the sink has to make good.
[[nodiscard]] inline CallSet undo_calls_may_fail() {
  return {Call::device_primary_ctx_release, Call::event_destroy};
}

template <class Machine>
[[nodiscard]] tessera::testing::SweepReport sweep_owner_program(const OwnerProgram& program,
                                                                const CallSet& never_fails) {
  tessera::testing::SweepOptions options;
  options.make_world = [] { return std::make_unique<ValidatedWorld<Machine>>(); };
  options.never_fails = never_fails;
  options.errors_of = healthy_errors;
  options.may_recover = program.may_recover;
  return tessera::testing::sweep_faults(
      [&](Driver& driver) { return run_owner_program(program, driver); }, options);
}

}  // namespace tessera::test
