// JSON as a tree that knows where in the text each value stands, so that a fault found long after
// parsing can name its line. Refuses what JSON leaves open: a name twice in an object, deep
// nesting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tessera::sim {

struct TextPosition {
  std::size_t line = 1;
  std::size_t column = 1;  // in bytes
};
// "line 3, column 5"
[[nodiscard]] std::string to_string(TextPosition position);

struct JsonValue {
  enum class Kind : std::uint8_t { null, boolean, natural, negative, real, string, array, object };

  Kind kind = Kind::null;
  TextPosition position = {};
  bool boolean = false;
  std::uint64_t natural = 0;          // a whole number of zero or more
  std::int64_t negative = 0;          // a whole number below zero
  std::string text = {};              // of a string, or of a real number as it was written
  std::vector<JsonValue> items = {};  // of an array, or of an object with their names

  // Where this is a member of an object.
  std::string name = {};
  TextPosition name_position = {};
};

// The member of that name; null if there is none.
[[nodiscard]] const JsonValue* find_member(const JsonValue& object, std::string_view name);
// For messages: "the string \"two\"", "an array".
[[nodiscard]] std::string describe(const JsonValue& value);

struct JsonFault {
  TextPosition position;
  std::string message;
};

[[nodiscard]] std::variant<JsonValue, JsonFault> parse_json(std::string_view text);

}  // namespace tessera::sim
