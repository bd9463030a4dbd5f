// The `tessera` command: reads the command line and hands over to the verb.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "check.h"
#include "demo.h"
#include "fuzz.h"
#include "fuzz_real.h"
#include "ipc_child.h"
#include "record.h"
#include "replay.h"
#include "worker.h"

namespace {

using namespace tessera::tools;

// As CLI::Range, which lets NaN through and prints fractions with six digits.
template <class T>
CLI::Validator in_range(T low, T high) {
  return CLI::Validator(
      [low, high](const std::string& text) {
        T value{};
        const bool is_number = CLI::detail::lexical_cast(text, value);
        return is_number && value >= low && value <= high
                   ? std::string()
                   : fmt::format("`{}` is no number from {} to {}", text, low, high);
      },
      fmt::format("in [{} - {}]", low, high));
}

void add_backend_kind(CLI::App& verb, BackendKind& kind, const char* help) {
  verb.add_option_function<std::string>(
          "--backend",
          [&kind](const std::string& name) {
            kind = name == "cuda" ? BackendKind::cuda : BackendKind::sim;
          },
          help)
      ->check(CLI::Validator(
          [](const std::string& name) {
            return name == "sim" || name == "cuda"
                       ? std::string()
                       : "there is no backend `" + name + "`; use sim or cuda";
          },
          "sim|cuda"));
}

// The options that say which driver to use.
void add_backend_options(CLI::App& verb, BackendOptions& backend, const char* kinds_help) {
  add_backend_kind(verb, backend.kind, kinds_help);
  verb.add_option("--profile", backend.profile,
                  "Of the simulator: a built-in profile's name or a profile file")
      ->capture_default_str();
  verb.add_option("--devices", backend.devices, "How many devices the machine has")
      ->check(in_range(1, 64))
      ->capture_default_str();
}

void add_run_options(CLI::App& verb, RunOptions& run, const char* kinds_help) {
  add_backend_options(verb, run.backend, kinds_help);
  verb.add_option("--jobs", run.jobs, "Worker processes at once")
      ->check(in_range(1, 256))
      ->capture_default_str();
  verb.add_option("--batch", run.batch, "Cases that share a worker process at most; 1: none")
      ->check(in_range(1, 1000000))
      ->capture_default_str();
  verb.add_flag("--isolate", run.isolate,
                "Run in worker processes also on the simulator (always so with --backend cuda)");
}

// What could not be written (a full disk, a closed pipe's file) was not said.
bool is_written() {
  // Help is written by the stream, which has no buffer of its own.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.flush().good()) {
    return true;
  }
  complain("the output could not be written: " + std::string(std::strerror(errno)));
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Replays, records and checks what CUDA's virtual memory calls answer.");
  app.name("tessera");
  app.require_subcommand(1);
  app.set_version_flag("--version", "tessera " TESSERA_VERSION);
  std::function<int()> run_verb;

  ReplayOptions replay_options;
  CLI::App* replay_verb =
      app.add_subcommand("replay", "Run the cases of files and print each call with its answer");
  add_run_options(*replay_verb, replay_options.run, "sim (the default) or cuda");
  replay_verb->add_flag("--check", replay_options.check,
                        "Compare with the answers in the files instead, and print differences");
  replay_verb->add_option("FILE", replay_options.files, "Scenario files, .vmm or .vmm.gz")
      ->required();
  replay_verb->callback(
      [&] { run_verb = [&] { return static_cast<int>(replay(replay_options)); }; });

  RecordOptions record_options;
  record_options.run.backend.kind = BackendKind::cuda;
  CLI::App* record_verb = app.add_subcommand(
      "record", "Run the cases of files on a GPU and write them with the answers they got");
  add_run_options(*record_verb, record_options.run, "sim or cuda (the default)");
  record_verb->add_option("--repeat", record_options.repeat, "Run so often, mark what varies")
      ->check(in_range(1, 1000))
      ->capture_default_str();
  record_verb->add_option("-o,--output", record_options.output,
                          "The file to write (.gz: compressed); a directory for several files");
  record_verb->add_option("FILE", record_options.files, "Scenario files, .vmm or .vmm.gz")
      ->required();
  record_verb->callback(
      [&] { run_verb = [&] { return static_cast<int>(record(record_options)); }; });

  CheckOptions check_options;
  CLI::App* check_app = app.add_subcommand(
      "check", "Run the cases of files on the simulator and print which rules they break");
  check_app
      ->add_option("--profile", check_options.backend.profile,
                   "A built-in profile's name or a profile file")
      ->capture_default_str();
  check_app->add_option("--devices", check_options.backend.devices, "How many devices there are")
      ->check(in_range(1, 64))
      ->capture_default_str();
  check_app->add_flag("--json", check_options.json, "Print one JSON document");
  check_app->add_flag("!--no-leaks", check_options.leaks, "Don't look at what a case leaves");
  check_app->add_option("FILE", check_options.files, "Scenario files, .vmm or .vmm.gz")->required();
  check_app->callback([&] { run_verb = [&] { return static_cast<int>(check(check_options)); }; });

