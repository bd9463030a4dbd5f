#include "interrupt.h"

#include <atomic>
#include <csignal>
#include <cstdio>

namespace tessera::tools {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void note_interrupt(int /*signal*/) {
  interrupted = true;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

void note_interrupts() { std::signal(SIGINT, note_interrupt); }

bool was_interrupted() noexcept { return interrupted; }

void end_if_interrupted() {
  if (interrupted) {
    std::fflush(stdout);
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
}

}  // namespace tessera::tools
