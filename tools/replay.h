// `tessera replay`: runs the cases of files and prints what they answer, or compares.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "run_cases.h"

namespace tessera::tools {

// What a verb's run ends with.
enum class ExitStatus : int { same = 0, different = 1, unusable = 2 };

struct ReplayOptions {
  RunOptions run;
  bool check = false;
  std::vector<std::string> files;
};

// Reads files; prints why, for each that cannot be read, and gives nothing then.
[[nodiscard]] std::optional<std::vector<Recording>> read_recordings(
    const std::vector<std::string>& files);

ExitStatus replay(const ReplayOptions& options);

// Prints an error of the whole command.
void complain(const std::string& message);

}  // namespace tessera::tools
