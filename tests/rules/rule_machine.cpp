#include "rule_machine.h"

#include <memory>

namespace tessera::rules {
namespace {

std::string all_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += to_string(finding) + "\n";
  }
  return text;
}

// The simulator refuses what crashes a real driver; leaks are found after the last call.
void expect_consequence(const Finding& finding) {
  const Rule& rule = rule_of(finding.rule);
  if (means_contexts_lost(finding.answer)) {
    EXPECT_EQ(rule.consequence, Consequence::lost_context) << to_string(finding);
    return;
  }
  const bool is_refusal =
      rule.consequence == Consequence::refused || rule.consequence == Consequence::crashes;
  EXPECT_EQ(finding.answer != ErrorCode{}, is_refusal) << to_string(finding);
}

}  // namespace

sim::Profile h200() { return *sim::built_in_profile("h200"); }
sim::Profile without_peers() {
  sim::Profile profile = h200();
  profile.peers = {{true, false}, {false, true}};
  return profile;
}
sim::Profile with_fabric() {
  sim::Profile profile = h200();
  profile.export_types = HandleTypes::posix_file_descriptor | HandleTypes::fabric;
  profile.not_permitted_types = HandleTypes::none;
  return profile;
}

void expect_fires(RuleId rule, const sim::Profile& profile, Program program) {
  for (const ValidationMode mode : {ValidationMode::report, ValidationMode::refuse}) {
    SCOPED_TRACE(mode == ValidationMode::report ? "report" : "refuse");
    RuleMachine machine(profile, mode);
    program(machine);
    const std::vector<Finding> findings = machine.driver().findings();
    ASSERT_EQ(findings.size(), 1U) << all_of(findings);
    EXPECT_EQ(rule_of(findings[0].rule).name, rule_of(rule).name) << all_of(findings);
    EXPECT_THAT(to_string(findings[0]), testing::Not(testing::HasSubstr("{")));
    if (mode == ValidationMode::report) {
      expect_consequence(findings[0]);
    } else {
      const bool may_refuse = findings[0].call != Call::none &&
                              rule_of(rule).source != RuleSource::portability &&
                              findings[0].answer == ErrorCode{};
      EXPECT_EQ(findings[0].was_refused, may_refuse);
    }
    EXPECT_EQ(machine.simulator().check_invariants(), "");
  }
}

void expect_leaks(const std::vector<RuleId>& rules, Program program) {
  RuleMachine machine(h200(), ValidationMode::report);
  program(machine);
  std::vector<RuleId> found;
  for (const Finding& finding : machine.driver().findings()) {
    found.push_back(finding.rule);
    EXPECT_THAT(to_string(finding), testing::HasSubstr("by call "));
  }
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(rules))
      << all_of(machine.driver().findings());
}

void expect_silence(const sim::Profile& profile, Program program) {
  for (const ValidationMode mode : {ValidationMode::report, ValidationMode::refuse}) {
    RuleMachine machine(profile, mode);
    program(machine);
    EXPECT_EQ(all_of(machine.driver().findings()), "");
  }
}

void expect_clause(const Clause& clause) {
  RuleMachine m(clause.profile(), ValidationMode::report);
  clause.program(m);
  std::vector<std::string_view> found;
  for (const Finding& finding : m->findings()) {
    found.push_back(rule_of(finding.rule).name);
  }
  if (clause.rule == RuleId::none) {
    EXPECT_THAT(found, testing::IsEmpty());
  } else {
    EXPECT_THAT(found, testing::ElementsAre(rule_of(clause.rule).name));
  }
}

std::vector<Breaking>& all_breaking() {
  static std::vector<Breaking> breaking;
  return breaking;
}

}  // namespace tessera::rules
