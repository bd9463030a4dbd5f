#include "defined_program.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tessera/layers/validating_driver.h"
#include "tessera/sim/sim_driver.h"
#include "tessera/testing/program_runner.h"

namespace tessera::tools {
namespace {

using testing::Op;
using testing::OpKind;
using testing::Program;

// A kernel's time is so many units of 10 us: 10 ms and more, longer than a hundred calls.
constexpr int launch_units_min = 1000;
constexpr int launch_units_factor = 50;
constexpr int launch_units_max = 100;

// Which operations crash a real driver; all false: none.
std::vector<bool> crashing(const Program& program, const sim::Profile& profile,
                           std::int32_t devices) {
  std::vector<bool> crashes(program.ops.size());
  std::size_t at = 0;
  sim::SimDriver simulator(profile, {.devices = devices});
  ValidatingDriver driver(&simulator,
                          {.on_finding =
                               [&](const Finding& finding) {
                                 if (rule_of(finding.rule).consequence == Consequence::crashes) {
                                   crashes[at] = true;
                                 }
                               },
                           .portability = false,
                           .findings_max = 0});
  testing::ProgramRunner runner(driver, profile.granularity_minimum);
  if (runner.begin()) {
    for (; at < program.ops.size(); ++at) {
      static_cast<void>(runner.run(program.ops[at]));
    }
  }
  return crashes;
}

}  // namespace

Program without_crashes(Program program, const sim::Profile& profile, std::int32_t devices) {
  // Without one call another may be the one that uses what is dead.
  for (;;) {
    const std::vector<bool> crashes = crashing(program, profile, devices);
    if (std::find(crashes.begin(), crashes.end(), true) == crashes.end()) {
      return program;
    }
    Program rest;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      if (!crashes[i]) {
        rest.ops.push_back(program.ops[i]);
        rest.drain += i < program.drain ? 1U : 0U;
      }
    }
    program = std::move(rest);
  }
}

Program with_long_kernels(Program program) {
  for (Op& op : program.ops) {
    if (op.kind == OpKind::launch) {
      const int units = std::min(int{op.extra.count}, launch_units_max);
      op.extra = testing::plain_bytes(
          static_cast<std::int16_t>(launch_units_min + launch_units_factor * units));
    }
  }
  return program;
}

}  // namespace tessera::tools
