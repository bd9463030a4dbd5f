#include "run_cases.h"

#include <utility>

#include "machine_facts.h"
#include "tessera/scenario/runner.h"
#include "worker_pool.h"

namespace tessera::tools {
namespace {

CaseOutcome run_here(Backend& backend, const scenario::Case& scenario_case) {
  CaseOutcome outcome;
  outcome.answers.reserve(scenario_case.calls.size());
  const auto world = backend.make_world();
  const Status started = scenario::run_case(
      *world, scenario_case, [&](const scenario::Call&, const scenario::Answer& answer) {
        outcome.answers.push_back(answer);
        return true;
      });
  if (!started) {
    outcome.problem = to_string(started.error());
  }
  return outcome;
}

}  // namespace

bool uses_workers(const RunOptions& options) noexcept {
  return options.isolate || options.jobs > 1 || options.backend.kind == BackendKind::cuda;
}

std::variant<std::vector<CaseOutcome>, BackendError> run_cases(
    const std::vector<scenario::Case>& cases, const RunOptions& options) {
  if (BackendError error = check_backend(options.backend); !error.message.empty()) {
    return error;
  }
  if (options.backend.kind == BackendKind::cuda) {
    auto facts = ask_machine(options);
    if (auto* error = std::get_if<BackendError>(&facts)) {
      return std::move(*error);
    }
  }
  if (uses_workers(options)) {
    return run_in_workers(cases, options);
  }
  auto backend = open_backend(options.backend);
  if (auto* error = std::get_if<BackendError>(&backend)) {
    return std::move(*error);
  }
  std::vector<CaseOutcome> outcomes;
  outcomes.reserve(cases.size());
  for (const scenario::Case& scenario_case : cases) {
    outcomes.push_back(run_here(*std::get<std::unique_ptr<Backend>>(backend), scenario_case));
  }
  return outcomes;
}

}  // namespace tessera::tools
