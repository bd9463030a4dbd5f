#include "json_tree.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "profile_text.h"

namespace tessera::sim {
namespace {

constexpr std::size_t max_depth = 16;
// Finding a name goes through all of them.
constexpr std::size_t max_members = 1000;

// Reads the text for the parser and tells how far it has come.
class CountingIterator {
 public:
  using value_type = char;
  using difference_type = std::ptrdiff_t;

  CountingIterator(const char* place, const char** consumed) : place_(place), consumed_(consumed) {}
  const char& operator*() const { return *place_; }
  CountingIterator& operator++() {
    *consumed_ = ++place_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& left, const CountingIterator& right) {
    return left.place_ == right.place_;
  }

 private:
  const char* place_;
  const char** consumed_;
};

// Builds the tree from the parser's events. The parser says no positions: a value begins at the
// first character after the last event that is no blank and no separator. (After a number the
// parser has already read one character more, which then is a blank, a separator or an end.)
class TreeBuilder {
 public:
  using Json = nlohmann::json;
  using Kind = JsonValue::Kind;

  explicit TreeBuilder(std::string_view text) : text_(text), consumed_(text.data()) {}

  [[nodiscard]] const char** consumed() { return &consumed_; }
  [[nodiscard]] std::variant<JsonValue, JsonFault> result(bool is_parsed) && {
    if (fault_) {
      return *std::move(fault_);
    }
    if (!is_parsed) {
      return JsonFault{position(), "not JSON"};
    }
    return std::move(root_);
  }

  // --- What nlohmann's parser calls; false stops it ---

  bool null() { return add({.kind = Kind::null}); }
  bool boolean(bool value) { return add({.kind = Kind::boolean, .boolean = value}); }
  bool number_integer(Json::number_integer_t value) {
    return value < 0 ? add({.kind = Kind::negative, .negative = value})
                     : number_unsigned(static_cast<Json::number_unsigned_t>(value));
  }
  bool number_unsigned(Json::number_unsigned_t value) {
    return add({.kind = Kind::natural, .natural = value});
  }
  bool number_float(Json::number_float_t /*value*/, const std::string& text) {
    return add({.kind = Kind::real, .text = text});
  }
  bool string(std::string& value) { return add({.kind = Kind::string, .text = std::move(value)}); }
  bool binary(Json::binary_t& /*value*/) { return false; }  // not in JSON text
  bool start_object(std::size_t /*size*/) { return open({.kind = Kind::object}); }
  bool start_array(std::size_t /*size*/) { return open({.kind = Kind::array}); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    move_to_event();
    JsonValue& object = *open_.back();
    if (find_member(object, name) != nullptr) {
      fault_ = JsonFault{position_, in_quotes(name) + " stands here a second time"};
      return false;
    }
    if (object.items.size() == max_members) {
      fault_ = JsonFault{position_, "more than " + std::to_string(max_members) + " names"};
      return false;
    }
    object.items.push_back({.name = std::move(name), .name_position = position_});
    return true;
  }
  bool parse_error(std::size_t /*offset*/, const std::string& /*token*/,
                   const Json::exception& error) {
    move_to_event();
    fault_ = JsonFault{position_, "not JSON: " + cause(error.what())};
    return false;
  }

 private:
  // The library's text without its code and position, which are said in our own way, and without
  // the text last read, which can hold any bytes.
  static std::string cause(std::string_view what) {
    for (const std::string_view before : {"] ", "syntax error while parsing "}) {
      const std::size_t found = what.find(before);
      if (found != std::string_view::npos) {
        what.remove_prefix(found + before.size());
      }
    }
    const std::size_t read = std::min(what.find("; last read: '"), what.find(" parsing '"));
    if (read == std::string_view::npos) {
      return std::string(what);
    }
    const std::size_t expected = what.rfind("; expected ");
    return std::string(what.substr(0, read)) +
           std::string(expected < what.size() ? what.substr(expected) : std::string_view());
  }

  [[nodiscard]] TextPosition position() const { return position_; }

  void move_place_to(const char* place) {
    const char* from = text_.data() + place_;
    for (; from < place; ++from) {
      if (*from == '\n') {
        ++place_position_.line;
        place_position_.column = 1;
      } else {
        ++place_position_.column;
      }
    }
    place_ = static_cast<std::size_t>(from - text_.data());
  }

  void move_to_event() {
    const std::size_t begin = text_.find_first_not_of(" \t\r\n,:", place_);
    move_place_to(text_.data() + (begin == std::string_view::npos ? text_.size() : begin));
    position_ = place_position_;
    move_place_to(consumed_);
  }

  JsonValue* place_value(JsonValue value) {
    move_to_event();
    value.position = position_;
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    JsonValue& parent = *open_.back();
    if (parent.kind == Kind::object) {
      value.name = std::move(parent.items.back().name);
      value.name_position = parent.items.back().name_position;
      parent.items.back() = std::move(value);
    } else {
      parent.items.push_back(std::move(value));
    }
    return &parent.items.back();
  }

  bool add(JsonValue value) {
    place_value(std::move(value));
    return true;
  }

  // What is open does not move: only the innermost grows.
  bool open(JsonValue value) {
    JsonValue* placed = place_value(std::move(value));
    if (open_.size() == max_depth) {
      fault_ = JsonFault{position_, "nested deeper than " + std::to_string(max_depth)};
      return false;
    }
    open_.push_back(placed);
    return true;
  }

  bool close() {
    open_.pop_back();
    move_place_to(consumed_);
    return true;
  }

  std::string_view text_;
  const char* consumed_;
  std::size_t place_ = 0;  // what events have covered
  TextPosition place_position_;
  TextPosition position_;  // of the last event's begin
  JsonValue root_;
  std::vector<JsonValue*> open_;
  std::optional<JsonFault> fault_;
};

}  // namespace

std::string to_string(TextPosition position) {
  return "line " + std::to_string(position.line) + ", column " + std::to_string(position.column);
}

const JsonValue* find_member(const JsonValue& object, std::string_view name) {
  for (const JsonValue& member : object.items) {
    if (member.name == name) {
      return &member;
    }
  }
  return nullptr;
}

std::string describe(const JsonValue& value) {
  switch (value.kind) {
    case JsonValue::Kind::null:
      return "null";
    case JsonValue::Kind::boolean:
      return value.boolean ? "true" : "false";
    case JsonValue::Kind::natural:
      return std::to_string(value.natural);
    case JsonValue::Kind::negative:
      return std::to_string(value.negative);
    case JsonValue::Kind::real:
      return "the number " + in_quotes(value.text);
    case JsonValue::Kind::string:
      return "the string " + in_quotes(value.text);
    case JsonValue::Kind::array:
      return "an array";
    case JsonValue::Kind::object:
      return "an object";
  }
  return "something else";
}

std::variant<JsonValue, JsonFault> parse_json(std::string_view text) {
  TreeBuilder builder(text);
  const char* end = text.data() + text.size();
  const bool is_parsed =
      nlohmann::json::sax_parse(CountingIterator(text.data(), builder.consumed()),
                                CountingIterator(end, builder.consumed()), &builder);
  return std::move(builder).result(is_parsed);
}

}  // namespace tessera::sim
