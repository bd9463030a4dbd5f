// Cases in worker processes, several at once.
#pragma once

#include <variant>
#include <vector>

#include "run_cases.h"

namespace tessera::tools {

[[nodiscard]] std::variant<std::vector<CaseOutcome>, BackendError> run_in_workers(
    const std::vector<scenario::Case>& cases, const RunOptions& options);

// Whether a case may share a worker, and the context in it, with other cases.
[[nodiscard]] bool may_share_worker(const scenario::Case& scenario_case);

}  // namespace tessera::tools
