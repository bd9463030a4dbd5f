#include "sub_allocator.h"

#include <algorithm>
#include <iterator>

#include "tessera/check.h"

namespace tessera::sim {
namespace {

AddressRange range_of(DeviceAddress begin, DeviceAddress end) {
  return AddressRange(begin, end - begin);
}

}  // namespace

SubAllocator::SubAllocator(Bytes alignment) : alignment_(alignment) {
  TESSERA_CHECK(!alignment.is_zero());
}

SubAllocator::Blocks::iterator SubAllocator::block_of(DeviceAddress address) {
  const auto after = blocks_.upper_bound(address);
  TESSERA_CHECK(after != blocks_.begin());
  return std::prev(after);
}

std::optional<AddressRange> SubAllocator::allocate(Bytes size) {
  const auto rounded = checked_align_up(std::max(size, Bytes(1)), alignment_);
  if (!rounded) {
    return std::nullopt;
  }
  const auto gap = gaps_.first_fit(*rounded);
  if (!gap) {
    return std::nullopt;
  }
  const AddressRange part(gap->begin(), *rounded);
  if (gap->size() == *rounded) {
    gaps_.erase(gap->begin());
  } else {
    gaps_.replace(gap->begin(), range_of(part.end(), gap->end()));
  }
  parts_.emplace(part.begin().value(), part.size());
  ++block_of(part.begin())->second.parts;
  allocated_ += part.size();
  return part;
}

std::optional<AddressRange> SubAllocator::free(DeviceAddress address) {
  const auto found = parts_.find(address.value());
  TESSERA_CHECK(found != parts_.end());
  const AddressRange part(address, found->second);
  parts_.erase(found);
  allocated_ -= part.size();
  const auto block = block_of(address);
  add_gap(*block, part);
  if (--block->second.parts != 0) {
    return std::nullopt;
  }
  return range_of(block->first, block->second.end);
}

bool SubAllocator::owns(DeviceAddress address) const {
  return parts_.find(address.value()) != parts_.end();
}

// Joins it with its neighbours, but not across the border of two blocks: each can be taken away.
void SubAllocator::add_gap(const Blocks::value_type& block, AddressRange gap) {
  const AddressRange below = gaps_.last_before(gap.begin()).value_or(AddressRange());
  const bool joins_below = below.end() == gap.begin() && block.first <= below.begin();
  const AddressRange above = gaps_.at(gap.end()).value_or(AddressRange());
  const bool joins_above = !above.is_empty() && gap.end() < block.second.end;
  const AddressRange joined =
      range_of(joins_below ? below.begin() : gap.begin(), joins_above ? above.end() : gap.end());
  if (joins_below && joins_above) {
    gaps_.erase(above.begin());
  }
  if (joins_below || joins_above) {
    gaps_.replace(joins_below ? below.begin() : above.begin(), joined);
  } else {
    gaps_.insert(joined);
  }
}

void SubAllocator::add_block(AddressRange block) {
  TESSERA_CHECK(!block.is_empty());
  TESSERA_CHECK(is_aligned(block.begin(), alignment_) && is_aligned(block.size(), alignment_));
  const auto [added, is_new] = blocks_.emplace(block.begin(), Block{.end = block.end()});
  TESSERA_CHECK(is_new);
  TESSERA_CHECK(added == blocks_.begin() || std::prev(added)->second.end <= block.begin());
  TESSERA_CHECK(std::next(added) == blocks_.end() || block.end() <= std::next(added)->first);
  gaps_.insert(block);
}

void SubAllocator::remove_block(AddressRange block) {
  const auto found = blocks_.find(block.begin());
  TESSERA_CHECK(found != blocks_.end());
  TESSERA_CHECK(found->second.end == block.end() && found->second.parts == 0);
  gaps_.erase(block.begin());
  blocks_.erase(found);
}

std::vector<AddressRange> SubAllocator::empty_blocks() const {
  std::vector<AddressRange> empty;
  for (const auto& [begin, block] : blocks_) {
    if (block.parts == 0) {
      empty.push_back(range_of(begin, block.end));
    }
  }
  return empty;
}

std::vector<AddressRange> SubAllocator::blocks() const {
  std::vector<AddressRange> ranges;
  ranges.reserve(blocks_.size());
  for (const auto& [begin, block] : blocks_) {
    ranges.push_back(range_of(begin, block.end));
  }
  return ranges;
}

std::string SubAllocator::check_invariants() const {
  if (std::string fault = gaps_.check_invariants(); !fault.empty()) {
    return fault;
  }
  struct Piece {
    DeviceAddress end;
    bool is_gap;
  };
  std::map<DeviceAddress, Piece> pieces;
  for (const AddressRange gap : gaps_.gaps()) {
    pieces.emplace(gap.begin(), Piece{gap.end(), true});
  }
  Bytes sum;
  for (const auto& [begin, size] : parts_) {
    sum += size;
    if (!pieces.emplace(DeviceAddress(begin), Piece{DeviceAddress(begin) + size, false}).second) {
      return "I2: a part begins where a gap does";
    }
  }
  DeviceAddress last_end;
  auto piece = pieces.cbegin();
  for (const auto& [begin, block] : blocks_) {
    if (begin < last_end || !is_aligned(begin, alignment_) || !is_aligned(block.end, alignment_)) {
      return "I1: a block overlaps the one before, or is not aligned";
    }
    last_end = block.end;
    std::size_t parts = 0;
    bool after_gap = false;
    DeviceAddress place = begin;
    for (; place < block.end; ++piece) {
      if (piece == pieces.cend() || piece->first != place || (after_gap && piece->second.is_gap)) {
        return "I2: parts and gaps do not fill a block, or two gaps touch";
      }
      after_gap = piece->second.is_gap;
      parts += after_gap ? 0U : 1U;
      place = piece->second.end;
    }
    if (place != block.end) {
      return "I2: a part or gap leaves its block";
    }
    if (parts != block.parts) {
      return "I3: a block counts its parts wrongly";
    }
  }
  if (piece != pieces.cend()) {
    return "I2: a part or gap lies in no block";
  }
  return sum == allocated_ ? std::string() : "I4: the sum of the parts is wrong";
}

}  // namespace tessera::sim
