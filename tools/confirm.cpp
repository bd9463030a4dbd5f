#include "confirm.h"

#include <utility>

#include "comparison.h"
#include "worker_pool.h"

namespace tessera::tools {

std::size_t confirm_differences(const std::vector<scenario::Case>& cases, const RunOptions& options,
                                Bytes granule, std::vector<CaseOutcome>& outcomes) {
  if (!uses_workers(options) || options.batch == 1) {
    return 0;
  }
  std::vector<std::size_t> indexes;
  std::vector<scenario::Case> again;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Comparison comparison;
    compare_case({}, cases[i], outcomes[i], granule, comparison);
    if (comparison.different != 0 && may_share_worker(cases[i])) {
      indexes.push_back(i);
      again.push_back(cases[i]);
    }
  }
  if (again.empty()) {
    return 0;
  }
  RunOptions alone = options;
  alone.batch = 1;
  auto run = run_in_workers(again, alone);
  auto* second = std::get_if<std::vector<CaseOutcome>>(&run);
  if (second == nullptr) {
    return 0;
  }
  for (std::size_t i = 0; i < indexes.size(); ++i) {
    outcomes[indexes[i]] = std::move((*second)[i]);
  }
  return indexes.size();
}

}  // namespace tessera::tools
