#include "region_allocator.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace tessera::sim {
namespace {

AddressRange between(std::uint64_t begin, std::uint64_t end) noexcept {
  return {DeviceAddress(begin), Bytes(end - begin)};
}

// The lowest aligned place in a gap, at or after `from`.
std::optional<DeviceAddress> fit_low(AddressRange gap, Bytes size, Bytes alignment,
                                     DeviceAddress from) noexcept {
  const auto place = checked_align_up(Bytes(std::max(gap.begin(), from).value()), alignment);
  if (!place || place->value() >= gap.end().value() ||
      gap.end() - DeviceAddress(place->value()) < size) {
    return std::nullopt;
  }
  return DeviceAddress(place->value());
}

// The highest aligned place in a gap.
std::optional<DeviceAddress> fit_high(AddressRange gap, Bytes size, Bytes alignment) noexcept {
  if (gap.size() < size) {
    return std::nullopt;
  }
  const DeviceAddress place(align_down(Bytes((gap.end() - size).value()), alignment).value());
  return place >= gap.begin() ? std::optional(place) : std::nullopt;
}

}  // namespace

RegionAllocator::RegionAllocator(const std::vector<AddressRange>& windows) {
  for (const AddressRange& window : windows) {
    give_back(window);
  }
}

std::size_t RegionAllocator::class_of(Bytes size) noexcept {
  return static_cast<std::size_t>(std::bit_width(size.value())) - 1;
}

AddressRange RegionAllocator::gap_at(std::uint64_t begin) const {
  return between(begin, gaps_.at(begin));
}

void RegionAllocator::add_gap(AddressRange gap) {
  if (!gap.is_empty()) {
    gaps_.emplace(gap.begin().value(), gap.end().value());
    begins_by_class_.at(class_of(gap.size())).insert(gap.begin().value());
  }
}

void RegionAllocator::remove_gap(AddressRange gap) {
  gaps_.erase(gap.begin().value());
  begins_by_class_.at(class_of(gap.size())).erase(gap.begin().value());
}

// In each class the first gap that fits; all but the lowest classes fit at once.
std::optional<RegionAllocator::Place> RegionAllocator::find_lowest(Bytes size, Bytes alignment,
                                                                   DeviceAddress from) const {
  const auto after = gaps_.upper_bound(from.value());
  if (after != gaps_.begin()) {
    const AddressRange around = gap_at(std::prev(after)->first);
    if (const auto place = fit_low(around, size, alignment, from)) {
      return Place{around, *place};
    }
  }
  std::optional<Place> best;
  for (std::size_t i = class_of(size); i < class_count; ++i) {
    const auto& begins = begins_by_class_[i];
    for (auto begin = begins.upper_bound(from.value()); begin != begins.end(); ++begin) {
      if (best && *begin > best->gap.begin().value()) {
        break;
      }
      const AddressRange gap = gap_at(*begin);
      if (const auto place = fit_low(gap, size, alignment, from)) {
        best = Place{gap, *place};
        break;
      }
    }
  }
  return best;
}

std::optional<RegionAllocator::Place> RegionAllocator::find_highest(Bytes size,
                                                                    Bytes alignment) const {
  std::optional<Place> best;
  for (std::size_t i = class_of(size); i < class_count; ++i) {
    const auto& begins = begins_by_class_[i];
    for (auto begin = begins.rbegin(); begin != begins.rend(); ++begin) {
      if (best && *begin < best->gap.begin().value()) {
        break;
      }
      const AddressRange gap = gap_at(*begin);
      if (const auto place = fit_high(gap, size, alignment)) {
        best = Place{gap, *place};
        break;
      }
    }
  }
  return best;
}

AddressRange RegionAllocator::take_at(const Place& place, Bytes size) {
  const AddressRange region(place.address, size);
  remove_gap(place.gap);
  add_gap({place.gap.begin(), region.begin() - place.gap.begin()});
  add_gap({region.end(), place.gap.end() - region.end()});
  return region;
}

std::optional<AddressRange> RegionAllocator::take_lowest(Bytes size, Bytes alignment,
                                                         DeviceAddress from) {
  const auto place = size.is_zero() ? std::nullopt : find_lowest(size, alignment, from);
  return place ? std::optional(take_at(*place, size)) : std::nullopt;
}

std::optional<AddressRange> RegionAllocator::take_highest(Bytes size, Bytes alignment) {
  const auto place = size.is_zero() ? std::nullopt : find_highest(size, alignment);
  return place ? std::optional(take_at(*place, size)) : std::nullopt;
}

void RegionAllocator::give_back(AddressRange region) {
  std::uint64_t begin = region.begin().value();
  std::uint64_t end = region.end().value();
  const auto above = gaps_.lower_bound(begin);
  const bool joins_above = above != gaps_.end() && above->first == end;
  const bool joins_below = above != gaps_.begin() && std::prev(above)->second == begin;
  if (joins_below) {
    begin = std::prev(above)->first;
  }
  if (joins_above) {
    const AddressRange gap = gap_at(above->first);
    end = gap.end().value();
    remove_gap(gap);
  }
  if (joins_below) {
    remove_gap(gap_at(begin));
  }
  add_gap(between(begin, end));
}

std::string RegionAllocator::check_invariants() const {
  std::size_t listed = 0;
  for (const auto& begins : begins_by_class_) {
    listed += begins.size();
  }
  if (listed != gaps_.size()) {
    return "the classes do not list every gap once";
  }
  std::uint64_t last_end = 0;
  for (const auto& [begin, end] : gaps_) {
    if (begin >= end || (last_end != 0 && begin <= last_end)) {
      return "gaps are empty, overlap or touch";
    }
    if (!begins_by_class_.at(class_of(Bytes(end - begin))).contains(begin)) {
      return "a gap is listed in the wrong class";
    }
    last_end = end;
  }
  return "";
}

}  // namespace tessera::sim
