// AddressAllocator: where reservations and other allocations lie. What an H200's driver was seen to
// do (docs/fidelity.md):
//   - Addresses come in blocks: whole multiples of 32 MiB, as large as the request or its alignment
//     needs. What the request leaves of its block is there for later ones.
//   - A request takes the first fit in the newest block that has room; else a new block, at the
//     lowest free place. A block that became empty is given back.
//   - A hint is honoured where it lies free inside one block. Else only blocks above it serve, or a
//     new one at the lowest free place above it, which may be the hint itself.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "region_allocator.h"
#include "size_classes.h"
#include "slab.h"
#include "sorted_table.h"
#include "tessera/address.h"

namespace tessera::sim {

class AddressAllocator {
 public:
  AddressAllocator(const std::vector<AddressRange>& windows, Bytes block, Bytes granularity);

  struct Request {
    Bytes size;                // a multiple of the granularity
    Bytes alignment = {};      // a power of two, or zero for any
    DeviceAddress hint = {};   // null: none
    bool prefers_top = false;  // a new block goes to the highest free place
  };
  // Nothing when there is no such place, or for a size of zero.
  [[nodiscard]] std::optional<AddressRange> take(const Request& request);
  // `range` is one that `take` gave.
  void give_back(AddressRange range);
  // What the driver keeps for itself, at the highest free place: only `free`, relative to its
  // begin, can be taken, as if each were a block; the first is the newest. The begin; nothing
  // without room.
  [[nodiscard]] std::optional<DeviceAddress> take_for_driver(Bytes size,
                                                             const std::vector<AddressRange>& free);
  [[nodiscard]] std::string check_invariants() const;

 private:
  struct Block {
    AddressRange range;
    std::vector<AddressRange> gaps;  // free, by address
    std::uint64_t age = 0;           // the newest has the smallest
    bool is_driver = false;          // stays when it is empty
  };
  [[nodiscard]] static Bytes longest_gap(const Block& block) noexcept;
  [[nodiscard]] static std::optional<DeviceAddress> fit(const Block& block, Bytes size,
                                                        Bytes alignment, DeviceAddress from);
  [[nodiscard]] std::optional<SlabIndex> block_around(DeviceAddress address) const;
  [[nodiscard]] std::optional<AddressRange> take_hint(const Request& request, Bytes alignment);
  [[nodiscard]] std::optional<AddressRange> take_in_blocks(const Request& request, Bytes alignment);
  [[nodiscard]] std::optional<AddressRange> take_in_new_block(const Request& request,
                                                              Bytes alignment);
  AddressRange take_at(SlabIndex block, DeviceAddress place, Bytes size);
  SlabIndex add_block(Block block);
  void remove_block(SlabIndex index);
  // Calls `change(block)`, and lists the block anew where its longest gap is another then.
  template <class Change>
  void change_gaps(SlabIndex index, Change&& change);

  Bytes block_size_;
  Bytes granularity_;
  RegionAllocator regions_;
  Slab<Block> blocks_;
  SortedTable<SlabIndex> by_begin_;
  SizeClasses<SlabIndex> by_room_;  // by their longest gap, and by age: the newest comes first
  std::uint64_t next_age_;
};

}  // namespace tessera::sim
