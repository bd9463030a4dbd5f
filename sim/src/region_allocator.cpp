#include "region_allocator.h"

#include <algorithm>

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

void RegionAllocator::add_gap(AddressRange gap) {
  if (!gap.is_empty()) {
    gaps_.insert(gap.begin().value(), gap.end().value());
    by_size_.insert(gap.size().value(), gap.begin().value(), gap.end().value());
  }
}

void RegionAllocator::remove_gap(AddressRange gap) {
  gaps_.erase(gaps_.find(gap.begin().value()));
  by_size_.erase(gap.size().value(), gap.begin().value());
}

void RegionAllocator::change_gap(AddressRange before, AddressRange after) {
  const auto gap = gaps_.find(before.begin().value());
  gaps_.change_key(gap, after.begin().value());
  gap.value() = after.end().value();
  by_size_.change(before.size().value(), before.begin().value(), after.size().value(),
                  after.begin().value(), after.end().value());
}

// In each class the first gap that fits; all but the lowest classes fit at once.
std::optional<RegionAllocator::Place> RegionAllocator::find_lowest(Bytes size, Bytes alignment,
                                                                   DeviceAddress from) const {
  if (const auto around = gaps_.floor(from.value())) {
    const AddressRange gap = between(around.key(), around.value());
    if (const auto place = fit_low(gap, size, alignment, from)) {
      return Place{gap, *place};
    }
  }
  std::optional<Place> best;
  by_size_.for_each_from(size.value(), [&](const auto& gaps) {
    for (auto entry = gaps.above(from.value()); entry; entry = entry.next()) {
      if (best && entry.key() > best->gap.begin().value()) {
        break;
      }
      const AddressRange gap = between(entry.key(), entry.value());
      if (const auto place = fit_low(gap, size, alignment, from)) {
        best = Place{gap, *place};
        break;
      }
    }
  });
  return best;
}

std::optional<RegionAllocator::Place> RegionAllocator::find_highest(Bytes size,
                                                                    Bytes alignment) const {
  std::optional<Place> best;
  by_size_.for_each_from(size.value(), [&](const auto& gaps) {
    for (auto entry = gaps.last(); entry; entry = entry.previous()) {
      if (best && entry.key() < best->gap.begin().value()) {
        break;
      }
      const AddressRange gap = between(entry.key(), entry.value());
      if (const auto place = fit_high(gap, size, alignment)) {
        best = Place{gap, *place};
        break;
      }
    }
  });
  return best;
}

AddressRange RegionAllocator::take_at(const Place& place, Bytes size) {
  const AddressRange region(place.address, size);
  const AddressRange below(place.gap.begin(), region.begin() - place.gap.begin());
  const AddressRange above(region.end(), place.gap.end() - region.end());
  if (below.is_empty() && above.is_empty()) {
    remove_gap(place.gap);
    return region;
  }
  change_gap(place.gap, below.is_empty() ? above : below);
  if (!below.is_empty()) {
    add_gap(above);
  }
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
  const auto around = gaps_.floor(region.begin().value());
  const auto after = around ? around.next() : gaps_.begin();
  const bool joins_above = after && after.key() == region.end().value();
  const bool joins_below = around && around.value() == region.begin().value();
  const AddressRange above = joins_above ? between(after.key(), after.value()) : AddressRange();
  const AddressRange below = joins_below ? between(around.key(), around.value()) : AddressRange();
  const DeviceAddress begin = joins_below ? below.begin() : region.begin();
  const DeviceAddress end = joins_above ? above.end() : region.end();
  const AddressRange merged(begin, end - begin);
  if (joins_above && joins_below) {
    remove_gap(above);
    change_gap(below, merged);
  } else if (joins_above || joins_below) {
    change_gap(joins_above ? above : below, merged);
  } else {
    add_gap(merged);
  }
}

std::string RegionAllocator::check_invariants() const {
  if (by_size_.size() != gaps_.size()) {
    return "the classes do not list every gap once";
  }
  std::uint64_t last_end = 0;
  for (auto gap = gaps_.begin(); gap; gap = gap.next()) {
    if (gap.key() >= gap.value() || (last_end != 0 && gap.key() <= last_end)) {
      return "gaps are empty, overlap or touch";
    }
    if (!by_size_.contains(gap.value() - gap.key(), gap.key())) {
      return "a gap is listed in the wrong class";
    }
    last_end = gap.value();
  }
  return gaps_.check_invariants();
}

}  // namespace tessera::sim
