// Writes scenarios as text. What the reader read comes out as it went in; what code built comes
// out in the one canonical spelling: keys in docs/scenarios.md's order, single blanks.
#pragma once

#include <string>
#include <string_view>

#include "tessera/scenario/scenario.h"

namespace tessera::scenario {

// The operation's name: "reserve".
[[nodiscard]] std::string_view operation_name(const Operation& operation) noexcept;

// "reserve r0 size=8u"
void print_to(std::string& out, const Operation& operation);
// A case with its calls, each line ended.
void print_to(std::string& out, const Case& scenario_case);
void print_to(std::string& out, const Scenario& scenario);

[[nodiscard]] std::string to_string(const Operation& operation);
[[nodiscard]] std::string to_string(const Case& scenario_case);
[[nodiscard]] std::string to_string(const Scenario& scenario);

}  // namespace tessera::scenario
