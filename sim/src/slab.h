// Slab: objects named by their index, which is used again when they are freed. Their addresses stay
// as they are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
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
      (*this)[index] = std::move(object);
      return index;
    }
    if (limit_ == chunk_size * chunks_.size()) {
      chunks_.push_back(std::make_unique<std::array<Object, chunk_size>>());
    }
    const SlabIndex index = limit_++;
    (*this)[index] = std::move(object);
    return index;
  }
  void erase(SlabIndex index) {
    (*this)[index] = Object();
    free_.push_back(index);
    --size_;
  }
  [[nodiscard]] Object& operator[](SlabIndex index) noexcept {
    return (*chunks_[index / chunk_size])[index % chunk_size];
  }
  [[nodiscard]] const Object& operator[](SlabIndex index) const noexcept {
    return (*chunks_[index / chunk_size])[index % chunk_size];
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // Indices below this may be in use.
  [[nodiscard]] SlabIndex limit() const noexcept { return limit_; }

 private:
  // Small: a machine that hardly anything happens on makes and ends a chunk of each kind.
  static constexpr SlabIndex chunk_size = 16;

  // Grows without moving what is there, or keeping room for twice as much.
  std::vector<std::unique_ptr<std::array<Object, chunk_size>>> chunks_;
  std::vector<SlabIndex> free_;
  std::size_t size_ = 0;
  SlabIndex limit_ = 0;
};

}  // namespace tessera::sim
