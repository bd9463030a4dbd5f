// StateMemory: where the states that owners share lie. Each thread keeps the memory of some that
// are gone for the next ones: malloc and free would be a fifth of what owners cost, and a quarter
// of what a growing buffer does.
#pragma once

#include <cstddef>

namespace tessera::detail {

// One size for all, so that any state takes the place of any other.
inline constexpr std::size_t state_block_size = 192;

[[nodiscard]] void* take_state_block();
void keep_state_block(void* block) noexcept;

// A standard allocator of single states.
template <class State>
struct StateMemory {
  using value_type = State;

  StateMemory() = default;
  template <class Other>
  StateMemory(const StateMemory<Other>&) noexcept {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] State* allocate(std::size_t) {
    static_assert(sizeof(State) <= state_block_size && alignof(State) <= alignof(std::max_align_t));
    return static_cast<State*>(take_state_block());
  }
  void deallocate(State* state, std::size_t) noexcept { keep_state_block(state); }

  friend bool operator==(StateMemory, StateMemory) noexcept { return true; }
};

}  // namespace tessera::detail
