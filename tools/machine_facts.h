// What machine the cases run on, asked in a process of its own: the parent of workers never starts
// the CUDA driver.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "run_cases.h"

namespace tessera::tools {

struct MachineFacts {
  std::int32_t devices = 0;
  std::string device_name = {};     // of device 0
  std::string cuda_version = {};    // "13.0"
  std::string driver_version = {};  // of the kernel's driver; empty where it cannot be told
};

// An error also when there are fewer devices than the options ask for.
[[nodiscard]] std::variant<MachineFacts, BackendError> ask_machine(const RunOptions& options);

}  // namespace tessera::tools
