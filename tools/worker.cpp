#include "worker.h"

#include <fcntl.h>

#include "tessera/scenario/reader.h"
#include "tessera/scenario/runner.h"
#include "worker_link.h"

namespace tessera::tools {
namespace {

// What a parent that is gone does not hear, nobody misses: the next receive ends this process.
void report(const WorkerLink& link, MessageKind kind, std::string_view text) {
  static_cast<void>(link.send(kind, text));
}

// Runs one case and says how it ended; false if the world is not fit for another.
bool run_one(scenario::World& world, const scenario::Case& scenario_case, const WorkerLink& link) {
  scenario::CaseRunner runner(world, scenario_case.start);
  const Status started = runner.begin();
  if (!started) {
    report(link, MessageKind::problem, to_string(started.error()));
    return false;
  }
  for (const scenario::Call& call : scenario_case.calls) {
    if (!link.send(MessageKind::answer, runner.run(call.operation).text()) ||
        (call.expected && call.expected->is_end())) {
      break;
    }
  }
  return runner.undo();
}

// Making a context takes the real driver longer than a case does: references of the worker's own
// keep them for the next case. On several devices: all primary contexts, and one more. Where small
// reservations come to lie, and beside which of the driver's own mappings, depends on how many
// contexts a process has, and the process of the recordings on two devices had three or more
// (docs/fidelity.md, Placement).
void keep_contexts(Driver& driver, std::int32_t devices) {
  if (!driver.init(0)) {
    return;
  }
  for (std::int32_t device = 0; device < devices; ++device) {
    static_cast<void>(driver.device_primary_ctx_retain(DeviceOrdinal(device)));
  }
  if (devices > 1 && driver.ctx_create({.device = DeviceOrdinal(0)})) {
    static_cast<void>(driver.ctx_set_current({}));
  }
}

}  // namespace

int worker_main(const BackendOptions& options) {
  WorkerLink link(worker_descriptor);
  // Processes that a case starts must not hold the socket: its end is how a parent sees ours.
  fcntl(worker_descriptor, F_SETFD, FD_CLOEXEC);
  auto backend = open_backend(options);
  if (const auto* error = std::get_if<BackendError>(&backend)) {
    report(link, MessageKind::no_backend, error->message);
    return 2;
  }
  bool kept = false;
  while (const auto message = link.receive()) {
    const auto read = scenario::read_scenario(message->text, "case");
    const auto* one = std::get_if<scenario::Scenario>(&read);
    if (one == nullptr || one->cases.size() != 1) {
      report(link, MessageKind::problem, "the worker got a case that it cannot read");
      report(link, MessageKind::done_dirty, {});
      continue;
    }
    const auto world = std::get<std::unique_ptr<Backend>>(backend)->make_world();
    if (message->kind == MessageKind::run_case_kept && !kept && options.kind == BackendKind::cuda) {
      keep_contexts(world->driver(), options.devices);
      kept = true;
    }
    const bool clean = run_one(*world, one->cases.front(), link);
    report(link, clean ? MessageKind::done_clean : MessageKind::done_dirty, {});
  }
  return 0;
}

}  // namespace tessera::tools
