// Second runs of cases that differed after others had run in the same process.
#pragma once

#include <cstddef>
#include <vector>

#include "run_cases.h"

namespace tessera::tools {

// What a process did before can show in a case although all of it is undone: where the next
// reservation lies, for one; and what processes beside it do shows in the memory that is free. A
// case that differs is therefore run again in a process of its own, and if need be once more with
// none beside it; that answer counts. Gives the number of cases that were run again.
std::size_t confirm_differences(const std::vector<scenario::Case>& cases, const RunOptions& options,
                                Bytes granule, std::vector<CaseOutcome>& outcomes);

}  // namespace tessera::tools
