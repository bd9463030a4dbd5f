#include "comparison.h"

#include "tessera/scenario/compare.h"
#include "tessera/scenario/writer.h"

namespace tessera::tools {
namespace {

void show(Comparison& comparison, const std::string& file, const scenario::Case& scenario_case,
          const scenario::Call& call, const std::string& got) {
  ++comparison.different;
  if (comparison.shown.size() < Comparison::shown_max) {
    comparison.shown.push_back(file + ":" + std::to_string(call.line) + " case " +
                               scenario_case.name + ": " + to_string(call.operation) +
                               ": expected " + call.expected->text() +
                               (call.expected->is_end() ? " or any error" : "") + ", got " + got);
  }
}

}  // namespace

void compare_case(const std::string& file, const scenario::Case& scenario_case,
                  const CaseOutcome& outcome, Bytes granule, Comparison& comparison) {
  ++comparison.cases;
  const scenario::CompareOptions options = {.serial = scenario_case.serial, .granule = granule};
  for (std::size_t i = 0; i < scenario_case.calls.size(); ++i) {
    const scenario::Call& call = scenario_case.calls[i];
    if (call.expected) {
      ++comparison.calls;
      if (!outcome.problem.empty()) {
        show(comparison, file, scenario_case, call, "nothing: " + outcome.problem);
      } else if (i >= outcome.answers.size()) {
        show(comparison, file, scenario_case, call, "nothing: the case had ended before");
      } else if (!agrees(call, outcome.answers[i], options)) {
        show(comparison, file, scenario_case, call, outcome.answers[i].text());
      }
      // What a file has after a crash was never run.
      if (call.expected->is_end()) {
        return;
      }
    }
  }
}

std::string summary(const Comparison& comparison) {
  return "checked " + std::to_string(comparison.calls) + " calls in " +
         std::to_string(comparison.cases) + " cases: " + std::to_string(comparison.different) +
         " differ";
}

}  // namespace tessera::tools
