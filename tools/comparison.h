// Answers against what the files say.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "case_outcome.h"
#include "tessera/bytes.h"

namespace tessera::tools {

struct Comparison {
  static constexpr std::size_t shown_max = 20;

  std::size_t cases = 0;
  std::size_t calls = 0;  // that the files have answers for
  std::size_t different = 0;
  std::vector<std::string> shown = {};  // the first differences, a line each
};

// Adds what became of one case of a file.
void compare_case(const std::string& file, const scenario::Case& scenario_case,
                  const CaseOutcome& outcome, Bytes granule, Comparison& comparison);

// "checked 12 calls in 3 cases: 0 differ"
[[nodiscard]] std::string summary(const Comparison& comparison);

}  // namespace tessera::tools
