#include "tessera/testing/fault_sweep.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/check.h"
#include "tessera/layers/fault_injecting_driver.h"
#include "tessera/layers/tracing_driver.h"
#include "testing/call_monitor.h"

namespace tessera::testing {

SweepWorld::~SweepWorld() = default;

namespace {

constexpr std::uint64_t runs_over = 10;
constexpr std::uint64_t calls_over = 1000;
// Limit of the first run, of which nothing is known yet.
constexpr std::uint64_t first_calls_max = 1'000'000;

// One fault, or none.
struct Target {
  std::uint64_t call_number = 0;
  Call call = Call::none;
  ErrorCode error = {};
};

struct Outcome {
  Status status;
  std::vector<Call> calls;
  bool is_runaway = false;
  std::optional<Error> fault;
};

std::string joined(const std::string& left, const std::string& right) {
  return left.empty() ? right : left + "; " + right;
}

class Sweep {
 public:
  Sweep(const SweepProgram& program, const SweepOptions& options)
      : program_(program), options_(options) {}

  SweepReport run() {
    if (!learn_calls()) {
      return std::move(report_);
    }
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (options_.never_fails.contains(calls_[i])) {
        continue;
      }
      for (const ErrorCode error : options_.errors_of(calls_[i])) {
        sweep_one({.call_number = i + 1, .call = calls_[i], .error = error});
      }
    }
    return std::move(report_);
  }

 private:
  // Runs the program once in `world`, on `driver` (the world's, or a layer over it).
  Outcome run_program(Driver& driver, std::uint64_t calls_max) {
    CallMonitor monitor(&driver, calls_max);
    Outcome outcome;
    try {
      outcome.status = program_(monitor);
    } catch (const RunawayProgram&) {
      outcome.status = Error{.code = ErrorCode::unknown, .origin = Origin::injected};
    }
    outcome.calls = monitor.calls();
    outcome.is_runaway = monitor.is_over_limit();
    return outcome;
  }

  Outcome run_with_fault(Driver& driver, const Target& target) {
    FaultInjectingDriver faults(&driver, {.faults = {Fault::nth(target.call_number, target.error)},
                                          .never_fails = options_.never_fails});
    Outcome outcome = run_program(faults, calls_max_);
    outcome.fault = faults.first_fault();
    return outcome;
  }

  void fail(const Target& target, std::string what) {
    report_.failures.push_back({.call_number = target.call_number,
                                .call = target.call,
                                .error = target.error,
                                .what = std::move(what)});
  }

  // What a run without faults must keep to; empty: it did.
  static std::string judge_success(SweepWorld& world, const Outcome& outcome) {
    std::string wrong;
    if (outcome.is_runaway) {
      return "it does not end";
    }
    if (!outcome.status) {
      wrong = joined(wrong, "it fails: " + to_string(outcome.status.error()));
    }
    if (const std::string left = world.leaks(); !left.empty()) {
      wrong = joined(wrong, "it leaves " + left);
    }
    if (const std::string broken = world.violations(); !broken.empty()) {
      wrong = joined(wrong, "it breaks rules: " + broken);
    }
    return wrong;
  }

  // Two runs without faults. False: there is nothing to sweep.
  bool learn_calls() {
    for (int i = 0; i < 2; ++i) {
      const auto world = options_.make_world();
      const std::uint64_t calls_max =
          options_.calls_max != 0 ? options_.calls_max : first_calls_max;
      Outcome outcome = run_program(world->driver(), calls_max);
      ++report_.runs;
      if (const std::string wrong = judge_success(*world, outcome); !wrong.empty()) {
        fail({}, "without faults " + wrong);
        return false;
      }
      if (i == 0) {
        calls_ = std::move(outcome.calls);
        report_.calls = calls_.size();
      } else if (outcome.calls != calls_) {
        fail({}, "two runs without faults make different calls: " +
                     difference(calls_, outcome.calls, "the second"));
        return false;
      }
    }
    calls_max_ =
        options_.calls_max != 0 ? options_.calls_max : calls_.size() * runs_over + calls_over;
    return true;
  }

  // Where `got` first differs from what is expected.
  static std::string difference(std::span<const Call> expected, std::span<const Call> got,
                                const std::string& whose) {
    const auto differ = std::mismatch(expected.begin(), expected.end(), got.begin(), got.end());
    const auto name = [](std::span<const Call> calls, auto at) {
      return at == calls.end() ? std::string("none") : std::string(method_name(*at));
    };
    return "call " + std::to_string(differ.first - expected.begin() + 1) + " is " +
           name(expected, differ.first) + ", and " + name(got, differ.second) + " in " + whose;
  }

