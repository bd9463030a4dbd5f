// SizeClasses: keys with their values, by a size's power of two, so that "the first entry that is
// large enough" is found by looking at the first of each class. Which classes are not empty is kept
// in a word, as most are.
//
// Not thread-safe.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "sorted_table.h"

namespace tessera::sim {

template <class Value>
class SizeClasses {
 public:
  using Class = SortedTable<Value>;
  static constexpr std::size_t class_count = 64;

  // Sizes of [2^i, 2^(i+1)) are in class i; `size` is not zero.
  [[nodiscard]] static std::size_t class_of(std::uint64_t size) noexcept {
    return static_cast<std::size_t>(std::bit_width(size)) - 1;
  }

  void insert(std::uint64_t size, std::uint64_t key, const Value& value) {
    const std::size_t index = class_of(size);
    classes_[index].insert(key, value);
    filled_ |= bit(index);
  }
  // `key` is there, under that size.
  void erase(std::uint64_t size, std::uint64_t key) {
    const std::size_t index = class_of(size);
    classes_[index].erase(classes_[index].find(key));
    if (classes_[index].empty()) {
      filled_ &= ~bit(index);
    }
  }
  // The same as erase and insert, for a key that comes to lie between the same others.
  void change(std::uint64_t size, std::uint64_t key, std::uint64_t new_size, std::uint64_t new_key,
              const Value& value) {
    if (class_of(size) != class_of(new_size)) {
      erase(size, key);
      insert(new_size, new_key, value);
      return;
    }
    Class& same = classes_[class_of(size)];
    const auto place = same.find(key);
    same.change_key(place, new_key);
    place.value() = value;
  }
  [[nodiscard]] bool contains(std::uint64_t size, std::uint64_t key) const {
    return static_cast<bool>(classes_[class_of(size)].find(key));
  }
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t count = 0;
    for (const Class& entries : classes_) {
      count += entries.size();
    }
    return count;
  }

  // Calls visit(const Class&) for each class that can hold `size`, if it is not empty. All entries
  // but those of the first class are large enough.
  template <class Visit>
  void for_each_from(std::uint64_t size, Visit&& visit) const {
    std::uint64_t left = filled_ & ~(bit(class_of(size)) - 1);
    for (; left != 0; left &= left - 1) {
      visit(classes_[static_cast<std::size_t>(std::countr_zero(left))]);
    }
  }

 private:
  static constexpr std::uint64_t bit(std::size_t index) noexcept {
    return std::uint64_t{1} << index;
  }

  std::array<Class, class_count> classes_;
  std::uint64_t filled_ = 0;
};

}  // namespace tessera::sim
