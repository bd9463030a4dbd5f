#include "address_allocator.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tessera::sim {

AddressAllocator::AddressAllocator(const std::vector<AddressRange>& windows, Bytes block,
                                   Bytes granularity)
    : block_size_(block),
      granularity_(granularity),
      regions_(windows),
      next_age_(std::numeric_limits<std::uint64_t>::max()) {
  TESSERA_CHECK(is_power_of_two(granularity) && is_power_of_two(block) && block >= granularity);
}

Bytes AddressAllocator::longest_gap(const Block& block) noexcept {
  Bytes longest;
  for (const AddressRange& gap : block.gaps) {
    longest = std::max(longest, gap.size());
  }
  return longest;
}

std::optional<DeviceAddress> AddressAllocator::fit(const Block& block, Bytes size, Bytes alignment,
                                                   DeviceAddress from) {
  for (const AddressRange& gap : block.gaps) {
    const Bytes lowest(std::max(gap.begin(), from).value());
    const auto aligned = checked_align_up(lowest, alignment);
    if (!aligned) {
      continue;
    }
    const DeviceAddress place(aligned->value());
    if (place < gap.end() && gap.end() - place >= size) {
      return place;
    }
  }
  return std::nullopt;
}

template <class Change>
void AddressAllocator::change_gaps(SlabIndex index, Change&& change) {
  Block& block = blocks_[index];
  const std::uint64_t before = longest_gap(block).value();
  change(block);
  const std::uint64_t after = longest_gap(block).value();
  if (before != 0 && after != 0) {
    by_room_.change(before, block.age, after, block.age, index);
  } else if (before != 0) {
    by_room_.erase(before, block.age);
  } else {
    // What had no room gets some.
    TESSERA_CHECK(after != 0);
    by_room_.insert(after, block.age, index);
  }
}

AddressRange AddressAllocator::take_at(SlabIndex index, DeviceAddress place, Bytes size) {
  const AddressRange taken(place, size);
  change_gaps(index, [&taken](Block& block) {
    const auto gap = std::find_if(block.gaps.begin(), block.gaps.end(),
                                  [&](const AddressRange& free) { return free.contains(taken); });
    TESSERA_CHECK(gap != block.gaps.end());
    const AddressRange below(gap->begin(), taken.begin() - gap->begin());
    const AddressRange above(taken.end(), gap->end() - taken.end());
    if (below.is_empty() && above.is_empty()) {
      block.gaps.erase(gap);
    } else if (below.is_empty() || above.is_empty()) {
      *gap = below.is_empty() ? above : below;
    } else {
      *gap = above;
      block.gaps.insert(gap, below);
    }
  });
  return taken;
}

std::optional<SlabIndex> AddressAllocator::block_around(DeviceAddress address) const {
  const auto place = by_begin_.floor(address.value());
  if (!place || !blocks_[place.value()].range.contains(address)) {
    return std::nullopt;
  }
  return place.value();
}

std::optional<AddressRange> AddressAllocator::take_hint(const Request& request, Bytes alignment) {
  const auto index = block_around(request.hint);
  const auto wanted = AddressRange::make(request.hint, request.size);
  if (!index || !wanted || !is_aligned(request.hint, alignment)) {
    return std::nullopt;
  }
  const auto& gaps = blocks_[*index].gaps;
  const bool is_free = std::any_of(gaps.begin(), gaps.end(),
                                   [&](const AddressRange& gap) { return gap.contains(*wanted); });
  return is_free ? std::optional(take_at(*index, request.hint, request.size)) : std::nullopt;
}

std::optional<AddressRange> AddressAllocator::take_in_blocks(const Request& request,
                                                             Bytes alignment) {
  // Per class the newest block that fits; only in the lowest, or by alignment or hint, some do not.
  SizeClasses<SlabIndex>::Class::Cursor best;
  std::optional<DeviceAddress> place;
  by_room_.for_each_from(request.size.value(), [&](const auto& newest_first) {
    for (auto entry = newest_first.begin(); entry; entry = entry.next()) {
      if (best && entry.key() > best.key()) {
        break;
      }
      if (const auto fits = fit(blocks_[entry.value()], request.size, alignment, request.hint)) {
        best = entry;
        place = fits;
        break;
      }
    }
  });
  return best ? std::optional(take_at(best.value(), *place, request.size)) : std::nullopt;
}

SlabIndex AddressAllocator::add_block(Block block) {
  block.age = next_age_--;
  const std::uint64_t begin = block.range.begin().value();
  const std::uint64_t longest = longest_gap(block).value();
  const std::uint64_t age = block.age;
  const SlabIndex index = blocks_.insert(std::move(block));
  by_begin_.insert(begin, index);
  if (longest != 0) {
    by_room_.insert(longest, age, index);
  }
  return index;
}

void AddressAllocator::remove_block(SlabIndex index) {
  if (const std::uint64_t longest = longest_gap(blocks_[index]).value(); longest != 0) {
    by_room_.erase(longest, blocks_[index].age);
  }
  const AddressRange range = blocks_[index].range;
  by_begin_.erase(by_begin_.find(range.begin().value()));
  blocks_.erase(index);
  regions_.give_back(range);
}

