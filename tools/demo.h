// `tessera demo`: what the simulator is about, in one screen: the recordings of real GPUs give the
// same answers on it, and its books show what each call does.
#pragma once

#include <string>

#include "replay.h"

namespace tessera::tools {

struct DemoOptions {
  std::string recordings;  // a directory; empty: where this build or installation has them
};

ExitStatus demo(const DemoOptions& options);

}  // namespace tessera::tools
