// SortedTable: addresses in order, each with a small value. Made for what the simulator does all
// the time: find the last key at or before an address, walk on from there, insert, erase.
//
// Keys lie in leaves of up to 64, leaves in a vector by their first key: two binary searches over
// contiguous numbers, where a std::map would chase pointers. tests/bench compares them.
//
// Not thread-safe. Cursors are valid until the next insert or erase.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/check.h"

namespace tessera::sim {

template <class Value>
class SortedTable {
  static constexpr std::size_t leaf_capacity = 64;

  struct Leaf {
    std::size_t count = 0;
    std::array<std::uint64_t, leaf_capacity> keys;
    std::array<Value, leaf_capacity> values;
  };

 public:
  // A place in the table, or its end.
  class Cursor {
   public:
    Cursor() = default;
    [[nodiscard]] explicit operator bool() const noexcept { return table_ != nullptr; }
    [[nodiscard]] std::uint64_t key() const noexcept { return leaf().keys[position_]; }
    [[nodiscard]] Value& value() const noexcept { return leaf().values[position_]; }
    // The next key's place.
    [[nodiscard]] Cursor next() const noexcept {
      if (position_ + 1 < leaf().count) {
        return Cursor(table_, leaf_, position_ + 1);
      }
      return leaf_ + 1 < table_->leaves_.size() ? Cursor(table_, leaf_ + 1, 0) : Cursor();
    }
    // The one before; the end before the first.
    [[nodiscard]] Cursor previous() const noexcept {
      if (position_ != 0) {
        return Cursor(table_, leaf_, position_ - 1);
      }
      return leaf_ != 0 ? Cursor(table_, leaf_ - 1, table_->leaves_[leaf_ - 1]->count - 1)
                        : Cursor();
    }

   private:
    friend class SortedTable;
    Cursor(SortedTable* table, std::size_t leaf, std::size_t position) noexcept
        : table_(table), leaf_(leaf), position_(position) {}
    [[nodiscard]] Leaf& leaf() const noexcept { return *table_->leaves_[leaf_]; }

    SortedTable* table_ = nullptr;
    std::size_t leaf_ = 0;
    std::size_t position_ = 0;
  };

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  [[nodiscard]] Cursor begin() const noexcept { return leaves_.empty() ? Cursor() : at(0, 0); }
  [[nodiscard]] Cursor last() const noexcept {
    return leaves_.empty() ? Cursor() : at(leaves_.size() - 1, leaves_.back()->count - 1);
  }
  // The last key <= `key`.
  [[nodiscard]] Cursor floor(std::uint64_t key) const noexcept {
    if (leaves_.empty() || key < first_keys_.front()) {
      return Cursor();
    }
    const std::size_t leaf = leaf_of(key);
    return at(leaf, upper_bound(*leaves_[leaf], key) - 1);
  }
  // The first key >= `key`.
  [[nodiscard]] Cursor ceiling(std::uint64_t key) const noexcept {
    const Cursor below = floor(key);
    if (!below) {
      return begin();
    }
    return below.key() == key ? below : below.next();
  }
  // The first key > `key`.
  [[nodiscard]] Cursor above(std::uint64_t key) const noexcept {
    const Cursor below = floor(key);
    return below ? below.next() : begin();
  }
  [[nodiscard]] Cursor find(std::uint64_t key) const noexcept {
    const Cursor below = floor(key);
    return below && below.key() == key ? below : Cursor();
  }

  // `key` is not in the table.
  void insert(std::uint64_t key, const Value& value) {
    if (leaves_.empty()) {
      leaves_.push_back(new_leaf());
      first_keys_.push_back(key);
    }
    std::size_t index = key < first_keys_.front() ? 0 : leaf_of(key);
    if (leaves_[index]->count == leaf_capacity) {
      split(index);
      index = key < first_keys_[index + 1] ? index : index + 1;
    }
    Leaf& leaf = *leaves_[index];
    const std::size_t position = leaf.count == 0 ? 0 : upper_bound(leaf, key);
    TESSERA_CHECK(position == 0 || leaf.keys[position - 1] != key);
    std::copy_backward(leaf.keys.begin() + offset(position), leaf.keys.begin() + offset(leaf.count),
                       leaf.keys.begin() + offset(leaf.count + 1));
    std::copy_backward(leaf.values.begin() + offset(position),
                       leaf.values.begin() + offset(leaf.count),
                       leaf.values.begin() + offset(leaf.count + 1));
    leaf.keys[position] = key;
    leaf.values[position] = value;
    ++leaf.count;
    ++size_;
    first_keys_[index] = leaf.keys[0];
  }

  // `key` lies between the same others as the one that it replaces.
  void change_key(Cursor place, std::uint64_t key) noexcept {
    Leaf& leaf = *leaves_[place.leaf_];
    leaf.keys[place.position_] = key;
    first_keys_[place.leaf_] = leaf.keys[0];
  }

