// A real driver says why in a number alone. Who called it knows the values, and adds them.
#pragma once

#include <array>
#include <cstdint>

#include "tessera/error.h"

namespace tessera::detail {

// `error` with this reason, unless it has one already, which then says more.
[[nodiscard]] inline Error with_reason(Error error, Reason reason,
                                       std::array<std::uint64_t, 3> values) noexcept {
  if (error.reason == Reason::none) {
    error.reason = reason;
    error.values = values;
  }
  return error;
}

}  // namespace tessera::detail
