// Slab: objects named by their index, which is used again when they are freed. Their addresses stay
// as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "tessera/check.h"

namespace tessera::sim {

using SlabIndex = std::uint32_t;

template <class Object>
class Slab {
 public:
  [[nodiscard]] SlabIndex insert(Object object) {
    ++size_;
    if (!free_.empty()) {
      const SlabIndex index = free_.back();
      free_.pop_back();
      objects_[index] = std::move(object);
      return index;
    }
    objects_.push_back(std::move(object));
    return static_cast<SlabIndex>(objects_.size() - 1);
  }
  void erase(SlabIndex index) {
    objects_[index] = Object();
    free_.push_back(index);
    --size_;
  }
  [[nodiscard]] Object& operator[](SlabIndex index) noexcept { return objects_[index]; }
  [[nodiscard]] const Object& operator[](SlabIndex index) const noexcept { return objects_[index]; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // Indices below this may be in use.
  [[nodiscard]] SlabIndex limit() const noexcept { return static_cast<SlabIndex>(objects_.size()); }

 private:
  std::deque<Object> objects_;  // grows without moving, or keeping twice the room
  std::vector<SlabIndex> free_;
  std::size_t size_ = 0;
};

}  // namespace tessera::sim
