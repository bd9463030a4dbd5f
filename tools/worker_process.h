// A worker as its parent sees it.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "backend.h"
#include "case_outcome.h"
#include "child_process.h"
#include "worker_link.h"

namespace tessera::tools {

class WorkerProcess {
 public:
  // Null if it cannot be started.
  static std::unique_ptr<WorkerProcess> start(const BackendOptions& options);

  // Runs a case and writes down what came of it, a crash or a hang too. `shared`: in the context
  // that the worker keeps. False: the worker is not fit for another case.
  bool run(const scenario::Case& scenario_case, bool shared, std::chrono::seconds limit,
           CaseOutcome& outcome);

  // Why the worker has no driver to run on; empty if it has.
  [[nodiscard]] const std::string& backend_error() const noexcept { return backend_error_; }

 private:
  WorkerProcess(ChildProcess process, OwnedDescriptor socket)
      : process_(std::move(process)), socket_(std::move(socket)), link_(socket_.get()) {}

  // The worker is gone, or is sent away: which call that was at.
  void end_at_call(const scenario::Case& scenario_case, CaseOutcome& outcome);

  ChildProcess process_;
  OwnedDescriptor socket_;
  WorkerLink link_;
  std::string backend_error_;
};

}  // namespace tessera::tools
