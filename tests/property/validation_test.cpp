// The validation layer agrees with the simulator: what it has nothing to say about is answered OK,
// and what it says is refused is refused.
#include <algorithm>
#include <array>

#include "property/programs.h"
#include "tessera/layers/validating_driver.h"

namespace tessera::model {
namespace {

using testing::Op;
using testing::OpKind;
using testing::Outcome;
using testing::Program;

// What a correct program can meet: too little of something, a machine without IMEX channels.
bool is_nobodys_fault(ErrorCode code) {
  constexpr std::array codes = {ErrorCode::out_of_memory, ErrorCode::not_permitted};
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

// The virtual memory calls, and those that use what is mapped. To ask what lies at an address is no
// mistake, and other calls have rules for what is usual only.
bool is_covered(OpKind kind) {
  return (kind >= OpKind::reserve && kind <= OpKind::get_access) || kind == OpKind::htod ||
         kind == OpKind::expect || kind == OpKind::dtod || kind == OpKind::memset;
}

// The first call that the driver refused and no rule explains; empty: there is none.
std::string unexplained(const sim::Profile& profile, std::int32_t devices, const Program& program) {
  sim::SimDriver simulator(profile, {.devices = devices});
  bool is_warned = false;
  ValidatingDriver driver(
      &simulator, {.on_finding =
                       [&is_warned](const Finding& finding) {
                         const Consequence consequence = rule_of(finding.rule).consequence;
                         is_warned = is_warned || consequence == Consequence::lost_context ||
                                     consequence == Consequence::crashes;
                       },
                   .portability = false});
  testing::ProgramRunner runner(driver, profile.granularity_minimum);
  if (!runner.begin()) {
    return "the machine cannot be started";
  }
  for (const Op& op : program.ops) {
    const std::uint64_t before = driver.finding_count();
    const Outcome outcome = runner.run(op);
    const bool is_lost = outcome.code == ErrorCode::illegal_address;
    if (!outcome.is_ok() && !is_nobodys_fault(outcome.code) && (is_lost || is_covered(op.kind)) &&
        driver.finding_count() == before) {
      // The first fault ends it: what else is refused for it, its finding explained.
      return is_lost && is_warned ? ""
                                  : std::string(name_of(op.kind)) + " is answered " +
                                        code_name(outcome.code) + ", and no rule says why";
    }
  }
  return {};
}

// The first call that a rule says is refused, and that is answered OK; empty: there is none.
std::string overstated(const sim::Profile& profile, std::int32_t devices, const Program& program) {
  sim::SimDriver simulator(profile, {.devices = devices});
  std::string refusal;
  ValidatingDriver driver(&simulator,
                          {.on_finding =
                               [&](const Finding& finding) {
                                 const Rule& rule = rule_of(finding.rule);
                                 // What was observed is so on the H200's like alone.
                                 const bool is_so = rule.source == RuleSource::documented ||
                                                    profile.quirks.rdma_needs_first_mapping;
                                 if (rule.consequence == Consequence::refused && is_so) {
                                   refusal = rule.name;
                                 }
                               },
                           .portability = false});
  testing::ProgramRunner runner(driver, profile.granularity_minimum);
  if (!runner.begin()) {
    return "the machine cannot be started";
  }
  for (const Op& op : program.ops) {
    refusal.clear();
    if (runner.run(op).is_ok() && !refusal.empty()) {
      return std::string(name_of(op.kind)) + " is answered OK, against rule " + refusal;
    }
  }
  return {};
}

class Validation : public ::testing::TestWithParam<MachineKind> {
 protected:
  void expect_none(std::string (*find)(const sim::Profile&, std::int32_t, const Program&)) {
    const sim::Profile& profile = profile_of(GetParam());
    const auto options = generator_options(profile, GetParam().devices);
    testing::ProgramGenerator generator(options);
    Program program;
    for (std::uint64_t seed = 1; seed <= 4'000; ++seed) {
      generator.generate(seed, program);
      const std::string what = find(profile, GetParam().devices, program);
      if (!what.empty()) {
        const Program smallest = testing::shrink(program, [&](const Program& candidate) {
          return find(profile, GetParam().devices, candidate) == what;
        });
        FAIL() << "seed " << seed << ": " << what << '\n'
               << scenario::to_string(testing::to_case(smallest, "found"));
      }
    }
  }
};

TEST_P(Validation, HasAFindingForEachCallThatIsRefused) { expect_none(unexplained); }
TEST_P(Validation, IsRefusedWhereItSaysSo) { expect_none(overstated); }

// Not `odd`: how large the units of its reservations are no call tells.
INSTANTIATE_TEST_SUITE_P(Machines, Validation,
                         ::testing::Values(MachineKind{"tiny", 1}, MachineKind{"tiny", 2},
                                           MachineKind{"h200", 2}, MachineKind{"documented", 1},
                                           MachineKind{"wddm", 1}, MachineKind{"v100_cuda102", 1}),
                         [](const auto& kind) {
                           return std::string(kind.param.profile) +
                                  std::to_string(kind.param.devices);
                         });

}  // namespace
}  // namespace tessera::model