  std::string judge_status(const Outcome& outcome, const Error& fault) const {
    if (outcome.status) {
      return options_.may_recover ? "" : "it returns success: the error was swallowed";
    }
    const Error& error = outcome.status.error();
    const bool is_same = error.origin == Origin::injected
                             ? error == fault
                             : error.code == fault.code && error.origin == Origin::library;
    return is_same ? "" : "it returns another error than the first: " + to_string(error);
  }

  // Of one run with a fault: what is wrong; empty: nothing.
  std::string judge(SweepWorld& world, const Target& target, const Outcome& outcome) {
    if (outcome.is_runaway) {
      return "it does not end: more than " + std::to_string(calls_max_) + " calls";
    }
    const std::span expected = std::span(calls_).first(target.call_number);
    const std::span got = std::span(outcome.calls)
                              .first(std::min<std::size_t>(expected.size(), outcome.calls.size()));
    if (!std::equal(expected.begin(), expected.end(), got.begin(), got.end()) || !outcome.fault) {
      return "its calls before the fault change from run to run: " +
             difference(expected, got, "this one");
    }
    std::string wrong = judge_status(outcome, *outcome.fault);
    if (const std::string left = world.leaks(); !left.empty()) {
      wrong = joined(wrong, "it leaves " + left);
    }
    if (const std::string broken = world.violations(); !broken.empty()) {
      wrong = joined(wrong, "it breaks rules: " + broken);
    }
    if (wrong.empty() && options_.retries) {
      const Outcome again = run_program(world.driver(), calls_max_);
      if (const std::string bad = judge_success(world, again); !bad.empty()) {
        wrong = "run again without faults " + bad;
      }
    }
    return wrong;
  }

  void sweep_one(const Target& target) {
    const auto world = options_.make_world();
    const Outcome outcome = run_with_fault(world->driver(), target);
    ++report_.runs;
    if (outcome.fault) {
      ++report_.faults;
    }
    const std::string wrong = judge(*world, target, outcome);
    if (wrong.empty()) {
      return;
    }
    fail(target, wrong);
    if (report_.failures.size() <= options_.traces_max && !outcome.is_runaway) {
      report_.failures.back().trace = trace_of(target);
    }
  }

  // The same run once more, traced as the program sees it.
  std::string trace_of(const Target& target) {
    const auto world = options_.make_world();
    ContextHandle current;
    if (options_.trace_start == scenario::Start::context) {
      // Asked below the faults, whose numbers it must not shift.
      current = world->driver().ctx_get_current().value_or(ContextHandle());
    }
    FaultInjectingDriver faults(&world->driver(),
                                {.faults = {Fault::nth(target.call_number, target.error)},
                                 .never_fails = options_.never_fails});
    TracingDriver tracing(&faults, {.case_name = "call-" + std::to_string(target.call_number),
                                    .granule = options_.trace_granule,
                                    .start = options_.trace_start,
                                    .current = current});
    static_cast<void>(run_program(tracing, calls_max_));
    return tracing.text();
  }

  const SweepProgram& program_;
  const SweepOptions& options_;
  SweepReport report_;
  std::vector<Call> calls_;
  std::uint64_t calls_max_ = 0;
};

}  // namespace

SweepReport sweep_faults(const SweepProgram& program, const SweepOptions& options) {
  TESSERA_CHECK(options.make_world != nullptr);
  TESSERA_CHECK(options.errors_of != nullptr);
  return Sweep(program, options).run();
}

std::string to_string(const SweepReport& report) {
  constexpr std::size_t shown_max = 20;
  std::string text = "fault sweep: " + std::to_string(report.calls) + " calls, " +
                     std::to_string(report.runs) + " runs, " + std::to_string(report.faults) +
                     " faults, " + std::to_string(report.failures.size()) + " failures\n";
  for (std::size_t i = 0; i < std::min(report.failures.size(), shown_max); ++i) {
    const SweepFailure& failure = report.failures[i];
    if (failure.call_number != 0) {
      text += "call " + std::to_string(failure.call_number) + ", ";
      text += method_name(failure.call);
      text += ", " + code_name(failure.error) + ": ";
    }
    text += failure.what + '\n' + failure.trace;
  }
  if (report.failures.size() > shown_max) {
    text += "and " + std::to_string(report.failures.size() - shown_max) + " more\n";
  }
  return text;
}

}  // namespace tessera::testing
