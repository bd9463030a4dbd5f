// GapTree: free ranges in the order of their addresses, which finds the lowest one of at least a
// given size in logarithmic time: a treap whose nodes know the largest gap below them. Priorities
// come from the addresses, so a run repeats.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/address.h"

namespace tessera::sim {

class GapTree {
 public:
  // `gap` is not empty and touches no gap's begin.
  void insert(AddressRange gap);
  // `begin` is a gap's.
  void erase(DeviceAddress begin);
  // Moves the borders of the gap at `begin`; its place among the others stays.
  void replace(DeviceAddress begin, AddressRange gap);

  // The lowest gap of at least `size`.
  [[nodiscard]] std::optional<AddressRange> first_fit(Bytes size) const;
  [[nodiscard]] std::optional<AddressRange> at(DeviceAddress begin) const;
  // The highest gap that begins below `address`.
  [[nodiscard]] std::optional<AddressRange> last_before(DeviceAddress address) const;
  [[nodiscard]] std::vector<AddressRange> gaps() const;
  [[nodiscard]] std::string check_invariants() const;

 private:
  using Index = std::uint32_t;
  static constexpr Index none = 0xffff'ffff;

  struct Node {
    AddressRange gap;
    Bytes largest;  // of this gap and all below
    std::uint64_t priority = 0;
    Index left = none;
    Index right = none;
  };
  struct Halves {
    Index below;
    Index from;
  };

  [[nodiscard]] Bytes largest(Index node) const;
  void update(Index node);
  [[nodiscard]] Index make_node(AddressRange gap);
  // Gaps that begin below `begin`, and the others.
  [[nodiscard]] Halves split(Index node, DeviceAddress begin);
  [[nodiscard]] Index merge(Index below, Index from);
  [[nodiscard]] Index insert_at(Index node, Index added);
  [[nodiscard]] Index erase_at(Index node, DeviceAddress begin);
  void replace_at(Index node, DeviceAddress begin, AddressRange gap);

  std::vector<Node> nodes_;
  std::vector<Index> unused_;
  Index root_ = none;
};

}  // namespace tessera::sim
