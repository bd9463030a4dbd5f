// A number for the calling thread, for what a driver keeps per thread. The system gives the
// std::thread::id of a thread that ended to a new one, which must not inherit the dead one's
// state: these numbers are never used again.
#pragma once

#include <cstdint>

namespace tessera::sim {

[[nodiscard]] std::uint64_t this_thread_number() noexcept;

}  // namespace tessera::sim
