#include "device_memory.h"

#include <algorithm>
#include <iterator>

#include "tessera/check.h"

namespace tessera::sim {

DeviceMemory::DeviceMemory(const Options& options) : options_(options) {
  TESSERA_CHECK(checked_add(options.total, options.may_page_out).has_value());
  TESSERA_CHECK(!options.contiguous || options.may_page_out.is_zero());
  if (options.contiguous && !options.total.is_zero()) {
    add_gap(Bytes(), options.total);
  }
}

std::optional<DeviceMemory::Piece> DeviceMemory::take(Bytes size) {
  if (size > left()) {
    return std::nullopt;
  }
  Piece piece = {.size = size};
  if (options_.contiguous && !size.is_zero()) {
    const auto fit = by_size_.lower_bound({size, Bytes()});
    if (fit == by_size_.end()) {
      return std::nullopt;
    }
    const auto [gap_size, place] = *fit;
    piece.place = place;
    remove_gap(gaps_.find(place));
    if (gap_size > size) {
      add_gap(place + size, gap_size - size);
    }
  }
  used_ += size;
  return piece;
}

void DeviceMemory::give_back(const Piece& piece) {
  used_ -= piece.size;
  if (!options_.contiguous || piece.size.is_zero()) {
    return;
  }
  Bytes begin = piece.place;
  Bytes end = piece.place + piece.size;
  TESSERA_CHECK_LE(end.value(), options_.total.value());
  const auto above = gaps_.lower_bound(begin);
  if (above != gaps_.begin()) {
    const auto below = std::prev(above);
    const Bytes below_end = below->first + below->second;
    TESSERA_CHECK_LE(below_end.value(), begin.value());
    if (below_end == begin) {
      begin = below->first;
      remove_gap(below);
    }
  }
  if (above != gaps_.end()) {
    TESSERA_CHECK_LE(end.value(), above->first.value());
    if (above->first == end) {
      end += above->second;
      remove_gap(above);
    }
  }
  add_gap(begin, end - begin);
}

Bytes DeviceMemory::free() const noexcept {
  return used_ < options_.total ? options_.total - used_ : Bytes();
}

Bytes DeviceMemory::largest_free() const noexcept {
  if (!options_.contiguous) {
    return left();
  }
  return by_size_.empty() ? Bytes() : by_size_.rbegin()->first;
}

Bytes DeviceMemory::paged_out() const noexcept {
  return used_ > options_.total ? used_ - options_.total : Bytes();
}

void DeviceMemory::add_gap(Bytes place, Bytes size) {
  gaps_.emplace(place, size);
  by_size_.emplace(size, place);
}

void DeviceMemory::remove_gap(Gaps::iterator gap) {
  by_size_.erase({gap->second, gap->first});
  gaps_.erase(gap);
}

std::string DeviceMemory::check_invariants() const {
  if (used_ > options_.total + options_.may_page_out) {
    return "I1: more memory is used than there is";
  }
  if (!options_.contiguous) {
    return gaps_.empty() && by_size_.empty() ? std::string() : "memory keeps gaps, but need not";
  }
  Bytes in_gaps;
  std::optional<Bytes> last_end;
  for (const auto& [place, size] : gaps_) {
    if (size.is_zero() || (last_end && place <= *last_end)) {
      return "I2: a gap is empty, or touches the one before";
    }
    last_end = place + size;
    in_gaps += size;
    if (!by_size_.contains({size, place})) {
      return "I4: the index by size lacks a gap";
    }
  }
  if (in_gaps + used_ != options_.total || last_end.value_or(Bytes()) > options_.total) {
    return "I3: gaps and used memory do not add up to the total";
  }
  return by_size_.size() == gaps_.size() ? std::string() : "I4: the index by size has other gaps";
}

}  // namespace tessera::sim
