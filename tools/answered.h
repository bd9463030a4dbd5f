// A case as a file would have it, with the answers that it got.
#pragma once

#include "case_outcome.h"

namespace tessera::tools {

// Comments and the spelling of the calls stay. Calls that were not made are left out.
[[nodiscard]] scenario::Case with_answers(const scenario::Case& scenario_case,
                                          const CaseOutcome& outcome);

}  // namespace tessera::tools
