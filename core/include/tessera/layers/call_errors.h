// Which errors a call can give: what driver.h says in its comments, as data (call_errors.def).
#pragma once

#include <span>

#include "tessera/error.h"

namespace tessera {

// Those of the call itself first, then those that it shares with others; none for Call::none.
// A call can also give what work queued earlier met: that is listed only where driver.h says so.
[[nodiscard]] std::span<const ErrorCode> call_errors(Call call) noexcept;

}  // namespace tessera
