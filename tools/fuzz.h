// `tessera fuzz`: random programs on the simulator, judged by the naive model. A difference is made
// small and printed as a scenario.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "model/differential.h"
#include "replay.h"
#include "tessera/testing/program_generator.h"

namespace tessera::tools {

struct FuzzOptions {
  double seconds = 0;          // zero: as many as `programs` says
  std::uint64_t programs = 0;  // zero: as long as `seconds` says; both zero: ten seconds
  std::uint64_t seed = 1;      // of the first program; the next ones have the next numbers
  // Of each program, calls before its drain.
  std::size_t length = testing::GeneratorOptions{}.length;
  std::string profile = "tiny";
  std::int32_t devices = 1;
  int jobs = 1;  // threads; program number i is the same whatever this is
  bool is_thorough = false;
  // What the model goes by, for tests: another profile than the simulator's is a planted fault.
  const sim::Profile* model_profile = nullptr;
};

// What a run found, and what it saw.
struct FuzzResult {
  std::uint64_t programs = 0;
  std::uint64_t calls = 0;
  double seconds = 0;
  model::DeepStates deep_states;
  struct Finding {
    std::uint64_t seed = 0;
    testing::Program program = {};  // as small as it gets
    std::string text = {};          // as a scenario, with what is wrong
  };
  std::optional<Finding> finding;
};

// The run itself, printing nothing but progress on a terminal.
[[nodiscard]] FuzzResult run_fuzz(const sim::Profile& profile, const FuzzOptions& options);

// The verb. `same`: no difference; `different`: one was found and printed; `unusable`: no such
// profile.
ExitStatus fuzz(const FuzzOptions& options);

}  // namespace tessera::tools
