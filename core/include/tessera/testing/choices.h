// Choices: where a generator's decisions come from: a seed, or bytes that a fuzzer made up.
//
// Own arithmetic, so that a seed means the same program with every compiler and library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::testing {

class Choices {
 public:
  explicit Choices(std::uint64_t seed) noexcept : state_(seed) {}
  // The bytes outlive the object. After the last one every choice is the first.
  explicit Choices(std::span<const std::uint8_t> bytes) noexcept
      : bytes_(bytes), is_from_bytes_(true) {}

  // A number below `limit`, which is not zero.
  std::uint32_t below(std::uint32_t limit) noexcept {
    if (is_from_bytes_) {
      return next_number(limit);
    }
    return static_cast<std::uint32_t>((next() >> 32U) * limit >> 32U);
  }
  [[nodiscard]] bool chance(std::uint32_t percent) noexcept { return below(100) < percent; }
  // From `first` to `last`, both included.
  int between(int first, int last) noexcept {
    return first + static_cast<int>(below(static_cast<std::uint32_t>(last - first + 1)));
  }
  // One of the bits that are set in `set`, which has one.
  unsigned bit_of(std::uint32_t set) noexcept;

  [[nodiscard]] bool is_exhausted() const noexcept { return is_from_bytes_ && bytes_.empty(); }

 private:
  // splitmix64 (Sebastiano Vigna, public domain).
  std::uint64_t next() noexcept {
    state_ += 0x9e37'79b9'7f4a'7c15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ mixed >> 30U) * 0xbf58'476d'1ce4'e5b9;
    mixed = (mixed ^ mixed >> 27U) * 0x94d0'49bb'1331'11eb;
    return mixed ^ mixed >> 31U;
  }
  std::uint32_t next_number(std::uint32_t limit) noexcept {
    std::uint32_t number = 0;
    for (std::uint32_t left = limit - 1; left != 0 && !bytes_.empty(); left >>= 8U) {
      number = number << 8U | bytes_.front();
      bytes_ = bytes_.subspan(1);
    }
    return number % limit;
  }

  std::uint64_t state_ = 0;
  std::span<const std::uint8_t> bytes_;
  bool is_from_bytes_ = false;
};

}  // namespace tessera::testing
