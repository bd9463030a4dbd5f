#include "confirm.h"

#include <algorithm>
#include <utility>

#include "comparison.h"
#include "worker_pool.h"

namespace tessera::tools {

namespace {

// Runs those that differ again, each in a process of its own, so many at once.
std::size_t run_differing_again(const std::vector<scenario::Case>& cases, RunOptions options,
                                int jobs, Bytes granule, std::vector<CaseOutcome>& outcomes) {
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
  options.batch = 1;
  options.jobs = jobs;
  auto run = run_in_workers(again, options);
  auto* second = std::get_if<std::vector<CaseOutcome>>(&run);
  if (second == nullptr) {
    return 0;
  }
  for (std::size_t i = 0; i < indexes.size(); ++i) {
    outcomes[indexes[i]] = std::move((*second)[i]);
  }
  return indexes.size();
}

}  // namespace

std::size_t confirm_differences(const std::vector<scenario::Case>& cases, const RunOptions& options,
                                Bytes granule, std::vector<CaseOutcome>& outcomes) {
  if (!uses_workers(options)) {
    return 0;
  }
  std::size_t count = 0;
  if (options.batch != 1) {
    count = run_differing_again(cases, options, options.jobs, granule, outcomes);
  }
  if (options.jobs > 1) {
    count = std::max(count, run_differing_again(cases, options, 1, granule, outcomes));
  }
  return count;
}

}  // namespace tessera::tools
