// Included into every source of a mutated tree (mutate.py): all mutants are compiled in at once,
// and the environment's TESSERA_MUTANT says which one is live. Never part of a real build.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>

namespace tessera_mutation {

inline const char* variable(const char* name) noexcept { return std::getenv(name); }

// The live one; none before the program's own variables are initialised.
inline const int live =
    variable("TESSERA_MUTANT") == nullptr ? 0 : std::atoi(variable("TESSERA_MUTANT"));

// With TESSERA_MUTANTS_REACHED, the numbers of all mutants that were passed are added to that file.
class Reached {
 public:
  Reached() noexcept : file_(variable("TESSERA_MUTANTS_REACHED")) {}
  Reached(const Reached&) = delete;
  Reached& operator=(const Reached&) = delete;
  ~Reached() {
    std::FILE* out = file_ == nullptr ? nullptr : std::fopen(file_, "a");
    if (out == nullptr) {
      return;
    }
    std::string text;
    for (std::size_t i = 0; i < passed_.size(); ++i) {
      if (passed_[i]) {
        text += std::to_string(i) + "\n";
      }
    }
    std::fwrite(text.data(), 1, text.size(), out);
    std::fclose(out);
  }
  void pass(int mutant) noexcept {
    if (file_ != nullptr) {
      passed_[static_cast<std::size_t>(mutant) % passed_.size()] = true;
    }
  }

 private:
  const char* file_;
  std::array<bool, 40'000> passed_ = {};
};
inline Reached reached;

// What is computed at compile time is never mutated.
constexpr bool on(int mutant) noexcept {
  if (std::is_constant_evaluated()) {
    return false;
  }
  reached.pass(mutant);
  return live == mutant;
}

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
