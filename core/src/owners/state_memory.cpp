#include "owners/state_memory.h"

#include <cstdint>
#include <new>
#include <utility>

namespace tessera::detail {
namespace {

struct FreeBlock {
  FreeBlock* next;
};

struct KeptBlocks {
  FreeBlock* first = nullptr;
  std::uint32_t room = 0;  // for so many more
  bool is_started = false;
};

// 48 KiB a thread at most.
constexpr std::uint32_t kept_max = 256;

// Without a destructor, so that owners of static storage find it intact after the thread's end.
constinit thread_local KeptBlocks kept;

// Frees what this thread keeps when it ends; from then on it keeps nothing.
struct Sweeper {
  Sweeper() noexcept { kept = {.first = nullptr, .room = kept_max, .is_started = true}; }
  Sweeper(const Sweeper&) = delete;
  Sweeper& operator=(const Sweeper&) = delete;
  ~Sweeper() {
    kept.room = 0;
    while (kept.first != nullptr) {
      ::operator delete(std::exchange(kept.first, kept.first->next));
    }
  }
};

void start() noexcept { static thread_local const Sweeper sweeper; }

}  // namespace

void* take_state_block() {
  if (kept.first == nullptr) {
    return ::operator new(state_block_size);
  }
  ++kept.room;
  return std::exchange(kept.first, kept.first->next);
}

void keep_state_block(void* block) noexcept {
  if (!kept.is_started) [[unlikely]] {
    start();
  }
  if (kept.room == 0) {
    ::operator delete(block);
    return;
  }
  --kept.room;
  kept.first = new (block) FreeBlock{kept.first};
}

}  // namespace tessera::detail
