// DeviceMemory: how much of one device's memory is taken. Where a profile says that memory must lie
// in one piece it keeps the pieces too, so that memory can be too fragmented for a request although
// enough is free. Where memory pages out, more than there is can be taken.
//
// Not thread-safe: the machine's lock guards it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "tessera/bytes.h"

namespace tessera::sim {

class DeviceMemory {
 public:
  struct Options {
    Bytes total;
    bool contiguous = false;
    Bytes may_page_out = {};  // how much beyond `total` can be taken; zero where contiguous
  };
  // What was taken, to be given back. Its place counts only where memory is contiguous.
  struct Piece {
    Bytes size;
    Bytes place = {};
  };

  explicit DeviceMemory(const Options& options);

  // Nothing when there is not enough, or not in one piece. Contiguous memory is taken from the
  // smallest gap that fits, of these the lowest.
  [[nodiscard]] std::optional<Piece> take(Bytes size);
  // A piece that `take` gave.
  void give_back(const Piece& piece);

  [[nodiscard]] Bytes total() const noexcept { return options_.total; }
  [[nodiscard]] Bytes used() const noexcept { return used_; }
  // What a program is told is free: zero where more than all is taken.
  [[nodiscard]] Bytes free() const noexcept;
  // The largest size that `take` would give now.
  [[nodiscard]] Bytes largest_free() const noexcept;
  // How much has paged out to the host.
  [[nodiscard]] Bytes paged_out() const noexcept;
  // I1 no more is used than there is and may page out. Where contiguous: I2 gaps do not overlap or
  // touch; I3 what is no gap is used; I4 the index by size holds the same gaps.
  [[nodiscard]] std::string check_invariants() const;

 private:
  using Gaps = std::map<Bytes, Bytes>;  // place -> size

  [[nodiscard]] Bytes left() const noexcept {
    return options_.total + options_.may_page_out - used_;
  }
  void add_gap(Bytes place, Bytes size);
  void remove_gap(Gaps::iterator gap);

  Options options_;
  Bytes used_;
  // Empty unless memory is contiguous.
  Gaps gaps_;
  std::set<std::pair<Bytes, Bytes>> by_size_;  // size, place
};

}  // namespace tessera::sim
