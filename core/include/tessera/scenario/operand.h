// Symbol: a name that a scenario gives to what a call returned (r0, h3).
// Operand: a value as it is written, a sum of symbols and numbers (`r0+1u-4K`). It keeps its
// terms, so that it prints as it was read and can be evaluated on machines of any granularity.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/address.h"
#include "tessera/bytes.h"
#include "tessera/ids.h"

namespace tessera::scenario {

// The letter before the number says what kind of thing is named.
enum class SymbolKind : std::uint8_t {
  reservation,  // r: an address
  arena,        // a: an address too, of a reservation that a whole sequence works on
  pointer,      // p: an address of another allocation
  handle,       // h
  descriptor,   // f: a file descriptor
  context,      // c
  primary,      // primaryN: the primary context of device N
  stream,       // s
  event,        // e
};
inline constexpr std::size_t symbol_kinds = 9;

struct Symbol {
  SymbolKind kind;
  std::uint32_t index;

  friend constexpr auto operator<=>(Symbol, Symbol) noexcept = default;
};

// `r(0)`, `h(3)`: for code that builds operations.
namespace symbols {
constexpr Symbol r(std::uint32_t index) noexcept { return {SymbolKind::reservation, index}; }
constexpr Symbol a(std::uint32_t index) noexcept { return {SymbolKind::arena, index}; }
constexpr Symbol p(std::uint32_t index) noexcept { return {SymbolKind::pointer, index}; }
constexpr Symbol h(std::uint32_t index) noexcept { return {SymbolKind::handle, index}; }
constexpr Symbol f(std::uint32_t index) noexcept { return {SymbolKind::descriptor, index}; }
constexpr Symbol c(std::uint32_t index) noexcept { return {SymbolKind::context, index}; }
constexpr Symbol primary(std::uint32_t index) noexcept { return {SymbolKind::primary, index}; }
constexpr Symbol s(std::uint32_t index) noexcept { return {SymbolKind::stream, index}; }
constexpr Symbol e(std::uint32_t index) noexcept { return {SymbolKind::event, index}; }
}  // namespace symbols

// What one term of a sum is: a number in a unit, a named number, or a symbol.
enum class TermKind : std::uint8_t {
  number,
  hexadecimal,
  kibi,
  mebi,
  gibi,
  tebi,
  granules,
  max,   // 2^64-1
  null,  // 0
  symbol,
};

struct Term {
  TermKind kind = TermKind::number;
  bool negative = false;
  std::uint64_t number = 0;  // in the term's unit; for a symbol, its index
  SymbolKind symbol = SymbolKind::reservation;

  friend bool operator==(const Term&, const Term&) = default;
};

class Operand {
 public:
  static constexpr std::size_t terms_max = 6;

  constexpr Operand() noexcept = default;  // not given: a call's optional operand left out
  constexpr Operand(std::uint64_t number) noexcept { add({.number = number}); }
  constexpr Operand(Symbol symbol) noexcept {
    add({.kind = TermKind::symbol, .number = symbol.index, .symbol = symbol.kind});
  }
  // In the largest unit that divides it.
  Operand(Bytes size) noexcept;
  Operand(DeviceAddress address) noexcept;
  Operand(AllocationHandle handle) noexcept;
  // The text of an operand, which is right: checked. For text from outside, see parse_operand.
  [[nodiscard]] static Operand of(std::string_view text);

  [[nodiscard]] constexpr bool is_given() const noexcept { return count_ != 0; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return count_; }
  [[nodiscard]] Term term(std::size_t index) const noexcept;
  // The symbol, if the operand is nothing but one.
  [[nodiscard]] std::optional<Symbol> symbol() const noexcept;

  // There is room for the term: checked.
  constexpr void add(const Term& term) noexcept {
    TESSERA_CHECK(count_ < terms_max);
    numbers_[count_] = term.number;
    tags_[count_] = static_cast<std::uint16_t>(static_cast<unsigned>(term.kind) |
                                               static_cast<unsigned>(term.symbol) << 4U |
                                               (term.negative ? negative_bit : 0U));
    ++count_;
  }

  friend Operand operator+(Operand left, const Operand& right) noexcept;
  friend Operand operator-(Operand left, const Operand& right) noexcept;
  friend bool operator==(const Operand&, const Operand&) noexcept = default;

  // The sum modulo 2^64. `value_of` gives the value of a Symbol.
  template <class ValueOf>
  [[nodiscard]] std::uint64_t evaluate(std::uint64_t granule, ValueOf&& value_of) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const Term next = term(i);
      const std::uint64_t value =
          next.kind == TermKind::symbol
              ? value_of(Symbol{next.symbol, static_cast<std::uint32_t>(next.number)})
              : number_value(next, granule);
      sum = next.negative ? sum - value : sum + value;
    }
    return sum;
  }

 private:
  static constexpr unsigned negative_bit = 0x100U;
  [[nodiscard]] static std::uint64_t number_value(const Term& term, std::uint64_t granule) noexcept;

  // Terms apart in two arrays: operations hold several operands, and recordings many operations.
  std::array<std::uint64_t, terms_max> numbers_ = {};
  std::array<std::uint16_t, terms_max> tags_ = {};
  std::uint8_t count_ = 0;
};

// `u`: so many granules.
[[nodiscard]] constexpr Operand granules(std::uint64_t count) noexcept {
  Operand operand;
  operand.add({.kind = TermKind::granules, .number = count});
  return operand;
}
[[nodiscard]] constexpr Operand null_operand() noexcept {
  Operand operand;
  operand.add({.kind = TermKind::null});
  return operand;
}
[[nodiscard]] constexpr Operand max_operand() noexcept {
  Operand operand;
  operand.add({.kind = TermKind::max});
  return operand;
}

void print_to(std::string& out, Symbol symbol);
void print_to(std::string& out, const Operand& operand);
[[nodiscard]] std::string to_string(Symbol symbol);
[[nodiscard]] std::string to_string(const Operand& operand);

}  // namespace tessera::scenario
