// What came of running a case.
#pragma once

#include <string>
#include <vector>

#include "tessera/scenario/scenario.h"

namespace tessera::tools {

struct CaseOutcome {
  // One for each call that was made, in order: fewer than the case has where it ended early.
  std::vector<scenario::Answer> answers = {};
  // Why the case could not be run at all, in words; empty where it was.
  std::string problem = {};
};

// A file that was read, by the name it was given.
struct Recording {
  std::string file;
  scenario::Scenario scenario;
};

}  // namespace tessera::tools
