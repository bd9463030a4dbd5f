// Programs as scenarios: what is printed, replayed by `tessera replay` and kept as a test.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "tessera/scenario/scenario.h"
#include "tessera/testing/program_runner.h"

namespace tessera::testing {

// The program as a case. With outcomes (one for each of the first operations), calls have them as
// the answers that are expected: the result's name, and what of its value scenarios compare.
[[nodiscard]] scenario::Case to_case(const Program& program, std::string_view name,
                                     std::span<const Outcome> outcomes = {});

// A program of the case's calls; what no operation of programs can say is told in words.
struct NotAProgram {
  std::string message;
};
[[nodiscard]] std::variant<Program, NotAProgram> from_case(const scenario::Case& scenario_case);

}  // namespace tessera::testing
