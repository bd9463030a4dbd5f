// With any rule of the layer off, its own test notices: what it wants found is not.
#include <algorithm>
#include <iostream>

#include "rule_machine.h"
#include "support/stop_watch.h"

namespace tessera::rules {
namespace {

bool has(const std::vector<Finding>& findings, RuleId rule) {
  return std::any_of(findings.begin(), findings.end(),
                     [rule](const Finding& finding) { return finding.rule == rule; });
}

TEST(RulesOff, AreNoticed) {
  double slowest = 0;
  for (const Rule& rule : all_rules()) {
    const auto& all = all_breaking();
    const auto breaking = std::find_if(
        all.begin(), all.end(), [&](const Breaking& entry) { return entry.rule == rule.id; });
    ASSERT_NE(breaking, all.end()) << "no program breaks " << rule.name;
    const test::StopWatch watch;
    EXPECT_FALSE(has(breaking->findings({rule.id}), rule.id)) << rule.name;
    slowest = std::max(slowest, watch.milliseconds());
    EXPECT_TRUE(has(breaking->findings({}), rule.id)) << rule.name;
  }
  std::cout << all_rules().size() << " rules switched off; the slowest was noticed after "
            << slowest << " ms\n";
}

}  // namespace
}  // namespace tessera::rules
