#include "answered.h"

#include <algorithm>

namespace tessera::tools {

scenario::Case with_answers(const scenario::Case& scenario_case, const CaseOutcome& outcome) {
  scenario::Case answered = scenario_case;
  if (!outcome.problem.empty()) {
    answered.lines_before_end.insert(answered.lines_before_end.begin(),
                                     "  # could not be run: " + outcome.problem);
  }
  answered.calls.resize(std::min(outcome.answers.size(), answered.calls.size()));
  for (std::size_t i = 0; i < answered.calls.size(); ++i) {
    scenario::Call& call = answered.calls[i];
    call.expected = outcome.answers[i];
    if (!call.spelling.text.empty()) {
      // The call as it was spelled, with the new answer in the place of the old one.
      const std::size_t arrow = call.spelling.text.find("=>");
      std::string line = call.spelling.text.substr(0, arrow);
      line.erase(line.find_last_not_of(" \t\r") + 1);
      call.spelling.text = line + " => " + call.expected->text();
    }
  }
  return answered;
}

}  // namespace tessera::tools
