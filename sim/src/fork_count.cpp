#include "fork_count.h"

#include <atomic>

#include <pthread.h>

namespace tessera::sim {
namespace {

std::atomic<std::uint64_t> forks = 0;

}  // namespace

std::uint64_t fork_count() noexcept {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return forks.load(std::memory_order_relaxed);
}

}  // namespace tessera::sim
