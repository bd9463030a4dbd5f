#include "scenario/operation_text.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "scenario/field_text.h"
#include "scenario/schema.h"
#include "scenario/suggestion.h"
#include "tessera/scenario/writer.h"

namespace tessera::scenario {
namespace {

template <class Op>
using Fields = std::remove_cvref_t<decltype(Schema<Op>::fields)>;

template <class Op, class Visit>
void for_each_field(Visit&& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, Schema<Op>::fields);
}

template <class Op>
std::vector<std::string_view> names_of_keys() {
  std::vector<std::string_view> names;
  for_each_field<Op>([&](const auto& field) {
    if (field.role != Role::positional) {
      names.push_back(field.name);
    }
  });
  return names;
}

// "reserve takes size, align, at"
template <class Op>
std::string usage() {
  std::string text(Schema<Op>::name);
  text += " takes ";
  const std::size_t begin = text.size();
  for_each_field<Op>([&](const auto& field) {
    if (text.size() != begin) {
      text += ", ";
    }
    text += field.name;
    text += field.role == Role::positional ? "" : "=";
  });
  return text.size() == begin ? text + "nothing" : text;
}

// The kinds of symbols, as "r0 or a0".
std::string names_of_kinds(SymbolKinds kinds) {
  std::string text;
  for (std::size_t kind = 0; kind < symbol_kinds; ++kind) {
    const auto symbol_kind = static_cast<SymbolKind>(kind);
    if ((kinds & bit(symbol_kind)) != 0) {
      text += (text.empty() ? "" : " or ") + to_string(Symbol{symbol_kind, 0});
    }
  }
  return text;
}

bool fail(TextError& error, std::string_view found, const char* at, std::string message) {
  error = {at, found, std::move(message)};
  return false;
}

// Reads the value of one field.
template <class FieldType, class Value>
bool parse_value(const FieldType& field, std::string_view text, Value& value, TextError& error) {
  if (const FieldResult wrong = parse_field(text, value)) {
    const std::string_view found = text.substr(wrong->offset);
    std::string message(field.name);
    message += field.role == Role::positional ? ": found " : "=: found ";
    message += found.empty() ? "nothing" : "`" + printable(found) + "`";
    message += ", expected ";
    message += wrong->expected;
    return fail(error, found, found.data(), std::move(message));
  }
  if constexpr (std::is_same_v<Value, Symbol>) {
    if ((field.kinds & bit(value.kind)) == 0) {
      return fail(error, text, text.data(),
                  std::string(field.name) + ": found `" + printable(text) +
                      "`, expected a name like " + names_of_kinds(field.kinds));
    }
  }
  return true;
}

template <class Op>
bool parse_key(std::string_view word, Op& operation, unsigned& seen, TextError& error) {
  const std::size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  bool right = true;
  bool known = false;
  unsigned index = 0;
  for_each_field<Op>([&](const auto& field) {
    if (!known && field.role != Role::positional && field.name == name &&
        equals != std::string_view::npos) {
      known = true;
      // A key given again replaces the value: recordings have such calls.
      seen |= 1U << index;
      right = parse_value(field, word.substr(equals + 1), field.get(operation), error);
    }
    ++index;
  });
  if (known) {
    return right;
  }
  if (equals == std::string_view::npos) {
    return fail(error, word, word.data(), "unexpected `" + printable(word) + "`; " + usage<Op>());
  }
  return fail(error, name, word.data(),
              "unknown key `" + printable(name) + "`" + did_you_mean(name, names_of_keys<Op>()) +
                  "; " + usage<Op>());
}

template <class Op>
bool parse_fields(std::span<const std::string_view> words, Op& operation, TextError& error) {
  std::size_t next = 1;
  unsigned seen = 0;
  unsigned index = 0;
  bool right = true;
  for_each_field<Op>([&](const auto& field) {
    if (right && field.role == Role::positional) {
      if (next == words.size()) {
        right = fail(error, {}, words.back().data() + words.back().size(),
                     std::string(field.name) + " is missing; " + usage<Op>());
      } else {
        right = parse_value(field, words[next], field.get(operation), error);
        ++next;
      }
    }
  });
  for (; right && next < words.size(); ++next) {
    right = parse_key(words[next], operation, seen, error);
  }
  for_each_field<Op>([&](const auto& field) {
    if (right && field.role == Role::required && (seen & (1U << index)) == 0) {
      right = fail(error, {}, words.back().data() + words.back().size(),
                   std::string(field.name) + "= is missing; " + usage<Op>());
    }
    ++index;
  });
  return right;
}

template <class Op>
void print_fields(std::string& out, const Op& operation) {
  out += Schema<Op>::name;
  for_each_field<Op>([&](const auto& field) {
    const auto& value = field.get(operation);
    if (field.role == Role::positional) {
      out += ' ';
      print_field(out, value);
    } else if (is_given(value)) {
      out += ' ';
      out += field.name;
      out += '=';
      print_field(out, value);
    }
  });
}

struct OperationType {
  std::string_view name;
  bool (*parse)(std::span<const std::string_view>, Operation&, TextError&);
};

template <std::size_t Index>
bool parse_as(std::span<const std::string_view> words, Operation& operation, TextError& error) {
  return parse_fields(words, operation.emplace<Index>(), error);
}

constexpr std::size_t operation_types = std::variant_size_v<Operation>;

template <std::size_t... Index>
constexpr std::array<OperationType, operation_types> make_table(std::index_sequence<Index...>) {
  std::array table = {OperationType{Schema<std::variant_alternative_t<Index, Operation>>::name,
                                    &parse_as<Index>}...};
  std::sort(table.begin(), table.end(), [](const OperationType& left, const OperationType& right) {
    return left.name < right.name;
  });
  return table;
}

// By name.
constexpr auto table = make_table(std::make_index_sequence<operation_types>());

}  // namespace

bool parse_operation(std::span<const std::string_view> words, Operation& operation,
                     TextError& error) {
  const std::string_view name = words.front();
  const auto found = std::lower_bound(
      table.begin(), table.end(), name,
      [](const OperationType& type, std::string_view wanted) { return type.name < wanted; });
  if (found != table.end() && found->name == name) {
    return found->parse(words, operation, error);
  }
  std::vector<std::string_view> names;
  names.reserve(table.size());
  for (const OperationType& type : table) {
    names.push_back(type.name);
  }
  const std::string suggestion = did_you_mean(name, names);
  return fail(error, name, name.data(),
              "unknown operation `" + printable(name) + "`" +
                  (suggestion.empty() ? "; expected one such as reserve, create or map, or `end`"
                                      : suggestion));
}

void print_operation(std::string& out, const Operation& operation) {
  std::visit([&](const auto& alternative) { print_fields(out, alternative); }, operation);
}

std::string_view operation_name(const Operation& operation) noexcept {
  return std::visit(
      [](const auto& alternative) {
        return Schema<std::remove_cvref_t<decltype(alternative)>>::name;
      },
      operation);
}

}  // namespace tessera::scenario