std::optional<AddressRange> AddressAllocator::take_in_new_block(const Request& request,
                                                                Bytes alignment) {
  const auto size = checked_align_up(std::max(request.size, alignment), block_size_);
  if (!size) {
    return std::nullopt;
  }
  const Bytes block_alignment = std::max(alignment, block_size_);
  auto region = request.prefers_top ? regions_.take_highest(*size, block_alignment)
                                    : regions_.take_lowest(*size, block_alignment, request.hint);
  if (!region && !request.hint.is_null()) {
    region = regions_.take_lowest(*size, block_alignment, DeviceAddress());
  }
  if (!region) {
    return std::nullopt;
  }
  Block block;
  block.range = *region;
  if (const Bytes rest = *size - request.size; !rest.is_zero()) {
    block.gaps.emplace_back(region->begin() + request.size, rest);
  }
  add_block(std::move(block));
  return AddressRange(region->begin(), request.size);
}

std::optional<AddressRange> AddressAllocator::take(const Request& request) {
  if (request.size.is_zero()) {
    return std::nullopt;
  }
  TESSERA_CHECK(is_aligned(request.size, granularity_));
  const Bytes alignment = std::max(request.alignment, granularity_);
  if (!request.hint.is_null()) {
    if (const auto range = take_hint(request, alignment)) {
      return range;
    }
  }
  if (const auto range = take_in_blocks(request, alignment)) {
    return range;
  }
  if (const auto range = take_in_new_block(request, alignment)) {
    return range;
  }
  // Rather below the hint than nowhere.
  return request.hint.is_null()
             ? std::nullopt
             : take_in_blocks({.size = request.size, .alignment = alignment}, alignment);
}

void AddressAllocator::give_back(AddressRange range) {
  const auto index = block_around(range.begin());
  TESSERA_CHECK(index.has_value());
  Block& block = blocks_[*index];
  const bool fills_block = block.gaps.empty() && range == block.range;
  if (fills_block && !block.is_driver) {
    remove_block(*index);
    return;
  }
  change_gaps(*index, [&range](Block& changed) {
    auto above = std::lower_bound(
        changed.gaps.begin(), changed.gaps.end(), range.begin(),
        [](const AddressRange& gap, DeviceAddress begin) { return gap.begin() < begin; });
    TESSERA_CHECK(changed.range.contains(range));
    TESSERA_CHECK(above == changed.gaps.end() || range.end() <= above->begin());
    TESSERA_CHECK(above == changed.gaps.begin() || std::prev(above)->end() <= range.begin());
    AddressRange merged = range;
    if (above != changed.gaps.end() && above->begin() == merged.end()) {
      merged = AddressRange(merged.begin(), above->end() - merged.begin());
      above = changed.gaps.erase(above);
    }
    if (above != changed.gaps.begin() && std::prev(above)->end() == merged.begin()) {
      --above;
      *above = AddressRange(above->begin(), merged.end() - above->begin());
    } else {
      changed.gaps.insert(above, merged);
    }
  });
  const bool is_empty = block.gaps.size() == 1 && block.gaps.front() == block.range;
  if (is_empty && !block.is_driver) {
    remove_block(*index);
  }
}

std::optional<DeviceAddress> AddressAllocator::take_for_driver(
    Bytes size, const std::vector<AddressRange>& free) {
  const auto whole = checked_align_up(size, block_size_);
  const auto region = whole ? regions_.take_highest(*whole, block_size_) : std::nullopt;
  if (!region) {
    return std::nullopt;
  }
  // The last block made is the newest.
  for (auto range = free.rbegin(); range != free.rend(); ++range) {
    Block block;
    block.range = AddressRange(region->begin() + Bytes(range->begin().value()), range->size());
    block.gaps = {block.range};
    block.is_driver = true;
    add_block(std::move(block));
  }
  return region->begin();
}

std::string AddressAllocator::check_invariants() const {
  std::size_t with_room = 0;
  for (auto place = by_begin_.begin(); place; place = place.next()) {
    const Block& block = blocks_[place.value()];
    const Bytes longest = longest_gap(block);
    with_room += longest.is_zero() ? 0U : 1U;
    if (!longest.is_zero() && !by_room_.contains(longest.value(), block.age)) {
      return "a block is not listed under its longest gap";
    }
    DeviceAddress last_end;
    for (const AddressRange& gap : block.gaps) {
      const bool touches = !last_end.is_null() && gap.begin() <= last_end;
      if (!block.range.contains(gap) || touches) {
        return "gaps are empty, overlap, touch or leave their block";
      }
      last_end = gap.end();
    }
  }
  if (by_room_.size() != with_room || by_begin_.size() != blocks_.size()) {
    return "blocks are not listed once each";
  }
  if (std::string fault = by_begin_.check_invariants(); !fault.empty()) {
    return fault;
  }
  return regions_.check_invariants();
}

}  // namespace tessera::sim
