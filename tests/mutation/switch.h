// Included into every source of a mutated tree (mutate.py): all mutants are compiled in at once,
// and the environment's TESSERA_MUTANT says which one is live. Never part of a real build.
#pragma once

#include <cstdlib>
#include <type_traits>

namespace tessera_mutation {

inline int live() noexcept {
  static const int number = [] {
    const char* text = std::getenv("TESSERA_MUTANT");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  return number;
}

// What is computed at compile time is never mutated.
constexpr bool on(int mutant) noexcept { return !std::is_constant_evaluated() && live() == mutant; }

#define TESSERA_MUTATION_BINARY(name, op, other)                                                  \
  template <class Left, class Right>                                                              \
  constexpr auto name(int mutant, const Left& left, const Right& right) {                         \
    return on(mutant) ? static_cast<decltype(left op right)>(left other right) : (left op right); \
  }
TESSERA_MUTATION_BINARY(less, <, <=)
TESSERA_MUTATION_BINARY(less_equal, <=, <)
TESSERA_MUTATION_BINARY(greater, >, >=)
TESSERA_MUTATION_BINARY(greater_equal, >=, >)
TESSERA_MUTATION_BINARY(equal, ==, !=)
TESSERA_MUTATION_BINARY(not_equal, !=, ==)
TESSERA_MUTATION_BINARY(plus, +, -)
TESSERA_MUTATION_BINARY(minus, -, +)
TESSERA_MUTATION_BINARY(times, *, +)
#undef TESSERA_MUTATION_BINARY

template <class Right>
constexpr bool both(int mutant, bool left, const Right& right) {
  return on(mutant) ? left || right() : left && right();
}
template <class Right>
constexpr bool either(int mutant, bool left, const Right& right) {
  return on(mutant) ? left && right() : left || right();
}

constexpr bool flip(int mutant, bool value) noexcept { return on(mutant) ? !value : value; }

}  // namespace tessera_mutation
