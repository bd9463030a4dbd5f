// Reasons that are not the simulator's but other libraries' of Tessera, and the test of each: what
// asserts the refusal, so that it fails where the rule is gone.
#pragma once

#include <map>
#include <string_view>

#include "tessera/error.h"

namespace tessera::rules_off {

// By reason: "Suite.Name" of a test below tests/unit.
[[nodiscard]] const std::map<Reason, std::string_view>& library_reasons();

}  // namespace tessera::rules_off
