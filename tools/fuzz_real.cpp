#include "fuzz_real.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "answered.h"
#include "comparison.h"
#include "confirm.h"
#include "defined_program.h"
#include "machine_facts.h"
#include "model/differential.h"
#include "shell_word.h"
#include "tessera/scenario/writer.h"
#include "tessera/sim/profile_file.h"
#include "tessera/testing/program_generator.h"
#include "tessera/testing/program_shrink.h"
#include "tessera/testing/program_text.h"
#include "worker_pool.h"

namespace tessera::tools {
namespace {

using testing::Program;
using Clock = std::chrono::steady_clock;
using Cases = std::vector<scenario::Case>;

constexpr double default_seconds = 10;
// Programs between two looks at the clock.
constexpr std::uint64_t programs_per_round = 2048;
// Of the programs that cost a process (a context made, reset or lost), one in so many is run: to
// start a real driver takes a second, a program a millisecond.
constexpr std::uint64_t costly_run_one_in = 32;
// A second each, many at once.
constexpr std::size_t shrink_attempts = 2000;

// An event that has nothing to wait for completes at once on the simulator, and soon on a device.
// (While a kernel runs that it waits for, both say that it has not.)
void let_events_take_time(scenario::Case& scenario_case) {
  for (scenario::Call& call : scenario_case.calls) {
    if (call.expected && call.expected->is_ok() &&
        std::holds_alternative<scenario::EventQuery>(call.operation)) {
      call.expected = scenario::Answer("OK|NOT_READY");
    }
  }
}

class Run {
 public:
  Run(const sim::Profile& profile, const RealFuzzOptions& options)
      : profile_(profile),
        options_(options),
        seconds_(options.programs == 0 && options.seconds == 0 ? default_seconds : options.seconds),
        judge_{.backend = {.profile = options.profile, .devices = options.tested.backend.devices}},
        granule_(granule_of(judge_.backend)),
        generator_options_(model::generator_options(profile, judge_.backend.devices)) {
    generator_options_.multicast = false;
    generator_options_.length = options.length;
  }

  std::variant<RealFuzzResult, BackendError> run() {
    do {
      if (!run_round()) {
        return error_;
      }
      show_progress();
    } while (!is_over());
    if (differing_) {
      result_.finding = shrunk(std::move(*differing_), std::move(differing_name_));
    }
    result_.seconds = elapsed();
    return std::move(result_);
  }

 private:
  [[nodiscard]] double elapsed() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }
  [[nodiscard]] bool is_over() const {
    return (options_.programs != 0 && next_ >= options_.programs) ||
           (seconds_ != 0 && elapsed() >= seconds_);
  }

  [[nodiscard]] Program defined(Program program) const {
    return defined_program(with_long_kernels(std::move(program)), profile_, judge_.backend.devices);
  }

