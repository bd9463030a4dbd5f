// Operations of programs, and their operands, as the tests write them.
#pragma once

#include <cstdint>

#include "tessera/testing/program.h"

namespace tessera::testing {

// So many granules and bytes into a slot's reservation.
constexpr Place reservation(std::uint8_t slot, std::int8_t granule = 0, std::int8_t byte = 0) {
  return {.base = SlotKind::reservation, .slot = slot, .granules = granule, .bytes = byte};
}
constexpr Op reserve(std::uint8_t slot, std::int16_t count) {
  return {.kind = OpKind::reserve, .result = slot, .size = granules(count)};
}

}  // namespace tessera::testing
