// An operation as text, by the table in schema.h.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tessera/scenario/operations.h"

namespace tessera::scenario {

// What is wrong in a text, and where in it.
struct TextError {
  const char* at = nullptr;
  std::string_view found = {};
  std::string message = {};
};

// The words of a line; `end` is where the last one ends. The first is the operation's name.
// False: `error` says why.
bool parse_operation(std::span<const std::string_view> words, Operation& operation,
                     TextError& error);

void print_operation(std::string& out, const Operation& operation);

}  // namespace tessera::scenario