  // Returns the place of the key that followed.
  Cursor erase(Cursor place) {
    Leaf& leaf = *leaves_[place.leaf_];
    const std::size_t position = place.position_;
    std::copy(leaf.keys.begin() + offset(position + 1), leaf.keys.begin() + offset(leaf.count),
              leaf.keys.begin() + offset(position));
    std::copy(leaf.values.begin() + offset(position + 1), leaf.values.begin() + offset(leaf.count),
              leaf.values.begin() + offset(position));
    --leaf.count;
    --size_;
    if (leaf.count == 0) {
      drop(place.leaf_);
      return place.leaf_ < leaves_.size() ? at(place.leaf_, 0) : Cursor();
    }
    first_keys_[place.leaf_] = leaf.keys[0];
    if (position < leaf.count) {
      return place;
    }
    return place.leaf_ + 1 < leaves_.size() ? at(place.leaf_ + 1, 0) : Cursor();
  }

  // What is wrong, in words; empty when all is well.
  [[nodiscard]] std::string check_invariants() const {
    std::size_t count = 0;
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const Leaf& leaf = *leaves_[i];
      if (leaf.count == 0 || first_keys_[i] != leaf.keys[0]) {
        return "a leaf is empty or not listed by its first key";
      }
      for (std::size_t j = 0; j < leaf.count; ++j) {
        if (count != 0 && leaf.keys[j] <= last) {
          return "keys are out of order";
        }
        last = leaf.keys[j];
        ++count;
      }
    }
    return count == size_ ? "" : "the size is not the number of keys";
  }

 private:
  using Offset = std::ptrdiff_t;
  static constexpr Offset offset(std::size_t position) noexcept {
    return static_cast<Offset>(position);
  }
  [[nodiscard]] Cursor at(std::size_t leaf, std::size_t position) const noexcept {
    // Cursors of a const table give values to read; the table itself never is const data.
    return Cursor(const_cast<SortedTable*>(this), leaf, position);
  }
  // The leaf that holds `key` if any does; `key` is not before the first leaf.
  [[nodiscard]] std::size_t leaf_of(std::uint64_t key) const noexcept {
    // One call after another is about the same place: try the last leaf first.
    const std::size_t last = last_leaf_;
    const bool is_last = last < first_keys_.size() && first_keys_[last] <= key &&
                         (last + 1 == first_keys_.size() || key < first_keys_[last + 1]);
    if (!is_last) {
      last_leaf_ = count_up_to(first_keys_.data(), first_keys_.size(), key) - 1;
    }
    return last_leaf_;
  }
  [[nodiscard]] static std::size_t upper_bound(const Leaf& leaf, std::uint64_t key) noexcept {
    return count_up_to(leaf.keys.data(), leaf.count, key);
  }
  // How many of the sorted keys are <= `key`. There is at least one key. std::upper_bound branches
  // at each step, and the branches of a search are never foreseen; this compiles to none.
  [[nodiscard]] static std::size_t count_up_to(const std::uint64_t* keys, std::size_t size,
                                               std::uint64_t key) noexcept {
    const std::uint64_t* base = keys;
    while (size > 1) {
      const std::size_t half = size / 2;
      base += base[half - 1] <= key ? half : 0;
      size -= half;
    }
    return static_cast<std::size_t>(base - keys) + (*base <= key ? 1U : 0U);
  }
  void split(std::size_t index) {
    auto upper = new_leaf();
    Leaf& lower = *leaves_[index];
    // Ascending inserts at the end are common: leave the lower leaf nearly full then.
    const std::size_t keep =
        index + 1 == leaves_.size() ? leaf_capacity - leaf_capacity / 8 : leaf_capacity / 2;
    upper->count = lower.count - keep;
    std::copy_n(lower.keys.begin() + offset(keep), upper->count, upper->keys.begin());
    std::copy_n(lower.values.begin() + offset(keep), upper->count, upper->values.begin());
    lower.count = keep;
    first_keys_.insert(first_keys_.begin() + offset(index + 1), upper->keys[0]);
    leaves_.insert(leaves_.begin() + offset(index + 1), std::move(upper));
  }
  [[nodiscard]] std::unique_ptr<Leaf> new_leaf() {
    if (spare_ == nullptr) {
      return std::make_unique_for_overwrite<Leaf>();
    }
    spare_->count = 0;
    return std::move(spare_);
  }
  void drop(std::size_t index) {
    spare_ = std::move(leaves_[index]);
    first_keys_.erase(first_keys_.begin() + offset(index));
    leaves_.erase(leaves_.begin() + offset(index));
  }

  std::vector<std::uint64_t> first_keys_;
  std::vector<std::unique_ptr<Leaf>> leaves_;
  std::unique_ptr<Leaf> spare_;  // kept for a table that keeps emptying and filling
  std::size_t size_ = 0;
  mutable std::size_t last_leaf_ = 0;
};

}  // namespace tessera::sim
