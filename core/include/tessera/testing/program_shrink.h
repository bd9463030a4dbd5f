// Makes a program that fails as small as it gets: fewer calls first, then plainer operands.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "tessera/testing/program.h"

namespace tessera::testing {

struct ShrinkLimits {
  std::size_t attempts = 20'000;  // programs tried at most
};

// `fails` says whether a program still fails; it is called often. The result fails, and no call can
// be left out of it. `program` itself fails.
[[nodiscard]] Program shrink(Program program, const std::function<bool(const Program&)>& fails,
                             const ShrinkLimits& limits = {});

// The same where many programs are tried at once for little more than one, in processes side by
// side: gives the index of the first program that still fails.
using FindFailing = std::function<std::optional<std::size_t>(std::span<const Program>)>;
[[nodiscard]] Program shrink_in_rounds(Program program, const FindFailing& find_failing,
                                       const ShrinkLimits& limits = {});

}  // namespace tessera::testing
