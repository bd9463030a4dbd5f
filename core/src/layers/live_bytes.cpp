#include "tessera/layers/live_bytes.h"

namespace tessera {

void LiveBytes::created(AllocationHandle handle, Bytes size) {
  if (memories_.try_emplace(handle, Memory{.size = size, .references = 1}).second) {
    total_ += size;
  }
}

void LiveBytes::referenced(AllocationHandle handle) {
  if (const auto found = memories_.find(handle); found != memories_.end()) {
    ++found->second.references;
  }
}

void LiveBytes::released(AllocationHandle handle) {
  const auto found = memories_.find(handle);
  if (found != memories_.end() && found->second.references != 0) {
    --found->second.references;
    forget_if_gone(handle);
  }
}

void LiveBytes::mapped(DeviceAddress address, AllocationHandle handle) {
  const auto found = memories_.find(handle);
  if (found != memories_.end() && mappings_.try_emplace(address, handle).second) {
    ++found->second.mappings;
  }
}

void LiveBytes::unmapped(DeviceAddress address, Bytes size) {
  const auto end = checked_add(address, size);
  auto next = mappings_.lower_bound(address);
  while (next != mappings_.end() && (!end || next->first < *end)) {
    const AllocationHandle handle = next->second;
    next = mappings_.erase(next);
    --memories_.at(handle).mappings;
    forget_if_gone(handle);
  }
}

void LiveBytes::allocated(DeviceAddress address, Bytes size) {
  if (!address.is_null() && allocations_.try_emplace(address.value(), size).second) {
    total_ += size;
  }
}

void LiveBytes::freed(DeviceAddress address) {
  if (const auto found = allocations_.find(address.value()); found != allocations_.end()) {
    total_ -= found->second;
    allocations_.erase(found);
  }
}

void LiveBytes::forget_if_gone(AllocationHandle handle) {
  const auto found = memories_.find(handle);
  if (found->second.references == 0 && found->second.mappings == 0) {
    total_ -= found->second.size;
    memories_.erase(found);
  }
}

}  // namespace tessera
