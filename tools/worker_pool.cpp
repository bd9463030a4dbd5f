#include "worker_pool.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <variant>

#include "worker_process.h"

namespace tessera::tools {
namespace {

struct Shares {
  const scenario::Call& call;

  bool operator()(const scenario::HostRead&) const { return false; }
  bool operator()(const scenario::HostWrite&) const { return false; }
  bool operator()(const scenario::IpcChild&) const { return false; }
  bool operator()(const scenario::ContextCreate&) const { return false; }
  bool operator()(const scenario::ContextRelease&) const { return false; }
  bool operator()(const scenario::ContextReset&) const { return false; }
  bool operator()(const scenario::PeerEnable&) const { return false; }
  // A kernel that faults takes the context with it.
  bool operator()(const scenario::KernelRead&) const { return is_expected_ok(); }
  bool operator()(const scenario::KernelWrite&) const { return is_expected_ok(); }
  // Its fault would be told by a later call; see is_waited_for.
  bool operator()(const scenario::Launch&) const { return is_expected_ok(); }
  template <class Other>
  bool operator()(const Other&) const {
    return true;
  }

 private:
  [[nodiscard]] bool is_expected_ok() const { return call.expected && call.expected->is_ok(); }
};

// Whether a synchronize that is to be OK follows the last kernel: then none faulted.
bool is_waited_for(const scenario::Case& scenario_case) {
  const auto is_launch = [](const scenario::Call& call) {
    return std::holds_alternative<scenario::Launch>(call.operation);
  };
  const auto is_good_wait = [](const scenario::Call& call) {
    return std::holds_alternative<scenario::ContextSync>(call.operation) && call.expected &&
           call.expected->is_ok();
  };
  const auto& calls = scenario_case.calls;
  const auto last = std::find_if(calls.rbegin(), calls.rend(), is_launch);
  return last == calls.rend() || std::any_of(calls.rbegin(), last, is_good_wait);
}

// Cases, by index, that one worker runs.
struct Batch {
  std::vector<std::size_t> cases;
  bool shared = false;
  bool serial = false;
};

std::vector<Batch> make_batches(const std::vector<scenario::Case>& cases, std::size_t size_max) {
  std::vector<Batch> batches;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const bool shared = may_share_worker(cases[i]);
    if (!shared || batches.empty() || !batches.back().shared ||
        batches.back().cases.size() >= size_max) {
      batches.push_back({.cases = {}, .shared = shared, .serial = cases[i].serial});
    }
    batches.back().cases.push_back(i);
  }
  return batches;
}

class Pool {
 public:
  Pool(const std::vector<scenario::Case>& cases, const RunOptions& options)
      : cases_(cases), options_(options), outcomes_(cases.size()) {}

  std::variant<std::vector<CaseOutcome>, BackendError> run() {
    std::vector<Batch> batches = make_batches(cases_, static_cast<std::size_t>(options_.batch));
    // Serial cases last, one after the other: nothing else uses the device then.
    const auto serial = std::stable_partition(batches.begin(), batches.end(),
                                              [](const Batch& batch) { return !batch.serial; });
    const auto split = static_cast<std::size_t>(serial - batches.begin());
    run_batches(std::span(batches).first(split), options_.jobs);
    run_batches(std::span(batches).subspan(split), 1);
    if (!error_.message.empty()) {
      return error_;
    }
    return std::move(outcomes_);
  }

 private:
  void run_batches(std::span<const Batch> batches, int jobs) {
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t i = next++; i < batches.size() && !failed_; i = next++) {
        run_batch(batches[i]);
      }
    };
    std::vector<std::thread> threads;
    for (int i = 1; i < jobs; ++i) {
      threads.emplace_back(work);
    }
    work();
    for (std::thread& thread : threads) {
      thread.join();
    }
  }

  void run_batch(const Batch& batch) {
    std::unique_ptr<WorkerProcess> worker;
    for (const std::size_t index : batch.cases) {
      if (!worker) {
        worker = WorkerProcess::start(options_.backend);
      }
      if (!worker) {
        fail("a worker process cannot be started");
        return;
      }
      const bool reusable =
          worker->run(cases_[index], batch.shared, options_.case_limit, outcomes_[index]);
      if (!worker->backend_error().empty()) {
        fail(worker->backend_error());
        return;
      }
      if (!reusable) {
        worker.reset();
      }
    }
  }

  void fail(const std::string& message) {
    const std::lock_guard lock(mutex_);
    error_.message = message;
    failed_ = true;
  }

  const std::vector<scenario::Case>& cases_;
  const RunOptions& options_;
  std::vector<CaseOutcome> outcomes_;  // each written by the one worker that has its case
  std::mutex mutex_;
  BackendError error_;  // guarded by mutex_ until all threads are joined
  std::atomic<bool> failed_ = false;
};

}  // namespace

bool may_share_worker(const scenario::Case& scenario_case) {
  return scenario_case.start == scenario::Start::context && !scenario_case.serial &&
         is_waited_for(scenario_case) &&
         std::all_of(scenario_case.calls.begin(), scenario_case.calls.end(),
                     [](const scenario::Call& call) {
                       return !(call.expected && call.expected->is_end()) &&
                              std::visit(Shares{call}, call.operation);
                     });
}

std::variant<std::vector<CaseOutcome>, BackendError> run_in_workers(
    const std::vector<scenario::Case>& cases, const RunOptions& options) {
  return Pool(cases, options).run();
}

}  // namespace tessera::tools
