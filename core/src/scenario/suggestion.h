// Help in messages: what a misspelt word may have been meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tessera::scenario {

// "; did you mean `reserve`?" if one of `names` is near; else nothing.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string_view> names);

// The text with bytes that a terminal should not see written as \xNN, and not too long.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace tessera::scenario
