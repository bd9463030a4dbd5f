// Makes a program that fails as small as it gets: fewer calls first, then plainer operands.
#pragma once

#include <functional>

#include "tessera/testing/program.h"

namespace tessera::testing {

struct ShrinkLimits {
  std::size_t attempts = 20'000;  // programs tried at most
};

// `fails` says whether a program still fails; it is called often. The result fails, and no call can
// be left out of it. `program` itself fails.
[[nodiscard]] Program shrink(Program program, const std::function<bool(const Program&)>& fails,
                             const ShrinkLimits& limits = {});

}  // namespace tessera::testing
