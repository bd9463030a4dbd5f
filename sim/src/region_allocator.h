// RegionAllocator: large pieces of the process's address space. Reservations take the lowest place
// that fits, as the H200's driver was seen to do; other allocations the highest.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "size_classes.h"
#include "sorted_table.h"
#include "tessera/address.h"

namespace tessera::sim {

class RegionAllocator {
 public:
  // `windows`: where regions may lie; they do not overlap.
  explicit RegionAllocator(const std::vector<AddressRange>& windows);

  // The lowest free place at or after `from` for `size` bytes, at a multiple of `alignment`.
  [[nodiscard]] std::optional<AddressRange> take_lowest(Bytes size, Bytes alignment,
                                                        DeviceAddress from);
  // The highest free place.
  [[nodiscard]] std::optional<AddressRange> take_highest(Bytes size, Bytes alignment);
  void give_back(AddressRange region);
  [[nodiscard]] std::string check_invariants() const;

 private:
  struct Place {
    AddressRange gap;
    DeviceAddress address;
  };

  [[nodiscard]] std::optional<Place> find_lowest(Bytes size, Bytes alignment,
                                                 DeviceAddress from) const;
  [[nodiscard]] std::optional<Place> find_highest(Bytes size, Bytes alignment) const;
  AddressRange take_at(const Place& place, Bytes size);
  void add_gap(AddressRange gap);
  void remove_gap(AddressRange gap);
  // The same as remove and add, for a gap that comes to lie between the same others.
  void change_gap(AddressRange before, AddressRange after);

  SortedTable<std::uint64_t> gaps_;     // begin -> end
  SizeClasses<std::uint64_t> by_size_;  // the same
};

}  // namespace tessera::sim
