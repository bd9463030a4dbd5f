// LiveBytes: a small book of the memory that is alive of what a layer saw being made.
//
// Physical memory lives while the layer sees a reference to it or a mapping of it; what mem_alloc
// and its kin gave, until it is freed. What a layer cannot see is not counted: descriptors that are
// still open, multicast bindings, memory that goes with its context.
// Not for several threads at once.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

#include "tessera/address.h"
#include "tessera/bytes.h"
#include "tessera/ids.h"

namespace tessera {

class LiveBytes {
 public:
  [[nodiscard]] Bytes total() const noexcept { return total_; }

  // What calls did that succeeded. Handles and addresses that the book does not know are passed
  // over: they were made elsewhere.
  void created(AllocationHandle handle, Bytes size);
  void referenced(AllocationHandle handle);
  void released(AllocationHandle handle);
  void mapped(DeviceAddress address, AllocationHandle handle);
  void unmapped(DeviceAddress address, Bytes size);
  void allocated(DeviceAddress address, Bytes size);
  void freed(DeviceAddress address);

 private:
  struct Memory {
    Bytes size;
    std::uint64_t references = 0;
    std::uint64_t mappings = 0;
  };
  void forget_if_gone(AllocationHandle handle);

  Bytes total_;
  std::unordered_map<AllocationHandle, Memory> memories_;
  std::map<DeviceAddress, AllocationHandle> mappings_;
  std::unordered_map<std::uint64_t, Bytes> allocations_;
};

}  // namespace tessera
