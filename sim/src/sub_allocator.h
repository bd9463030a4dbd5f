// SubAllocator: hands out parts of large blocks that somebody else gives it (mem_alloc's 2 MiB
// blocks, a memory pool's 32 MiB ones). First fit by address, parts rounded to the alignment.
//
// Knows addresses only. Not thread-safe: the machine's lock guards it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "gap_tree.h"
#include "tessera/address.h"

namespace tessera::sim {

class SubAllocator {
 public:
  // Any size but zero.
  explicit SubAllocator(Bytes alignment);

  // A part of one of the blocks, its size rounded up (zero too); nothing when no block has room.
  [[nodiscard]] std::optional<AddressRange> allocate(Bytes size);
  // `address` is the begin of a part. The block that became empty with it, if any: it is still the
  // allocator's until remove_block.
  [[nodiscard]] std::optional<AddressRange> free(DeviceAddress address);
  [[nodiscard]] bool owns(DeviceAddress address) const;  // the begin of a part

  // The block is aligned, and overlaps no other.
  void add_block(AddressRange block);
  // The block is empty.
  void remove_block(AddressRange block);
  [[nodiscard]] std::vector<AddressRange> empty_blocks() const;
  [[nodiscard]] std::vector<AddressRange> blocks() const;
  [[nodiscard]] Bytes allocated() const noexcept { return allocated_; }
  // I1 blocks are aligned and do not overlap. I2 each part and each gap lies in one block; parts
  // and gaps fill the blocks without overlap, and no two gaps of a block touch. I3 a block counts
  // its parts. I4 `allocated` is the sum of the parts.
  [[nodiscard]] std::string check_invariants() const;

 private:
  struct Block {
    DeviceAddress end;
    std::size_t parts = 0;
  };
  using Blocks = std::map<DeviceAddress, Block>;  // by begin

  [[nodiscard]] Blocks::iterator block_of(DeviceAddress address);
  void add_gap(const Blocks::value_type& block, AddressRange gap);

  Bytes alignment_;
  Blocks blocks_;
  std::unordered_map<std::uint64_t, Bytes> parts_;  // begin -> size
  GapTree gaps_;
  Bytes allocated_;
};

}  // namespace tessera::sim
