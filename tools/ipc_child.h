// The other process of `ipc.child`: this command again, with the descriptor inherited.
#pragma once

#include <string>

#include "backend.h"

namespace tessera::tools {

// The verb that is not in the help, and the descriptor that it works on.
inline constexpr const char* ipc_child_verb = "ipc-child";
inline constexpr int ipc_child_descriptor = 3;

// Starts the process, waits, and gives what it printed: see run_child_task.
[[nodiscard]] std::string run_child_process(const BackendOptions& options,
                                            const scenario::ChildTask& task);

// What that process does: the exit status.
int ipc_child_main(const BackendOptions& options, const scenario::ChildTask& task);

}  // namespace tessera::tools
