#include "address_space.h"

#include <bit>

namespace tessera::sim {
namespace {

AddressRange range_of(std::uint64_t begin, std::uint64_t size) noexcept {
  return {DeviceAddress(begin), Bytes(size)};
}

std::uint64_t device_bit(DeviceOrdinal device) noexcept {
  return std::uint64_t{1} << static_cast<unsigned>(device.value());
}

void set_bit(std::uint64_t& set, std::uint64_t bit, bool on) noexcept {
  set = on ? set | bit : set & ~bit;
}

}  // namespace

AccessFlags Mapping::access_of(DeviceOrdinal device) const noexcept {
  const std::uint64_t bit = device_bit(device);
  if ((device_write & bit) != 0) {
    return AccessFlags::read_write;
  }
  return (device_read & bit) != 0 ? AccessFlags::read : AccessFlags::none;
}

AddressSpace::AddressSpace(const std::vector<AddressRange>& windows, Bytes reservation_block,
                           Bytes granularity)
    : allocator_(windows, reservation_block, granularity),
      address_limit_(std::bit_ceil(windows.back().end().value())) {}

void AddressSpace::add_driver_addresses(Bytes size, const std::vector<AddressRange>& free,
                                        const std::vector<AddressRange>& mapped) {
  const auto base = allocator_.take_for_driver(size, free);
  if (!base) {
    return;  // no room: nobody would see them
  }
  for (const AddressRange& range : mapped) {
    const AddressRange block(*base + Bytes(range.begin().value()), range.size());
    if (!has_block_in(block)) {  // a program's mapping may have run past its reservation to here
      add_block(block, BlockKind::driver, 0);
    }
  }
}

std::optional<DeviceAddress> AddressSpace::reserve(Bytes size, Bytes alignment,
                                                   DeviceAddress hint) {
  const auto range = allocator_.take({.size = size, .alignment = alignment, .hint = hint});
  if (!range) {
    return std::nullopt;
  }
  reservations_.insert(range->begin().value(), size.value());
  reserved_ += size;
  return range->begin();
}

std::optional<AddressRange> AddressSpace::reservation_at(DeviceAddress address) const {
  const Reservations::Cursor place = reservations_.floor(address.value());
  if (!place || address.value() - place.key() >= place.value()) {
    return std::nullopt;
  }
  return range_of(place.key(), place.value());
}

void AddressSpace::free_reservation(AddressRange reservation) {
  const Reservations::Cursor place = reservations_.find(reservation.begin().value());
  TESSERA_CHECK(place && place.value() == reservation.size().value());
  reservations_.erase(place);
  reserved_ -= reservation.size();
  allocator_.give_back(reservation);
}

std::optional<AddressRange> AddressSpace::take_addresses(Bytes size, Bytes alignment) {
  // A mapping may lie where nothing is reserved: such addresses are passed over.
  std::vector<AddressRange> passed_over;
  auto range = allocator_.take({.size = size, .alignment = alignment, .prefers_top = true});
  while (range && has_block_in(*range)) {
    passed_over.push_back(*range);
    range = allocator_.take({.size = size, .alignment = alignment, .prefers_top = true});
  }
  for (const AddressRange& taken : passed_over) {
    allocator_.give_back(taken);
  }
  return range;
}

void AddressSpace::give_back_addresses(AddressRange range) { allocator_.give_back(range); }

Block AddressSpace::block_of(Blocks::Cursor place) {
  return {.range = range_of(place.key(), place.value().size),
          .index = place.value().index,
          .kind = place.value().kind};
}

std::optional<Block> AddressSpace::block_at(DeviceAddress address) const {
  const Blocks::Cursor place = blocks_.floor(address.value());
  if (!place || address.value() - place.key() >= place.value().size) {
    return std::nullopt;
  }
  return block_of(place);
}

std::optional<Block> AddressSpace::block_from(DeviceAddress address) const {
  const Blocks::Cursor place = blocks_.ceiling(address.value());
  return place ? std::optional(block_of(place)) : std::nullopt;
}

bool AddressSpace::has_block_in(AddressRange range) const {
  if (range.is_empty()) {
    return false;
  }
  const auto last = blocks_.floor(range.end().value() - 1);
  return last && block_of(last).range.intersects(range);
}

bool AddressSpace::cuts_block(AddressRange range) const {
  const auto first = block_at(range.begin());
  if (first && first->range.begin() < range.begin()) {
    return true;
  }
  if (first && first->range.end() >= range.end()) {
    return first->range.end() > range.end();
  }
  const auto last = block_at(range.end() - 1_B);
  return last && last->range.end() > range.end();
}

void AddressSpace::add_block(AddressRange range, BlockKind kind, SlabIndex index) {
  TESSERA_CHECK(!has_block_in(range));
  blocks_.insert(range.begin().value(),
                 {.size = range.size().value(), .index = index, .kind = kind});
}

void AddressSpace::remove_block(DeviceAddress begin) {
  const Blocks::Cursor place = blocks_.find(begin.value());
  TESSERA_CHECK(static_cast<bool>(place));
  blocks_.erase(place);
}

void AddressSpace::map(AddressRange range, SlabIndex handle, Bytes offset) {
  const SlabIndex index = mappings_.insert({.range = range, .handle = handle, .offset = offset});
  blocks_.insert(range.begin().value(),
                 {.size = range.size().value(), .index = index, .kind = BlockKind::mapping});
}

const Mapping* AddressSpace::mapping_at(DeviceAddress address) const {
  const auto block = block_at(address);
  return block && block->kind == BlockKind::mapping ? &mappings_[block->index] : nullptr;
}

void AddressSpace::count_access(bool before, bool after) noexcept {
  if (before != after) {
    accessible_ += after ? 1 : std::size_t(-1);
  }
}

void AddressSpace::set_access(SlabIndex mapping, DeviceOrdinal device, AccessFlags flags) {
  Mapping& changed = mappings_[mapping];
  const bool before = changed.is_accessible();
  if (device == DeviceOrdinal() && flags != changed.access_of(device)) {
    changed.is_host_latest = false;
  }
  set_bit(changed.device_read, device_bit(device), flags != AccessFlags::none);
  set_bit(changed.device_write, device_bit(device), flags == AccessFlags::read_write);
  count_access(before, changed.is_accessible());
}

void AddressSpace::set_host_access(SlabIndex mapping, AccessFlags flags) {
  Mapping& changed = mappings_[mapping];
  const bool before = changed.is_accessible();
  changed.is_host_latest = changed.is_host_latest || flags != changed.host;
  changed.host = flags;
  count_access(before, changed.is_accessible());
}

std::string AddressSpace::check_invariants() const {
  std::uint64_t last_end = 0;
  Bytes reserved;
  for (Reservations::Cursor place = reservations_.begin(); place; place = place.next()) {
    if (place.key() < last_end) {
      return "reservations overlap";
    }
    last_end = place.key() + place.value();
    reserved += Bytes(place.value());
  }
  if (reserved != reserved_) {
    return "the sum of the reservations is not what is kept";
  }
  last_end = 0;
  std::size_t mapped = 0;
  std::size_t accessible = 0;
  for (Blocks::Cursor place = blocks_.begin(); place; place = place.next()) {
    const Block block = block_of(place);
    if (place.key() < last_end) {
      return "blocks overlap";
    }
    last_end = block.range.end().value();
    if (block.kind == BlockKind::mapping) {
      ++mapped;
      accessible += mappings_[block.index].is_accessible() ? 1U : 0U;
      if (!(mappings_[block.index].range == block.range)) {
        return "a mapping is not where its block is";
      }
    }
  }
  if (mapped != mappings_.size() || accessible != accessible_) {
    return "mappings, or those with access, are miscounted";
  }
  for (const std::string& fault : {reservations_.check_invariants(), blocks_.check_invariants(),
                                   allocator_.check_invariants()}) {
    if (!fault.empty()) {
      return fault;
    }
  }
  return "";
}

}  // namespace tessera::sim
