// AddressSpace: what lies at which address. Two independent layers, as in the real driver:
//   - reservations, ranges that a program holds;
//   - blocks, ranges with something behind them: mappings, legacy allocations, the driver's own.
// A mapping need not stay inside its reservation: profiles decide, the driver's rules are not here.
//
// Invariants (check_invariants): I1 reservations do not overlap. I2 blocks do not overlap. I3 each
// mapping in the slab is one block's. I4 the count of accessible mappings is right.
// Not thread-safe: the machine's lock guards it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "address_allocator.h"
#include "slab.h"
#include "sorted_table.h"
#include "tessera/requests.h"

namespace tessera::sim {

enum class BlockKind : std::uint8_t {
  mapping,  // `index` names a Mapping of this AddressSpace
  legacy,   // `index` is whatever the owner says
  driver,   // nobody's but the driver's
};

struct BlockEntry {
  std::uint64_t size = 0;
  SlabIndex index = 0;
  BlockKind kind = BlockKind::driver;
};

struct Block {
  AddressRange range;
  SlabIndex index = 0;
  BlockKind kind = BlockKind::driver;
};

struct Mapping {
  AddressRange range;
  SlabIndex handle = 0;  // of the physical store's handle table
  Bytes offset;          // into the handle's memory
  // A bit a device; write without read does not occur.
  std::uint64_t device_read = 0;
  std::uint64_t device_write = 0;
  AccessFlags host = AccessFlags::none;
  bool is_host_latest = false;  // whether the host's access changed after device 0's
  bool sync_memops = false;     // the pointer attribute

  [[nodiscard]] AccessFlags access_of(DeviceOrdinal device) const noexcept;
  [[nodiscard]] bool is_accessible() const noexcept {
    return device_read != 0 || host != AccessFlags::none;
  }
};

class AddressSpace {
 public:
  static constexpr std::int32_t devices_max = 64;

  AddressSpace(const std::vector<AddressRange>& windows, Bytes reservation_block,
               Bytes granularity);

  // --- Reservations ---
  [[nodiscard]] std::optional<DeviceAddress> reserve(Bytes size, Bytes alignment,
                                                     DeviceAddress hint);
  // The reservation that contains the address.
  [[nodiscard]] std::optional<AddressRange> reservation_at(DeviceAddress address) const;
  // `reservation` is one; blocks in it stay.
  void free_reservation(AddressRange reservation);
  [[nodiscard]] std::size_t reservation_count() const noexcept { return reservations_.size(); }
  [[nodiscard]] Bytes reserved() const noexcept { return reserved_; }
  // Addresses from here on cannot exist on this machine.
  [[nodiscard]] std::uint64_t address_limit() const noexcept { return address_limit_; }

  // --- Addresses that are nobody's reservation ---
  // What the driver keeps for itself for good: `size` bytes, of which `free` can be taken, and
  // where it has mapped something. Ranges are relative to the begin.
  void add_driver_addresses(Bytes size, const std::vector<AddressRange>& free,
                            const std::vector<AddressRange>& mapped);
  [[nodiscard]] std::optional<AddressRange> take_addresses(Bytes size, Bytes alignment);
  void give_back_addresses(AddressRange range);

  // --- Blocks ---
  [[nodiscard]] std::optional<Block> block_at(DeviceAddress address) const;
  // The first block that begins at or after the address.
  [[nodiscard]] std::optional<Block> block_from(DeviceAddress address) const;
  [[nodiscard]] bool has_block_in(AddressRange range) const;
  // Whether a block is partly inside the range.
  [[nodiscard]] bool cuts_block(AddressRange range) const;
  // No block overlaps the range.
  void add_block(AddressRange range, BlockKind kind, SlabIndex index);
  void remove_block(DeviceAddress begin);
  [[nodiscard]] std::size_t block_count() const noexcept { return blocks_.size(); }

  // --- Mappings ---
  // No block overlaps the range. Nobody has access.
  void map(AddressRange range, SlabIndex handle, Bytes offset = {});
  // Removes the mappings that lie wholly inside, and tells each one's handle and begin.
  template <class OnUnmapped>
  std::size_t unmap_inside(AddressRange range, OnUnmapped&& on_unmapped);
  [[nodiscard]] const Mapping* mapping_at(DeviceAddress address) const;
  [[nodiscard]] const Mapping& mapping(SlabIndex index) const { return mappings_[index]; }
  [[nodiscard]] Mapping& mapping(SlabIndex index) { return mappings_[index]; }
  void set_access(SlabIndex mapping, DeviceOrdinal device, AccessFlags flags);
  void set_host_access(SlabIndex mapping, AccessFlags flags);
  [[nodiscard]] std::size_t mapping_count() const noexcept { return mappings_.size(); }
  [[nodiscard]] std::size_t accessible_mapping_count() const noexcept { return accessible_; }

  [[nodiscard]] std::string check_invariants() const;

 private:
  using Reservations = SortedTable<std::uint64_t>;  // begin -> size
  using Blocks = SortedTable<BlockEntry>;           // begin -> the block

  [[nodiscard]] static Block block_of(Blocks::Cursor place);
  void count_access(bool before, bool after) noexcept;

  AddressAllocator allocator_;
  Reservations reservations_;
  Blocks blocks_;
  Slab<Mapping> mappings_;
  Bytes reserved_;
  std::uint64_t address_limit_;
  std::size_t accessible_ = 0;
};

template <class OnUnmapped>
std::size_t AddressSpace::unmap_inside(AddressRange range, OnUnmapped&& on_unmapped) {
  std::size_t count = 0;
  Blocks::Cursor place = blocks_.ceiling(range.begin().value());
  while (place && block_of(place).range.end() <= range.end()) {
    if (place.value().kind != BlockKind::mapping) {
      place = place.next();
      continue;
    }
    const SlabIndex index = place.value().index;
    const SlabIndex handle = mappings_[index].handle;
    const DeviceAddress begin = mappings_[index].range.begin();
    count_access(mappings_[index].is_accessible(), false);
    mappings_.erase(index);
    place = blocks_.erase(place);
    on_unmapped(handle, begin);
    ++count;
  }
  return count;
}

}  // namespace tessera::sim
