// GrowthPolicy: how much a buffer that has to grow makes room for. Access and unmapping cost per
// piece of memory, not per byte (8 GiB: 312 ms in pieces of 2 MiB, 5 ms in pieces of 512 MiB
// [h200]), so few large pieces are cheap; what a step makes beyond the need is memory unused.
#pragma once

#include <cstdint>

#include "tessera/bytes.h"

namespace tessera {

class GrowthPolicy {
 public:
  // Doubling, in steps of 512 MiB at most.
  constexpr GrowthPolicy() noexcept = default;

  // What is needed, and no more.
  [[nodiscard]] static constexpr GrowthPolicy exact() noexcept { return factor(1); }
  // So many times as much as there is: factor(2), or factor(3, 2). At least 1: checked.
  [[nodiscard]] static constexpr GrowthPolicy factor(std::uint32_t numerator,
                                                     std::uint32_t denominator = 1) noexcept {
    TESSERA_CHECK(denominator != 0 && numerator >= denominator);
    GrowthPolicy policy;
    policy.numerator_ = numerator;
    policy.denominator_ = denominator;
    policy.largest_step_ = Bytes();
    return policy;
  }
  // In whole multiples of `size`; not zero: checked. Multiples of the granularity lose nothing.
  [[nodiscard]] static constexpr GrowthPolicy chunks(Bytes size) noexcept {
    TESSERA_CHECK(!size.is_zero());
    GrowthPolicy policy = exact();
    policy.chunk_ = size;
    return policy;
  }

  // The same with steps that go beyond the need up to `size` at most; zero: no limit.
  [[nodiscard]] constexpr GrowthPolicy in_steps_up_to(Bytes size) const noexcept {
    GrowthPolicy policy = *this;
    policy.largest_step_ = size;
    return policy;
  }
  // The same without a second try: by default, a step for which memory lacks is made as small as
  // the need, and only a lack of that is an error.
  [[nodiscard]] constexpr GrowthPolicy without_fallback() const noexcept {
    GrowthPolicy policy = *this;
    policy.falls_back_ = false;
    return policy;
  }
  [[nodiscard]] constexpr bool falls_back() const noexcept { return falls_back_; }

  // How much there should be when `need` (more than `capacity`) is needed; all three are multiples
  // of `granularity`, and so is the answer, which is at least `need`.
  [[nodiscard]] Bytes capacity_for(Bytes need, Bytes capacity, Bytes granularity) const noexcept;

  friend constexpr bool operator==(const GrowthPolicy&, const GrowthPolicy&) noexcept = default;

 private:
  std::uint32_t numerator_ = 2;
  std::uint32_t denominator_ = 1;
  Bytes chunk_ = {};  // zero: none
  Bytes largest_step_ = 512_MiB;
  bool falls_back_ = true;
};

}  // namespace tessera
