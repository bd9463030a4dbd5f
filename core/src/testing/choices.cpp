#include "tessera/testing/choices.h"

#include <bit>

namespace tessera::testing {

unsigned Choices::bit_of(std::uint32_t set) noexcept {
  std::uint32_t skip = below(static_cast<std::uint32_t>(std::popcount(set)));
  while (skip-- > 0) {
    set &= set - 1;
  }
  return static_cast<unsigned>(std::countr_zero(set));
}

}  // namespace tessera::testing
