#include "confirm.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "comparison.h"
#include "worker_pool.h"

namespace tessera::tools {

namespace {

// What a case that differs had not had when it ran.
enum class Wants : std::uint8_t { own_process, none_beside };

// Runs those that differ again, each in a process of its own.
void run_differing_again(const std::vector<scenario::Case>& cases, RunOptions options, Wants wants,
                         Bytes granule, std::vector<CaseOutcome>& outcomes,
                         std::set<std::size_t>& run_again) {
  std::vector<std::size_t> indexes;
  std::vector<scenario::Case> again;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Comparison comparison;
    compare_case({}, cases[i], outcomes[i], granule, comparison);
    if (comparison.different != 0 && (wants == Wants::none_beside || may_share_worker(cases[i]))) {
      indexes.push_back(i);
      again.push_back(cases[i]);
    }
  }
  if (again.empty()) {
    return;
  }
  options.batch = 1;
  if (wants == Wants::none_beside) {
    options.jobs = 1;
  }
  auto run = run_in_workers(again, options);
  auto* second = std::get_if<std::vector<CaseOutcome>>(&run);
  if (second == nullptr) {
    return;
  }
  for (std::size_t i = 0; i < indexes.size(); ++i) {
    outcomes[indexes[i]] = std::move((*second)[i]);
    run_again.insert(indexes[i]);
  }
}

}  // namespace

std::size_t confirm_differences(const std::vector<scenario::Case>& cases, const RunOptions& options,
                                Bytes granule, std::vector<CaseOutcome>& outcomes) {
  if (!uses_workers(options)) {
    return 0;
  }
  std::set<std::size_t> run_again;
  if (options.batch != 1) {
    run_differing_again(cases, options, Wants::own_process, granule, outcomes, run_again);
  }
  if (options.jobs > 1) {
    run_differing_again(cases, options, Wants::none_beside, granule, outcomes, run_again);
  }
  return run_again.size();
}

}  // namespace tessera::tools
