// `tessera record`: runs the cases of files, each where a crash costs only itself, and writes them
// with the answers they got, under a header that says on which machine.
#pragma once

#include <string>
#include <vector>

#include "replay.h"

namespace tessera::tools {

struct RecordOptions {
  RunOptions run;
  int repeat = 1;      // runs of all; answers that vary are marked
  std::string output;  // a file, for several inputs a directory; empty: standard output
  std::vector<std::string> files;
};

ExitStatus record(const RecordOptions& options);

}  // namespace tessera::tools
