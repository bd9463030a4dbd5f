// Rule: what a correct program keeps to, one entry of rules.def.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tessera/error.h"

namespace tessera {

// Where a rule comes from: the driver API's documentation; only recordings of real drivers;
// other drivers, or later ones, that do not take what this one takes.
enum class RuleSource : std::uint8_t { documented, observed, portability };

// What a real driver does when it is broken: answers with an error; says OK; ends the process; says
// OK, and every context of the process is lost later.
enum class Consequence : std::uint8_t { refused, accepted_silently, crashes, lost_context };

struct Rule {
  RuleId id = RuleId::none;
  std::string_view name;   // "map_over_mapping"
  Call call = Call::none;  // none: several calls have it
  RuleSource source = RuleSource::documented;
  Consequence consequence = Consequence::refused;
  ErrorCode code = ErrorCode::invalid_value;  // what refuse mode answers
  std::string_view text;                      // the rule
  std::string_view done;     // what breaks it, with {places} for a finding's values
  std::string_view instead;  // what to do; may have {places} too
};

// All, in the order of their numbers.
[[nodiscard]] std::span<const Rule> all_rules() noexcept;
// The rule of that number; one without a name for none and for numbers that are no rule's.
[[nodiscard]] const Rule& rule_of(RuleId id) noexcept;
// none where no rule has the name.
[[nodiscard]] RuleId rule_named(std::string_view name) noexcept;

[[nodiscard]] std::string_view source_name(RuleSource source) noexcept;
[[nodiscard]] std::string_view consequence_name(Consequence consequence) noexcept;

}  // namespace tessera
