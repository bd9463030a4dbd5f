// The built-in profiles, each in its own file (profile_NAME.cpp).
#pragma once

#include "tessera/sim/profile.h"

namespace tessera::sim {

[[nodiscard]] Profile h200_profile();
[[nodiscard]] Profile documented_profile();
[[nodiscard]] Profile v100_cuda102_profile();
[[nodiscard]] Profile wddm_profile();
[[nodiscard]] Profile tiny_profile();
[[nodiscard]] Profile odd_profile();

}  // namespace tessera::sim
