// The worker process: runs the cases that its parent sends, and reports each answer before it
// makes the next call, so that a crash is known to be the next call's.
#pragma once

#include "backend.h"

namespace tessera::tools {

// The verb that is not in the help, and the socket that it talks on.
inline constexpr const char* worker_verb = "worker";
inline constexpr int worker_descriptor = 3;

int worker_main(const BackendOptions& options);

}  // namespace tessera::tools
