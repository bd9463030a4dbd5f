// `tessera fuzz --backend cuda`: random programs on the real driver, judged by the simulator. A
// difference is made small and printed as a scenario with the real driver's answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "replay.h"
#include "run_cases.h"
#include "tessera/testing/program_generator.h"

namespace tessera::tools {

// To start a real driver takes as long as hundreds of programs.
inline constexpr int real_fuzz_batch = 1024;

struct RealFuzzOptions {
  RunOptions tested = {};        // the driver that is judged: the real one, but for tests of this
  std::string profile = "h200";  // what the simulator that judges goes by
  double seconds = 0;            // zero: as many as `programs` says
  std::uint64_t programs = 0;    // zero: as long as `seconds` says; both zero: ten seconds
  std::uint64_t seed = 1;        // of the first program; the next ones have the next numbers
  std::size_t length = testing::GeneratorOptions{}.length;  // of a program, before its drain
  double shrink_seconds = 60;  // how long to make the first program that differs smaller
  // Told of each answer that differs, as soon as it is seen.
  std::function<void(const std::string&)> on_difference = {};
};

struct RealFuzzResult {
  std::uint64_t programs = 0;
  std::uint64_t calls = 0;      // whose answers were compared
  std::uint64_t left_out = 0;   // programs not run: each would cost a process, and few of them are
  std::uint64_t run_again = 0;  // that differed after others in one process, and not on their own
  double seconds = 0;
  std::uint64_t differences = 0;
  struct Finding {
    std::string name = {};          // "fuzz-" and the seed
    testing::Program program = {};  // as small as it gets
    std::string text = {};          // as a scenario, with what is wrong
  };
  std::optional<Finding> finding;
};

// The run itself, printing nothing but progress on a terminal.
[[nodiscard]] std::variant<RealFuzzResult, BackendError> run_real_fuzz(
    const RealFuzzOptions& options);

// The verb. `same`: no difference; `different`: one was found and printed; `unusable`: no such
// profile or driver.
ExitStatus fuzz_real(const RealFuzzOptions& options);

}  // namespace tessera::tools
