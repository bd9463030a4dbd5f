#include "fuzz.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "interrupt.h"
#include "shell_word.h"
#include "tessera/scenario/writer.h"
#include "tessera/sim/profile_file.h"
#include "tessera/testing/program_generator.h"
#include "tessera/testing/program_shrink.h"
#include "tessera/testing/program_text.h"

namespace tessera::tools {
namespace {

using model::Difference;
using model::Differential;
using testing::Program;
using Clock = std::chrono::steady_clock;

constexpr double default_seconds = 10;
constexpr std::uint64_t flush_every = 256;

// The built-in profiles that the naive model knows.
std::string usable_profiles() {
  std::string names;
  for (const std::string_view name : sim::built_in_profile_names()) {
    if (!sim::built_in_profile(name)->pages_out) {
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
  }
  return names;
}

class Run {
 public:
  Run(const sim::Profile& profile, const FuzzOptions& options)
      : profile_(profile),
        options_(options),
        differential_{.devices = options.devices,
                      .level = options.is_thorough ? model::Level::thorough : model::Level::quick,
                      .model_profile = options.model_profile},
        generator_options_(model::generator_options(profile, options.devices)),
        seconds_(!(options.seconds > 0) && options.programs == 0 ? default_seconds
                                                                 : options.seconds) {
    generator_options_.length = options.length;
  }

  FuzzResult run() {
    std::vector<std::thread> threads;
    for (int job = 0; job < options_.jobs; ++job) {
      threads.emplace_back([this, job] { work(static_cast<std::uint64_t>(job)); });
    }
    show_progress();
    for (std::thread& thread : threads) {
      thread.join();
    }
    result_.seconds = elapsed();
    if (differing_) {
      result_.finding = describe(*differing_);
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] double elapsed() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

  // Programs job, job + jobs, ...: which there are does not depend on how threads run.
  void work(std::uint64_t job) {
    testing::ProgramGenerator generator(generator_options_);
    Differential differential(profile_, differential_);
    const auto step = static_cast<std::uint64_t>(options_.jobs);
    Program program;
    std::uint64_t done = 0;
    std::uint64_t flushed = 0;
    for (std::uint64_t i = job;
         !must_stop_ && !was_interrupted() && (options_.programs == 0 || i < options_.programs);
         i += step) {
      generator.generate(options_.seed + i, program);
      if (differential.run(program)) {
        const std::lock_guard lock(mutex_);
        if (!differing_ || i < *differing_) {
          differing_ = i;
        }
        must_stop_ = true;
      }
      if (++done % flush_every == 0) {
        programs_ += flush_every;
        calls_ += differential.calls() - flushed;
        flushed = differential.calls();
      }
      if (seconds_ != 0 && elapsed() > seconds_) {
        must_stop_ = true;
      }
    }
    programs_ += done % flush_every;
    calls_ += differential.calls() - flushed;
    const std::lock_guard lock(mutex_);
    result_.deep_states.add(differential.deep_states());
    result_.programs = programs_;
    result_.calls = calls_;
    ++finished_;
    finish_.notify_one();
  }

  void show_progress() {
    const bool is_terminal = ::isatty(STDERR_FILENO) != 0;
    std::unique_lock lock(mutex_);
    const auto is_done = [this] { return finished_ == options_.jobs; };
    while (!finish_.wait_for(lock, std::chrono::milliseconds(500), is_done)) {
      if (is_terminal) {
        fmt::print(stderr, "\r{} programs, {:.2f} M calls a second ", programs_.load(),
                   static_cast<double>(calls_.load()) / elapsed() / 1e6);
        std::fflush(stderr);
      }
    }
    if (is_terminal) {
      fmt::print(stderr, "\r{:60}\r", "");
    }
  }

  [[nodiscard]] std::optional<Difference> difference_of(const Program& program) const {
    return model::difference(profile_, differential_, program);
  }

  // The program that differs, or, where it does so only on a machine that served others before, all
  // of them after each other.
  [[nodiscard]] Program failing_program(std::uint64_t index) const {
    testing::ProgramGenerator generator(generator_options_);
    Program program;
    generator.generate(options_.seed + index, program);
    if (difference_of(program)) {
      return program;
    }
    const auto step = static_cast<std::uint64_t>(options_.jobs);
    const std::uint64_t back =
        std::min<std::uint64_t>(index / step, differential_.programs_per_machine);
    Program all;
    for (std::uint64_t i = index - back * step; i <= index; i += step) {
      generator.generate(options_.seed + i, program);
      all.ops.insert(all.ops.end(), program.ops.begin(), program.ops.end());
    }
    all.drain = all.ops.size() - (program.ops.size() - program.drain);
    return all;
  }

  [[nodiscard]] FuzzResult::Finding describe(std::uint64_t index) const {
    FuzzResult::Finding finding = {.seed = options_.seed + index};
    Program program = failing_program(index);
    if (difference_of(program)) {
      program = testing::shrink(std::move(program), [this](const Program& candidate) {
        return difference_of(candidate).has_value();
      });
    }
    const auto found = difference_of(program);
    finding.program = program;
    finding.text = fmt::format(
        "# {}\n# tessera fuzz --profile {} --devices {} --calls {} --seed {} "
        "--programs 1\n",
        found ? "call " + std::to_string(found->at + 1) + ": " + found->what
              : "seen once, and not again: it depends on what ran before",
        as_shell_word(options_.profile), options_.devices, options_.length, finding.seed);
    finding.text += scenario::to_string(
        testing::to_case(program, "fuzz-" + std::to_string(finding.seed),
                         found ? std::span<const testing::Outcome>(found->outcomes)
                               : std::span<const testing::Outcome>()));
    return finding;
  }

  const sim::Profile& profile_;
  const FuzzOptions& options_;
  model::DifferentialOptions differential_;
  testing::GeneratorOptions generator_options_;
  double seconds_;
  Clock::time_point start_ = Clock::now();
  std::atomic<std::uint64_t> programs_ = 0;
  std::atomic<std::uint64_t> calls_ = 0;
  std::atomic<bool> must_stop_ = false;
  std::mutex mutex_;
  std::condition_variable finish_;
  int finished_ = 0;
  std::optional<std::uint64_t> differing_;
  FuzzResult result_;
};

}  // namespace

FuzzResult run_fuzz(const sim::Profile& profile, const FuzzOptions& options) {
  return Run(profile, options).run();
}

ExitStatus fuzz(const FuzzOptions& options) {
  const auto loaded = sim::load_profile(options.profile);
  if (const auto* error = std::get_if<sim::ProfileError>(&loaded)) {
    complain(error->message);
    return ExitStatus::unusable;
  }
  const sim::Profile& profile = std::get<sim::Profile>(loaded);
  const std::string fault = sim::check_machine(profile, {.devices = options.devices});
  if (!fault.empty() || profile.pages_out) {
    complain(fault.empty() ? "profile " + options.profile +
                                 " pages memory out, which the naive model does not know; use one "
                                 "of " +
                                 usable_profiles()
                           : fault);
    return ExitStatus::unusable;
  }
  note_interrupts();
  const FuzzResult result = run_fuzz(profile, options);
  if (result.finding) {
    fmt::print("{}", result.finding->text);
  }
  fmt::print(
      "{}{}{} programs, {} calls in {:.1f} s ({:.0f} programs, {:.2f} M calls a second); "
      "{} of {} deep states seen; {}\n",
      // After a scenario a comment: all of it is a file that can be replayed.
      result.finding ? "# " : "", was_interrupted() ? "interrupted: " : "", result.programs,
      result.calls, result.seconds, static_cast<double>(result.programs) / result.seconds,
      static_cast<double>(result.calls) / result.seconds / 1e6, result.deep_states.seen(),
      model::deep_state_count, result.finding ? "1 difference" : "no difference");
  end_if_interrupted();
  return result.finding ? ExitStatus::different : ExitStatus::same;
}

}  // namespace tessera::tools
