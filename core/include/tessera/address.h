// DeviceAddress: a place in the address space that the host and all devices share.
// AddressRange: a half-open range [begin, end) of it that never wraps.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>

#include "tessera/bytes.h"

namespace tessera {

class DeviceAddress {
 public:
  constexpr DeviceAddress() noexcept = default;  // null
  explicit constexpr DeviceAddress(std::uint64_t value) noexcept : value_(value) {}

  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }
  [[nodiscard]] constexpr bool is_null() const noexcept { return value_ == 0; }

  friend constexpr auto operator<=>(DeviceAddress, DeviceAddress) noexcept = default;

  friend constexpr DeviceAddress operator+(DeviceAddress address, Bytes offset) noexcept {
    TESSERA_CHECK_LE(address.value_, std::numeric_limits<std::uint64_t>::max() - offset.value());
    return DeviceAddress(address.value_ + offset.value());
  }
  friend constexpr DeviceAddress operator-(DeviceAddress address, Bytes offset) noexcept {
    TESSERA_CHECK_LE(offset.value(), address.value_);
    return DeviceAddress(address.value_ - offset.value());
  }
  // The distance from `right` up to `left`.
  friend constexpr Bytes operator-(DeviceAddress left, DeviceAddress right) noexcept {
    TESSERA_CHECK_LE(right.value_, left.value_);
    return Bytes(left.value_ - right.value_);
  }

 private:
  std::uint64_t value_ = 0;
};

[[nodiscard]] constexpr std::optional<DeviceAddress> checked_add(DeviceAddress address,
                                                                 Bytes offset) noexcept {
  if (address.value() > std::numeric_limits<std::uint64_t>::max() - offset.value()) {
    return std::nullopt;
  }
  return address + offset;
}

[[nodiscard]] constexpr bool is_aligned(DeviceAddress address, Bytes granularity) noexcept {
  return is_aligned(Bytes(address.value()), granularity);
}

// An empty range contains nothing, intersects nothing, and is contained nowhere.
class AddressRange {
 public:
  constexpr AddressRange() noexcept = default;  // empty, at null
  // begin + size does not wrap: for values that may, use `make`.
  constexpr AddressRange(DeviceAddress begin, Bytes size) noexcept
      : begin_(begin), end_(begin + size) {}

  // Nothing when begin + size wraps.
  [[nodiscard]] static constexpr std::optional<AddressRange> make(DeviceAddress begin,
                                                                  Bytes size) noexcept {
    if (!checked_add(begin, size)) {
      return std::nullopt;
    }
    return AddressRange(begin, size);
  }

  [[nodiscard]] constexpr DeviceAddress begin() const noexcept { return begin_; }
  [[nodiscard]] constexpr DeviceAddress end() const noexcept { return end_; }
  [[nodiscard]] constexpr Bytes size() const noexcept { return end_ - begin_; }
  [[nodiscard]] constexpr bool is_empty() const noexcept { return begin_ == end_; }

  [[nodiscard]] constexpr bool contains(DeviceAddress address) const noexcept {
    return begin_ <= address && address < end_;
  }
  [[nodiscard]] constexpr bool contains(AddressRange inner) const noexcept {
    return !inner.is_empty() && begin_ <= inner.begin_ && inner.end_ <= end_;
  }
  [[nodiscard]] constexpr bool intersects(AddressRange other) const noexcept {
    return !is_empty() && !other.is_empty() && begin_ < other.end_ && other.begin_ < end_;
  }

  friend constexpr bool operator==(AddressRange, AddressRange) noexcept = default;

 private:
  DeviceAddress begin_;
  DeviceAddress end_;
};

}  // namespace tessera
