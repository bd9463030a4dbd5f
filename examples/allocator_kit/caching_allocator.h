// An allocator as somebody may have written it for themselves: each block is a mapping of its own,
// and freed blocks are kept for the next allocation of their size, until memory runs out.
#pragma once

#include <map>

#include "tessera/driver.h"

class CachingAllocator {
 public:
  explicit CachingAllocator(tessera::Driver& driver) : driver_(driver) {}
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;
  ~CachingAllocator() {
    cached_.merge(used_);
    static_cast<void>(trim());
  }

  tessera::Result<tessera::DeviceAddress> allocate(tessera::Bytes size) {
    TESSERA_TRY_ASSIGN(const auto granule, driver_.mem_get_allocation_granularity({}));
    size = align_up(size, granule);
    for (auto block = cached_.begin(); block != cached_.end(); ++block) {
      if (block->second == size) {
        return used_.insert(cached_.extract(block)).position->first;
      }
    }
    auto address = map_memory(size);
    if (!address && address.error().code == tessera::ErrorCode::out_of_memory) {
      TESSERA_TRY(trim());
      address = map_memory(size);
    }
    if (address) {
      used_.emplace(*address, size);
    }
    return address;
  }

  tessera::Status free(tessera::DeviceAddress address) {
    cached_.insert(used_.extract(address));
    return {};
  }

 private:
  // Each step is undone when a later one fails.
  tessera::Result<tessera::DeviceAddress> map_memory(tessera::Bytes size) {
    TESSERA_TRY_ASSIGN(const auto address, driver_.mem_address_reserve({.size = size}));
    if (const auto filled = fill(address, size); !filled) {
      TESSERA_TRY(driver_.mem_address_free({.address = address, .size = size}));
      return filled.error();
    }
    return address;
  }

  tessera::Status fill(tessera::DeviceAddress address, tessera::Bytes size) {
    TESSERA_TRY_ASSIGN(const auto memory, driver_.mem_create({.size = size}));
    auto done = driver_.mem_map({.address = address, .size = size, .handle = memory});
    // The mapping alone keeps the memory from here on.
    TESSERA_TRY(driver_.mem_release(memory));
    TESSERA_TRY(done);
    const tessera::AccessDescriptor access = {.location = {},
                                              .flags = tessera::AccessFlags::read_write};
    done = driver_.mem_set_access({.address = address, .size = size, .descriptors = {&access, 1}});
    if (!done) {
      TESSERA_TRY(driver_.mem_unmap({.address = address, .size = size}));
    }
    return done;
  }

  tessera::Status trim() {
    while (!cached_.empty()) {
      const auto [address, size] = *cached_.begin();
      TESSERA_TRY(driver_.mem_unmap({.address = address, .size = size}));
      cached_.erase(cached_.begin());
      TESSERA_TRY(driver_.mem_address_free({.address = address, .size = size}));
    }
    return {};
  }

  tessera::Driver& driver_;
  std::map<tessera::DeviceAddress, tessera::Bytes> used_;
  std::map<tessera::DeviceAddress, tessera::Bytes> cached_;
};