  DemoOptions demo_options;
  CLI::App* demo_verb =
      app.add_subcommand("demo", "Replay the recordings of real GPUs and show what each call does");
  demo_verb->add_option("--recordings", demo_options.recordings, "The directory with recordings");
  demo_verb->callback([&] { run_verb = [&] { return static_cast<int>(demo(demo_options)); }; });

  FuzzOptions fuzz_options;
  BackendKind fuzz_backend = BackendKind::sim;
  CLI::App* fuzz_verb = app.add_subcommand(
      "fuzz",
      "Run random programs: on the simulator, compared with a naive model of it, or on a GPU, "
      "compared with the simulator");
  add_backend_kind(*fuzz_verb, fuzz_backend, "What is judged: sim (the default) or cuda");
  fuzz_verb
      ->add_option("--seconds", fuzz_options.seconds, "Stop after so long; without --programs: 10")
      ->check(in_range(0.1, 1e6));
  fuzz_verb->add_option("--programs", fuzz_options.programs, "Stop after so many programs")
      ->check(in_range(std::uint64_t{1}, std::uint64_t{1} << 62U));
  fuzz_verb->add_option("--seed", fuzz_options.seed, "The first program's; each next has one more")
      ->check(in_range(std::uint64_t{0}, std::uint64_t{1} << 62U))
      ->capture_default_str();
  fuzz_verb
      ->add_option("--calls", fuzz_options.length,
                   "Calls of each program, without those that undo what it did")
      ->check(in_range(1, 1000))
      ->capture_default_str();
  CLI::Option* fuzz_profile = fuzz_verb->add_option(
      "--profile", fuzz_options.profile,
      "A built-in profile's name or a profile file (the default: tiny; with cuda: h200)");
  fuzz_verb->add_option("--devices", fuzz_options.devices, "How many devices the machine has")
      ->check(in_range(1, 4))
      ->capture_default_str();
  fuzz_verb->add_option("--jobs", fuzz_options.jobs, "Threads; with cuda: worker processes")
      ->check(in_range(1, 256))
      ->capture_default_str();
  CLI::Option* fuzz_thorough =
      fuzz_verb->add_flag("--thorough", fuzz_options.is_thorough,
                          "Compare all that can be asked after each call (sim only)");
  fuzz_verb->callback([&] {
    if (fuzz_backend == BackendKind::sim) {
      run_verb = [&] { return static_cast<int>(fuzz(fuzz_options)); };
      return;
    }
    if (fuzz_thorough->count() != 0) {
      throw CLI::ValidationError("--thorough", "is for --backend sim only");
    }
    run_verb = [&] {
      RealFuzzOptions real;
      real.tested.backend.kind = fuzz_backend;
      real.tested.backend.devices = fuzz_options.devices;
      real.tested.jobs = fuzz_options.jobs;
      real.tested.batch = real_fuzz_batch;
      real.profile = fuzz_profile->count() == 0 ? real.profile : fuzz_options.profile;
      real.seconds = fuzz_options.seconds;
      real.programs = fuzz_options.programs;
      real.seed = fuzz_options.seed;
      real.length = fuzz_options.length;
      real.on_difference = [](const std::string& line) {
        std::printf("%s\n", line.c_str());
        std::fflush(stdout);
      };
      return static_cast<int>(fuzz_real(real));
    };
  });

  BackendOptions hidden_backend;
  CLI::App* worker = app.add_subcommand(worker_verb)->group("");
  add_backend_options(*worker, hidden_backend, "sim or cuda");
  worker->callback([&] { run_verb = [&] { return worker_main(hidden_backend); }; });

  std::uint64_t child_size = 0;
  unsigned child_value = 0;
  CLI::App* child = app.add_subcommand(ipc_child_verb)->group("");
  add_backend_options(*child, hidden_backend, "sim or cuda");
  child->add_option("--size", child_size)->required();
  child->add_option("--value", child_value)->required();
  child->callback([&] {
    run_verb = [&] {
      return ipc_child_main(hidden_backend, {.file_descriptor = ipc_child_descriptor,
                                             .size = tessera::Bytes(child_size),
                                             .value = static_cast<std::uint8_t>(child_value)});
    };
  });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.get_subcommands().empty() && error.get_exit_code() != 0) {
      complain(
          (argc > 1 ? "no verb `" + std::string(argv[1]) + "`" : std::string("no verb given")) +
          "; use replay, record, check, fuzz or demo (tessera --help)");
      return static_cast<int>(ExitStatus::unusable);
    }
    const bool is_asked_for = app.exit(error) == 0;
    return is_asked_for && is_written() ? 0 : static_cast<int>(ExitStatus::unusable);
  }
  const int status = run_verb();
  return is_written() ? status : static_cast<int>(ExitStatus::unusable);
}
