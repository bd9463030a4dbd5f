#include "tessera/scenario/operand.h"

#include <charconv>
#include <limits>

#include "scenario/field_text.h"

namespace tessera::scenario {
namespace {

constexpr std::array<std::string_view, symbol_kinds> symbol_prefixes = {
    "r", "a", "p", "h", "f", "c", "primary", "s", "e"};

struct Suffix {
  char letter;
  TermKind kind;
  unsigned shift;
};
// From the largest, so that the first that divides a size is the one it is written in.
constexpr std::array suffixes = {Suffix{'T', TermKind::tebi, 40}, Suffix{'G', TermKind::gibi, 30},
                                 Suffix{'M', TermKind::mebi, 20}, Suffix{'K', TermKind::kibi, 10}};

constexpr FieldError not_an_operand = {
    0, "a value such as r0, 2u, 4K, 0x7f00, max or null, or a sum of them"};

const Suffix* suffix_of(TermKind kind) noexcept {
  for (const Suffix& suffix : suffixes) {
    if (suffix.kind == kind) {
      return &suffix;
    }
  }
  return nullptr;
}

void append_number(std::string& out, std::uint64_t number, int base) {
  std::array<char, 20> digits = {};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr;
  out.append(digits.data(), end);
}

FieldResult parse_number(std::string_view text, Term& term) {
  const bool hexadecimal = text.substr(0, 2) == "0x";
  const char* first = text.data() + (hexadecimal ? 2 : 0);
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(first, last, term.number, hexadecimal ? 16 : 10);
  const FieldError too_big = {0, "a number below 2^64"};
  if (error == std::errc::result_out_of_range) {
    return too_big;
  }
  if (error != std::errc()) {
    return not_an_operand;
  }
  term.kind = hexadecimal ? TermKind::hexadecimal : TermKind::number;
  if (end == last) {
    return {};
  }
  if (!hexadecimal && end + 1 == last) {
    if (*end == 'u') {
      term.kind = TermKind::granules;
      return {};
    }
    for (const Suffix& suffix : suffixes) {
      if (*end == suffix.letter) {
        term.kind = suffix.kind;
        return term.number > std::numeric_limits<std::uint64_t>::max() >> suffix.shift
                   ? FieldResult(too_big)
                   : FieldResult();
      }
    }
  }
  return FieldError{static_cast<std::size_t>(end - text.data()),
                    "a unit (K, M, G, T or u), + or -, or the end of the value"};
}

FieldResult parse_term(std::string_view text, Term& term) {
  if (text.empty()) {
    return not_an_operand;
  }
  if (text.front() >= '0' && text.front() <= '9') {
    return parse_number(text, term);
  }
  if (text == "max" || text == "null") {
    term.kind = text == "max" ? TermKind::max : TermKind::null;
    return {};
  }
  Symbol symbol = {};
  if (parse_symbol(text, symbol)) {
    return not_an_operand;
  }
  term.kind = TermKind::symbol;
  term.symbol = symbol.kind;
  term.number = symbol.index;
  return {};
}

Operand hexadecimal(std::uint64_t value) noexcept {
  Operand operand;
  operand.add({.kind = TermKind::hexadecimal, .number = value});
  return operand;
}

}  // namespace

FieldResult parse_symbol(std::string_view text, Symbol& symbol) {
  constexpr FieldError error = {0, "a name such as r0, a0, p0, h0, f0, c0, s0 or e0"};
  const std::size_t digits = text.find_first_of("0123456789");
  if (digits == std::string_view::npos) {
    return error;
  }
  for (std::size_t kind = 0; kind < symbol_prefixes.size(); ++kind) {
    if (text.substr(0, digits) == symbol_prefixes[kind]) {
      symbol.kind = static_cast<SymbolKind>(kind);
      const char* last = text.data() + text.size();
      const auto [end, failure] = std::from_chars(text.data() + digits, last, symbol.index);
      return failure == std::errc() && end == last ? FieldResult() : FieldResult(error);
    }
  }
  return error;
}

FieldResult parse_operand(std::string_view text, Operand& operand) {
  operand = {};
  std::size_t position = 0;
  do {
    if (operand.size() == Operand::terms_max) {
      return FieldError{position, "a sum of at most 6 terms"};
    }
    Term term;
    if (position < text.size() &&
        (text[position] == '-' || (position > 0 && text[position] == '+'))) {
      term.negative = text[position] == '-';
      ++position;
    }
    const std::size_t end = std::min(text.find_first_of("+-", position), text.size());
    if (auto error = parse_term(text.substr(position, end - position), term)) {
      error->offset += position;
      return error;
    }
    operand.add(term);
    position = end;
  } while (position < text.size());
  return {};
}

Operand::Operand(Bytes size) noexcept {
  for (const Suffix& suffix : suffixes) {
    const std::uint64_t unit = std::uint64_t{1} << suffix.shift;
    if (!size.is_zero() && size.value() % unit == 0) {
      add({.kind = suffix.kind, .number = size.value() / unit});
      return;
    }
  }
  add({.number = size.value()});
}

Operand::Operand(DeviceAddress address) noexcept
    : Operand(address.is_null() ? null_operand() : hexadecimal(address.value())) {}

Operand::Operand(AllocationHandle handle) noexcept
    : Operand(handle.is_null() ? null_operand() : hexadecimal(handle.value())) {}

Operand Operand::of(std::string_view text) {
  Operand operand;
  TESSERA_CHECK(!parse_operand(text, operand).has_value());
  return operand;
}

Term Operand::term(std::size_t index) const noexcept {
  const unsigned tag = tags_[index];
  return {.kind = static_cast<TermKind>(tag & 0x0fU),
          .negative = (tag & negative_bit) != 0,
          .number = numbers_[index],
          .symbol = static_cast<SymbolKind>((tag & 0xf0U) >> 4U)};
}

std::optional<Symbol> Operand::symbol() const noexcept {
  const Term first = term(0);
  if (count_ != 1 || first.kind != TermKind::symbol || first.negative) {
    return std::nullopt;
  }
  return Symbol{first.symbol, static_cast<std::uint32_t>(first.number)};
}

std::uint64_t Operand::number_value(const Term& term, std::uint64_t granule) noexcept {
  if (const Suffix* suffix = suffix_of(term.kind)) {
    return term.number << suffix->shift;
  }
  switch (term.kind) {
    case TermKind::granules:
      return term.number * granule;
    case TermKind::max:
      return std::numeric_limits<std::uint64_t>::max();
    case TermKind::null:
      return 0;
    default:
      return term.number;
  }
}

Operand operator+(Operand left, const Operand& right) noexcept {
  for (std::size_t i = 0; i < right.size(); ++i) {
    left.add(right.term(i));
  }
  return left;
}

Operand operator-(Operand left, const Operand& right) noexcept {
  for (std::size_t i = 0; i < right.size(); ++i) {
    Term term = right.term(i);
    term.negative = !term.negative;
    left.add(term);
  }
  return left;
}

void print_to(std::string& out, Symbol symbol) {
  out += symbol_prefixes[static_cast<std::size_t>(symbol.kind)];
  append_number(out, symbol.index, 10);
}

void print_to(std::string& out, const Operand& operand) {
  for (std::size_t i = 0; i < operand.size(); ++i) {
    const Term term = operand.term(i);
    if (term.negative) {
      out += '-';
    } else if (i > 0) {
      out += '+';
    }
    switch (term.kind) {
      case TermKind::symbol:
        print_to(out, Symbol{term.symbol, static_cast<std::uint32_t>(term.number)});
        break;
      case TermKind::max:
        out += "max";
        break;
      case TermKind::null:
        out += "null";
        break;
      case TermKind::hexadecimal:
        out += "0x";
        append_number(out, term.number, 16);
        break;
      default:
        append_number(out, term.number, 10);
        if (const Suffix* suffix = suffix_of(term.kind)) {
          out += suffix->letter;
        } else if (term.kind == TermKind::granules) {
          out += 'u';
        }
    }
  }
}

std::string to_string(Symbol symbol) {
  std::string text;
  print_to(text, symbol);
  return text;
}

std::string to_string(const Operand& operand) {
  std::string text;
  print_to(text, operand);
  return text;
}

}  // namespace tessera::scenario
