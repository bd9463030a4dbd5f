// Suites that look at what the simulator refuses, as they are with a rule of it switched off. What
// is run is what the tests named run.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "rule_off_driver.h"

namespace tessera::rules_off {

class Suite {
 public:
  Suite() = default;
  Suite(const Suite&) = delete;
  Suite& operator=(const Suite&) = delete;
  virtual ~Suite();

  [[nodiscard]] virtual std::string name() const = 0;
  // The rules that refuse something in it, with all of them on.
  [[nodiscard]] const std::set<RefusalRule>& rules() const noexcept { return rules_; }
  // Runs it, as far as it meets the rule, with the rule off: whether a check of it fails, and
  // which, in words; empty: it passes.
  [[nodiscard]] virtual std::string failure_without(const RefusalRule& rule) const = 0;

 protected:
  std::set<RefusalRule> rules_;
};

// Simulator.AgreesWithTheModelInManyPrograms, in tests/property.
[[nodiscard]] std::unique_ptr<Suite> random_programs();
// SimDriverRefusals and SimDriverRefusalCases, in tests/unit/sim.
[[nodiscard]] std::unique_ptr<Suite> refusal_tables();
[[nodiscard]] std::unique_ptr<Suite> refusal_cases();
// BeforeInit.RefusesEveryOtherCall in tests/conformance, and its like without a context and in a
// lost process.
[[nodiscard]] std::unique_ptr<Suite> every_call();

}  // namespace tessera::rules_off
