#include "testing/allocator_sequence.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

#include "text.h"

namespace tessera::testing {
namespace {

Bytes draw_size(Bytes size_max, Bytes granule, Choices& choices) {
  constexpr std::uint32_t small_max = 4096;
  constexpr int granules_max = 4;
  Bytes size = granule * static_cast<std::uint64_t>(choices.between(1, granules_max));
  switch (choices.below(5)) {
    case 0:
      break;
    case 1:
      size += 1_B;
      break;
    case 2:
      size = size - 1_B;
      break;
    case 3:
      size = Bytes(1 + choices.below(small_max));
      break;
    default:
      size = Bytes(size_max.value() / (1 + choices.below(4)));
      break;
  }
  return std::clamp(size, 1_B, size_max);
}

}  // namespace

AllocatorSequence draw_sequence(const AllocatorTest& test, std::size_t operations_max,
                                Bytes granule, Choices& choices) {
  AllocatorSequence sequence;
  // Each is empty or holds a block. Few of them: blocks come and go; many: memory runs out.
  std::vector<std::size_t> slots(1 + choices.below(static_cast<std::uint32_t>(test.blocks_max)));
  std::size_t blocks = 0;
  do {
    std::size_t& slot = slots[choices.below(static_cast<std::uint32_t>(slots.size()))];
    if (slot == 0) {
      slot = ++blocks;
      sequence.push_back({.block = slot, .size = draw_size(test.size_max, granule, choices)});
    } else {
      sequence.push_back({.block = slot});
      slot = 0;
    }
  } while (sequence.size() < operations_max && !choices.is_exhausted());
  return sequence;
}

std::string block_name(std::size_t block) { return 'b' + std::to_string(block); }

std::string to_string(const AllocatorOp& op) {
  return op.is_free() ? "free " + block_name(op.block)
                      : block_name(op.block) + " = allocate " + text::bytes(op.size);
}

AllocatorSequence without(const AllocatorSequence& sequence, std::size_t first, std::size_t count) {
  AllocatorSequence left;
  std::vector<std::size_t> gone;
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    const AllocatorOp& op = sequence[i];
    if (i - first < count) {
      gone.push_back(op.block);
    } else if (std::find(gone.begin(), gone.end(), op.block) == gone.end()) {
      left.push_back(op);
    }
  }
  return left;
}

AllocatorSequence renumbered(AllocatorSequence sequence) {
  std::map<std::size_t, std::size_t> names;
  for (AllocatorOp& op : sequence) {
    op.block = names.try_emplace(op.block, names.size() + 1).first->second;
  }
  return sequence;
}

}  // namespace tessera::testing
