#include "worker_process.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <sys/socket.h>

#include "tessera/scenario/writer.h"
#include "worker.h"

namespace tessera::tools {
namespace {

// The first `count` GPUs of those that this process may use, for CUDA to show no others.
std::string visible_devices(std::int32_t count) {
  const char* given = std::getenv("CUDA_VISIBLE_DEVICES");
  std::string_view allowed = given == nullptr ? std::string_view() : given;
  std::string visible = "CUDA_VISIBLE_DEVICES=";
  for (std::int32_t i = 0; i < count; ++i) {
    if (i > 0 && (given == nullptr || !allowed.empty())) {
      visible += ',';
    }
    if (given == nullptr) {
      visible += std::to_string(i);
    } else {
      const std::size_t end = std::min(allowed.find(','), allowed.size());
      visible += allowed.substr(0, end);
      allowed.remove_prefix(std::min(end + 1, allowed.size()));
    }
  }
  return visible;
}

}  // namespace

std::unique_ptr<WorkerProcess> WorkerProcess::start(const BackendOptions& options) {
  std::array<int, 2> ends = {};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return nullptr;
  }
  OwnedDescriptor ours(ends[0]);
  const OwnedDescriptor theirs(ends[1]);
  ChildOptions child = {.arguments = {worker_verb},
                        .environment = {},
                        .inherit = {{theirs.get(), worker_descriptor}}};
  for (std::string& argument : to_arguments(options)) {
    child.arguments.push_back(std::move(argument));
  }
  if (options.kind == BackendKind::cuda) {
    child.environment.push_back(visible_devices(options.devices));
  }
  auto process = ChildProcess::start(child);
  if (!process) {
    return nullptr;
  }
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(std::move(*process), std::move(ours)));
}

bool WorkerProcess::run(const scenario::Case& scenario_case, bool shared,
                        std::chrono::seconds limit, CaseOutcome& outcome) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  // If this does not arrive, neither does an answer.
  static_cast<void>(link_.send(shared ? MessageKind::run_case_kept : MessageKind::run_case,
                               to_string(scenario_case)));
  while (auto message = link_.receive(deadline)) {
    switch (message->kind) {
      case MessageKind::answer:
        outcome.answers.push_back(scenario::Answer::from_text(message->text));
        break;
      case MessageKind::problem:
        outcome.problem = std::move(message->text);
        break;
      case MessageKind::no_backend:
        backend_error_ = std::move(message->text);
        return false;
      case MessageKind::done_clean:
      case MessageKind::done_dirty:
        return shared && message->kind == MessageKind::done_clean;
      case MessageKind::run_case:
      case MessageKind::run_case_kept:
        break;
    }
  }
  end_at_call(scenario_case, outcome);
  return false;
}

void WorkerProcess::end_at_call(const scenario::Case& scenario_case, CaseOutcome& outcome) {
  const bool hangs = link_.failure() == WorkerLink::Failure::timeout;
  if (hangs) {
    process_.kill();
  }
  const ChildEnd end = process_.wait();
  if (outcome.answers.size() == scenario_case.calls.size()) {
    // It was undoing the case: all answers are there.
    return;
  }
  if (hangs) {
    outcome.answers.push_back(scenario::Answer::hang());
  } else if (end.signal != 0) {
    outcome.answers.push_back(scenario::Answer::crash(end.signal));
  } else {
    outcome.answers.push_back(scenario::Answer("CRASH").add_signed("exit", end.exit_status));
  }
}

}  // namespace tessera::tools
