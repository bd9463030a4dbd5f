// SizeClasses: sets of entries by a size's power of two, so that "the first entry that is large
// enough" is found by looking at the first of each class. Which classes are not empty is kept in a
// word, as most are.
//
// Not thread-safe.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

namespace tessera::sim {

template <class Entry>
class SizeClasses {
 public:
  static constexpr std::size_t class_count = 64;

  // Sizes of [2^i, 2^(i+1)) are in class i; `size` is not zero.
  [[nodiscard]] static std::size_t class_of(std::uint64_t size) noexcept {
    return static_cast<std::size_t>(std::bit_width(size)) - 1;
  }

  void insert(std::uint64_t size, const Entry& entry) {
    const std::size_t index = class_of(size);
    classes_[index].insert(entry);
    filled_ |= bit(index);
  }
  // `entry` is there, under that size.
  void erase(std::uint64_t size, const Entry& entry) {
    const std::size_t index = class_of(size);
    classes_[index].erase(entry);
    forget_if_empty(index);
  }
  // The same as erase and insert, without giving memory back and taking it again.
  void change(std::uint64_t size, const Entry& entry, std::uint64_t new_size,
              const Entry& new_entry) {
    const std::size_t before = class_of(size);
    const std::size_t after = class_of(new_size);
    if (before == after && entry == new_entry) {
      return;
    }
    auto node = classes_[before].extract(entry);
    forget_if_empty(before);
    node.value() = new_entry;
    classes_[after].insert(std::move(node));
    filled_ |= bit(after);
  }
  [[nodiscard]] bool contains(std::uint64_t size, const Entry& entry) const {
    return classes_[class_of(size)].contains(entry);
  }
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t count = 0;
    for (const auto& entries : classes_) {
      count += entries.size();
    }
    return count;
  }

  // Calls visit(const std::set<Entry>&) for each class that can hold `size`, if it is not empty.
  // All entries but those of the first class are large enough.
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
  void forget_if_empty(std::size_t index) noexcept {
    if (classes_[index].empty()) {
      filled_ &= ~bit(index);
    }
  }

  std::array<std::set<Entry>, class_count> classes_;
  std::uint64_t filled_ = 0;
};

}  // namespace tessera::sim
