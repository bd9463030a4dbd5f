#include "thread_number.h"

#include <atomic>

namespace tessera::sim {

std::uint64_t this_thread_number() noexcept {
  static std::atomic<std::uint64_t> numbers_given{0};
  // Relaxed: that no two threads get the same number is all that is asked.
  thread_local const std::uint64_t number =
      numbers_given.fetch_add(1, std::memory_order_relaxed) + 1;
  return number;
}

}  // namespace tessera::sim
