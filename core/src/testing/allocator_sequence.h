// What check_allocator runs: a list of allocations and frees.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tessera/bytes.h"
#include "tessera/testing/allocator_check.h"
#include "tessera/testing/choices.h"

namespace tessera::testing {

// Blocks are named by numbers, so that each operation says the same whatever is left out before it.
struct AllocatorOp {
  std::size_t block = 0;
  Bytes size = {};  // to allocate; zero: the block is freed

  [[nodiscard]] bool is_free() const noexcept { return size.is_zero(); }
  friend bool operator==(const AllocatorOp&, const AllocatorOp&) = default;
};

// A block is freed after it was allocated, once or never. A free whose allocation failed does
// nothing.
using AllocatorSequence = std::vector<AllocatorOp>;

// At least one operation. Sizes are small, or a few granules, or a byte off those, up to size_max.
[[nodiscard]] AllocatorSequence draw_sequence(const AllocatorTest& test, std::size_t operations_max,
                                              Bytes granule, Choices& choices);

// "b1 = allocate 2 MiB (2097152)", "free b1".
[[nodiscard]] std::string block_name(std::size_t block);
[[nodiscard]] std::string to_string(const AllocatorOp& op);

// Without `count` operations from number `first` on, and without the frees of what they allocate.
[[nodiscard]] AllocatorSequence without(const AllocatorSequence& sequence, std::size_t first,
                                        std::size_t count);

// Blocks numbered from 1, in the order of their allocations.
[[nodiscard]] AllocatorSequence renumbered(AllocatorSequence sequence);

}  // namespace tessera::testing