  // The programs as cases with the simulator's answers; nothing if that cannot run.
  [[nodiscard]] std::optional<Cases> judged(std::span<const Program> programs,
                                            std::uint64_t first_seed) {
    Cases cases;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      cases.push_back(testing::to_case(programs[i], "fuzz-" + std::to_string(first_seed + i)));
    }
    auto run = run_cases(cases, judge_);
    if (auto* error = std::get_if<BackendError>(&run)) {
      error_ = std::move(*error);
      return std::nullopt;
    }
    const auto& outcomes = std::get<std::vector<CaseOutcome>>(run);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      cases[i] = with_answers(cases[i], outcomes[i]);
      let_events_take_time(cases[i]);
    }
    return cases;
  }

  // What the tested driver answers; a case that differs is run again on its own.
  bool run_tested(const Cases& cases, std::vector<CaseOutcome>& outcomes) {
    auto run = run_cases(cases, options_.tested);
    if (auto* error = std::get_if<BackendError>(&run)) {
      error_ = std::move(*error);
      return false;
    }
    outcomes = std::get<std::vector<CaseOutcome>>(std::move(run));
    result_.run_again += confirm_differences(cases, options_.tested, granule_, outcomes);
    return true;
  }

  [[nodiscard]] Comparison comparison_of(const scenario::Case& one,
                                         const CaseOutcome& outcome) const {
    Comparison comparison;
    compare_case("simulator", one, outcome, granule_, comparison);
    return comparison;
  }

  bool run_round() {
    const std::uint64_t first = options_.seed + next_;
    const std::uint64_t count = options_.programs == 0
                                    ? programs_per_round
                                    : std::min(programs_per_round, options_.programs - next_);
    std::vector<Program> programs;
    for (std::uint64_t i = 0; i < count; ++i) {
      programs.push_back(defined(testing::generate_program(generator_options_, first + i)));
    }
    next_ += count;
    std::optional<Cases> all = judged(programs, first);
    if (!all) {
      return false;
    }
    Cases cases;
    std::vector<Program> run;
    for (std::size_t i = 0; i < all->size(); ++i) {
      // A single program was asked for by its number.
      if (options_.programs == 1 || may_share_worker((*all)[i]) ||
          (first + i) % costly_run_one_in == 0) {
        cases.push_back(std::move((*all)[i]));
        run.push_back(std::move(programs[i]));
      }
    }
    std::vector<CaseOutcome> outcomes;
    if (!run_tested(cases, outcomes)) {
      return false;
    }
    result_.programs += cases.size();
    result_.left_out += all->size() - cases.size();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Comparison comparison = comparison_of(cases[i], outcomes[i]);
      result_.calls += comparison.calls;
      if (comparison.different == 0) {
        continue;
      }
      result_.differences += comparison.different;
      for (const std::string& line : comparison.shown) {
        if (options_.on_difference) {
          options_.on_difference(line);
        }
      }
      if (!differing_) {
        differing_ = std::move(run[i]);
        differing_name_ = cases[i].name;
      }
    }
    return true;
  }

  // The first of the candidates that differs.
  [[nodiscard]] std::optional<std::size_t> find_differing(std::span<const Program> candidates) {
    if (elapsed() > shrink_until_) {
      return std::nullopt;
    }
    const std::optional<Cases> cases = judged(candidates, 0);
    std::vector<CaseOutcome> outcomes;
    if (!cases || !run_tested(*cases, outcomes)) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < cases->size(); ++i) {
      if (comparison_of((*cases)[i], outcomes[i]).different != 0) {
        return i;
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] RealFuzzResult::Finding shrunk(Program program, std::string name) {
    RealFuzzResult::Finding finding = {.name = std::move(name)};
    shrink_until_ = elapsed() + options_.shrink_seconds;
    // What is left of a program may use what is dead, which the program did not.
    finding.program = testing::shrink_in_rounds(std::move(program),
                                                [this](std::span<const Program> candidates) {
                                                  std::vector<Program> tried(candidates.begin(),
                                                                             candidates.end());
                                                  for (Program& candidate : tried) {
                                                    candidate = defined(std::move(candidate));
                                                  }
                                                  return find_differing(tried);
                                                },
                                                {.attempts = shrink_attempts});
    finding.program = defined(std::move(finding.program));
    const std::optional<Cases> one = judged({&finding.program, 1}, 0);
    std::vector<CaseOutcome> outcomes;
    if (!one || !run_tested(*one, outcomes)) {
      return finding;
    }
    for (const std::string& line : comparison_of(one->front(), outcomes.front()).shown) {
      finding.text += "# " + line + "\n";
    }
    scenario::Case shown = with_answers(one->front(), outcomes.front());
    shown.name = finding.name;
    finding.text += scenario::to_string(shown);
    return finding;
  }

  void show_progress() const {
    if (::isatty(STDERR_FILENO) != 0) {
      fmt::print(stderr, "\r{} programs, {:.0f} calls a second ", result_.programs,
                 static_cast<double>(result_.calls) / elapsed());
      std::fflush(stderr);
    }
  }

  const sim::Profile& profile_;
  const RealFuzzOptions& options_;
  double seconds_;
  RunOptions judge_;
  Bytes granule_;
  testing::GeneratorOptions generator_options_;
  Clock::time_point start_ = Clock::now();
  std::uint64_t next_ = 0;
  double shrink_until_ = 0;
  std::optional<Program> differing_;  // the first
  std::string differing_name_;
  RealFuzzResult result_;
  BackendError error_;
};

}  // namespace

std::variant<RealFuzzResult, BackendError> run_real_fuzz(const RealFuzzOptions& options) {
  const auto loaded = sim::load_profile(options.profile);
  if (const auto* error = std::get_if<sim::ProfileError>(&loaded)) {
    return BackendError{error->message};
  }
  return Run(std::get<sim::Profile>(loaded), options).run();
}

ExitStatus fuzz_real(const RealFuzzOptions& options) {
  auto run = run_real_fuzz(options);
  if (const auto* error = std::get_if<BackendError>(&run)) {
    complain(error->message);
    return ExitStatus::unusable;
  }
  auto facts = ask_machine(options.tested);
  if (const auto* error = std::get_if<BackendError>(&facts)) {
    complain(error->message);
    return ExitStatus::unusable;
  }
  const auto& result = std::get<RealFuzzResult>(run);
  const auto& machine = std::get<MachineFacts>(facts);
  if (result.finding) {
    fmt::print(
        "# tessera fuzz --backend cuda --profile {} --devices {} --calls {} --seed {} "
        "--programs 1\n{}",
        as_shell_word(options.profile), options.tested.backend.devices, options.length,
        result.finding->name.substr(5), result.finding->text);
  }
  fmt::print(
      "{}{} programs, {} calls in {:.1f} s on {} of {} (driver {}, CUDA {}); {} programs run again "
      "on their own; {} left out, which would take a process each; {}\n",
      result.finding ? "# " : "", result.programs, result.calls, result.seconds,
      options.tested.backend.devices, machine.device_name, machine.driver_version,
      machine.cuda_version, result.run_again, result.left_out,
      result.finding ? fmt::format("{} answers differ", result.differences) : "no difference");
  return result.finding ? ExitStatus::different : ExitStatus::same;
}

}  // namespace tessera::tools
