// How often this process is the child of a fork: a driver started before a fork answers
// not_initialized in the child, and reading a number is cheaper than getpid on every call.
#pragma once

#include <cstdint>

namespace tessera::sim {

// The number of forks between this process and the first that asked.
[[nodiscard]] std::uint64_t fork_count() noexcept;

}  // namespace tessera::sim
