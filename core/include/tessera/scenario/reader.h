// Reads scenarios from text. Strict: what it does not know is an error that says where, what
// stands there and what could stand there. Any bytes can be given to it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "tessera/scenario/scenario.h"

namespace tessera::scenario {

struct ReadError {
  std::string file;
  std::uint32_t line = 0;    // from 1
  std::uint32_t column = 0;  // from 1, in bytes
  std::string found;         // the text that stands there; empty at a line's or the file's end
  std::string message;       // what is wrong with it, and what was expected
};

// "FILE:LINE:COLUMN: message"
[[nodiscard]] std::string to_string(const ReadError& error);

using ReadResult = std::variant<Scenario, ReadError>;

// `file` is the name that errors give.
[[nodiscard]] ReadResult read_scenario(std::string_view text, std::string_view file);

// One line of a case, `OP ARGS [=> ANSWER]`, with or without blanks around it.
[[nodiscard]] std::variant<Call, ReadError> read_call(std::string_view text);

}  // namespace tessera::scenario
