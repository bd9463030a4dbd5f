// `tessera check`: runs the cases of files on the simulator under the validation layer.
#pragma once

#include <string>
#include <vector>

#include "backend.h"
#include "replay.h"
#include "tessera/layers/finding.h"
#include "tessera/scenario/scenario.h"

namespace tessera::tools {

struct CheckOptions {
  BackendOptions backend;
  bool json = false;
  bool leaks = true;
  std::vector<std::string> files;
};

// What a call of a case broke, and what it answered.
struct CheckedCall {
  scenario::Answer answer;
  std::vector<Finding> findings;
};
struct CheckedCase {
  std::vector<CheckedCall> calls;  // up to where the case ended
  std::vector<Finding> leaks;      // at its end
  std::string problem;             // why the case could not be run; empty if it could
};

// A new world of the backend for the case.
[[nodiscard]] CheckedCase check_case(Backend& backend, const scenario::Case& scenario_case,
                                     bool leaks);

// same: no finding; different: some; unusable: a file or an option is.
ExitStatus check(const CheckOptions& options);

}  // namespace tessera::tools
