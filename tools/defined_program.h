// Programs that mean the same on every driver: without calls that no documentation gives a meaning,
// such as the use of a handle that is dead, which ends the process on a real driver.
#pragma once

#include <cstdint>

#include "tessera/sim/profile.h"
#include "tessera/testing/program.h"

namespace tessera::tools {

// The program without the calls that crash a real driver, by the rules of the validation layer. The
// machine has such a profile and so many devices.
[[nodiscard]] testing::Program without_crashes(testing::Program program,
                                               const sim::Profile& profile, std::int32_t devices);

// The program with kernels that last longer than the calls around them on a real device, so that
// what happens while they run does so there, too.
[[nodiscard]] testing::Program with_long_kernels(testing::Program program);

}  // namespace tessera::tools
