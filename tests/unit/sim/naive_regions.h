// What RegionAllocator does, byte by byte: to compare with. Slow and plain on purpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/address.h"

namespace tessera::sim {

inline AddressRange range(std::uint64_t begin, std::uint64_t end) {
  return {DeviceAddress(begin), Bytes(end - begin)};
}

class NaiveRegions {
 public:
  explicit NaiveRegions(const std::vector<AddressRange>& windows) {
    for (const AddressRange& window : windows) {
      give_back(window);
    }
  }

  [[nodiscard]] bool is_free(AddressRange wanted) const {
    for (std::uint64_t at = wanted.begin().value(); at < wanted.end().value(); ++at) {
      if (at >= free_.size() || !free_[at]) {
        return false;
      }
    }
    return true;
  }
  [[nodiscard]] std::optional<AddressRange> take_lowest(Bytes size, Bytes alignment,
                                                        DeviceAddress from) {
    for (std::uint64_t begin = from.value(); begin < free_.size(); ++begin) {
      const AddressRange wanted(DeviceAddress(begin), size);
      if (is_aligned(wanted.begin(), alignment) && is_free(wanted)) {
        set(wanted, false);
        return wanted;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<AddressRange> take_highest(Bytes size, Bytes alignment) {
    for (std::uint64_t begin = free_.size(); begin-- > 0;) {
      const AddressRange wanted(DeviceAddress(begin), size);
      if (is_aligned(wanted.begin(), alignment) && is_free(wanted)) {
        set(wanted, false);
        return wanted;
      }
    }
    return std::nullopt;
  }
  void take_exactly(AddressRange region) { set(region, false); }
  void give_back(AddressRange region) { set(region, true); }

 private:
  void set(AddressRange region, bool is_free) {
    if (region.end().value() > free_.size()) {
      free_.resize(region.end().value(), false);
    }
    for (std::uint64_t at = region.begin().value(); at < region.end().value(); ++at) {
      free_[at] = is_free;
    }
  }

  std::vector<bool> free_;
};

}  // namespace tessera::sim
