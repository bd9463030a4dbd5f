// Bytes: a number of bytes. Only what makes sense for a size compiles: sizes add, subtract and
// scale; a size divided by a size is a count. Plain operators check for overflow; `checked_*`
// return nothing instead.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>

#include "tessera/check.h"

namespace tessera {

class Bytes {
 public:
  constexpr Bytes() noexcept = default;
  explicit constexpr Bytes(std::uint64_t value) noexcept : value_(value) {}

  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }
  [[nodiscard]] constexpr bool is_zero() const noexcept { return value_ == 0; }

  friend constexpr auto operator<=>(Bytes, Bytes) noexcept = default;

  friend constexpr Bytes operator+(Bytes left, Bytes right) noexcept {
    TESSERA_CHECK_LE(left.value_, std::numeric_limits<std::uint64_t>::max() - right.value_);
    return Bytes(left.value_ + right.value_);
  }
  friend constexpr Bytes operator-(Bytes left, Bytes right) noexcept {
    TESSERA_CHECK_LE(right.value_, left.value_);
    return Bytes(left.value_ - right.value_);
  }
  friend constexpr Bytes operator*(Bytes size, std::uint64_t count) noexcept {
    if (count != 0) {
      TESSERA_CHECK_LE(size.value_, std::numeric_limits<std::uint64_t>::max() / count);
    }
    return Bytes(size.value_ * count);
  }
  friend constexpr Bytes operator*(std::uint64_t count, Bytes size) noexcept {
    return size * count;
  }
  // How often `right` fits into `left`; `right` is not zero.
  friend constexpr std::uint64_t operator/(Bytes left, Bytes right) noexcept {
    TESSERA_CHECK(right.value_ != 0);
    return left.value_ / right.value_;
  }
  friend constexpr Bytes operator%(Bytes left, Bytes right) noexcept {
    TESSERA_CHECK(right.value_ != 0);
    return Bytes(left.value_ % right.value_);
  }
  constexpr Bytes& operator+=(Bytes other) noexcept { return *this = *this + other; }
  constexpr Bytes& operator-=(Bytes other) noexcept { return *this = *this - other; }

 private:
  std::uint64_t value_ = 0;
};

[[nodiscard]] constexpr std::optional<Bytes> checked_add(Bytes left, Bytes right) noexcept {
  if (left.value() > std::numeric_limits<std::uint64_t>::max() - right.value()) {
    return std::nullopt;
  }
  return left + right;
}

[[nodiscard]] constexpr std::optional<Bytes> checked_multiply(Bytes size,
                                                              std::uint64_t count) noexcept {
  if (count != 0 && size.value() > std::numeric_limits<std::uint64_t>::max() / count) {
    return std::nullopt;
  }
  return size * count;
}

[[nodiscard]] constexpr bool is_power_of_two(Bytes size) noexcept {
  return size.value() != 0 && (size.value() & (size.value() - 1)) == 0;
}

// `granularity` is any size but zero; it need not be a power of two.
[[nodiscard]] constexpr bool is_aligned(Bytes size, Bytes granularity) noexcept {
  return (size % granularity).is_zero();
}

[[nodiscard]] constexpr Bytes align_down(Bytes size, Bytes granularity) noexcept {
  return size - size % granularity;
}

// Nothing when the next multiple does not fit into 64 bits.
[[nodiscard]] constexpr std::optional<Bytes> checked_align_up(Bytes size,
                                                              Bytes granularity) noexcept {
  const Bytes past = size % granularity;
  return past.is_zero() ? std::optional<Bytes>(size) : checked_add(size, granularity - past);
}

[[nodiscard]] constexpr Bytes align_up(Bytes size, Bytes granularity) noexcept {
  const Bytes past = size % granularity;
  return past.is_zero() ? size : size + (granularity - past);
}

inline namespace literals {

constexpr Bytes operator""_B(unsigned long long value) noexcept { return Bytes(value); }
constexpr Bytes operator""_KiB(unsigned long long value) noexcept {
  return Bytes(1ULL << 10U) * value;
}
constexpr Bytes operator""_MiB(unsigned long long value) noexcept {
  return Bytes(1ULL << 20U) * value;
}
constexpr Bytes operator""_GiB(unsigned long long value) noexcept {
  return Bytes(1ULL << 30U) * value;
}
constexpr Bytes operator""_TiB(unsigned long long value) noexcept {
  return Bytes(1ULL << 40U) * value;
}

}  // namespace literals
}  // namespace tessera
