// Runs many cases, each in a world as fresh as it asks for: in this process on a new simulated
// machine, or in worker processes, where a crash or a lost context costs only its case.
#pragma once

#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include "backend.h"
#include "case_outcome.h"

namespace tessera::tools {

struct RunOptions {
  BackendOptions backend;
  // Worker processes also where none is needed: always with CUDA.
  bool isolate = false;
  int jobs = 1;  // workers at once; more than one: in workers
  // Cases that a worker may run one after the other. Few, so that what a case does to later ones
  // stays near; 1: each case gets a process of its own, as when the recordings were made.
  int batch = 64;
  std::chrono::seconds case_limit = std::chrono::seconds(60);
};

[[nodiscard]] bool uses_workers(const RunOptions& options) noexcept;

// One outcome for each case, or why there can be none.
[[nodiscard]] std::variant<std::vector<CaseOutcome>, BackendError> run_cases(
    const std::vector<scenario::Case>& cases, const RunOptions& options);

}  // namespace tessera::tools
