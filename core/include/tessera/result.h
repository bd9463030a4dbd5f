// Result<T>: a value or an Error. Keeps the member names of std::expected, which clang 14 cannot
// compile, so that an alias can take its place one day. Out of memory is an answer that drives
// control flow here, so it stands in the signature; nothing throws.
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

#include "tessera/check.h"
#include "tessera/error.h"

namespace tessera {

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  using error_type = Error;

  // Both convert: a function says `return value;` or `return error;`.
  constexpr Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  constexpr Result(const Error& error) noexcept : state_(std::in_place_index<1>, error) {}

  [[nodiscard]] constexpr bool has_value() const noexcept { return state_.index() == 0; }
  explicit constexpr operator bool() const noexcept { return has_value(); }

  // Only where has_value().
  [[nodiscard]] constexpr T& value() & noexcept { return checked_value(); }
  [[nodiscard]] constexpr const T& value() const& noexcept {
    return const_cast<Result*>(this)->checked_value();
  }
  [[nodiscard]] constexpr T&& value() && noexcept { return std::move(checked_value()); }
  [[nodiscard]] constexpr T& operator*() & noexcept { return checked_value(); }
  [[nodiscard]] constexpr const T& operator*() const& noexcept { return value(); }
  [[nodiscard]] constexpr T&& operator*() && noexcept { return std::move(checked_value()); }
  [[nodiscard]] constexpr T* operator->() noexcept { return &checked_value(); }
  [[nodiscard]] constexpr const T* operator->() const noexcept { return &value(); }

  // Only where !has_value().
  [[nodiscard]] constexpr const Error& error() const noexcept {
    const Error* error = std::get_if<1>(&state_);
    TESSERA_CHECK(error != nullptr);
    return *error;
  }

  template <class Fallback>
  [[nodiscard]] constexpr T value_or(Fallback&& fallback) const& {
    return has_value() ? value() : static_cast<T>(std::forward<Fallback>(fallback));
  }
  template <class Fallback>
  [[nodiscard]] constexpr T value_or(Fallback&& fallback) && {
    return has_value() ? std::move(checked_value())
                       : static_cast<T>(std::forward<Fallback>(fallback));
  }
  // `next` takes the value and returns a Result.
  template <class Next>
  constexpr auto and_then(Next&& next) && -> std::invoke_result_t<Next, T&&> {
    if (!has_value()) {
      return error();
    }
    return std::forward<Next>(next)(std::move(checked_value()));
  }
  // `change` takes the value and returns another.
  template <class Change>
  constexpr auto transform(Change&& change) && -> Result<std::invoke_result_t<Change, T&&>> {
    if (!has_value()) {
      return error();
    }
    return std::forward<Change>(change)(std::move(checked_value()));
  }

 private:
  constexpr T& checked_value() noexcept {
    T* value = std::get_if<0>(&state_);
    TESSERA_CHECK(value != nullptr);
    return *value;
  }

  std::variant<T, Error> state_;
};

// Success with nothing to say.
template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  using error_type = Error;

  constexpr Result() noexcept = default;
  constexpr Result(const Error& error) noexcept : error_(error), failed_(true) {}

  [[nodiscard]] constexpr bool has_value() const noexcept { return !failed_; }
  explicit constexpr operator bool() const noexcept { return has_value(); }
  [[nodiscard]] constexpr const Error& error() const noexcept {
    TESSERA_CHECK(failed_);
    return error_;
  }
  template <class Next>
  constexpr auto and_then(Next&& next) const -> std::invoke_result_t<Next> {
    if (failed_) {
      return error_;
    }
    return std::forward<Next>(next)();
  }

 private:
  Error error_ = {};
  bool failed_ = false;
};

using Status = Result<void>;

}  // namespace tessera

#define TESSERA_DETAIL_JOIN_2(left, right) left##right
#define TESSERA_DETAIL_JOIN(left, right) TESSERA_DETAIL_JOIN_2(left, right)

// Returns the error of `expression`, a Result, from the enclosing function; goes on if it has none.
#define TESSERA_TRY(expression)                                \
  do {                                                         \
    if (auto tessera_result = (expression); !tessera_result) { \
      return tessera_result.error();                           \
    }                                                          \
  } while (false)

// The same, and puts the value into `target`: TESSERA_TRY_ASSIGN(const auto size, size_of(x));
#define TESSERA_TRY_ASSIGN(target, expression) \
  TESSERA_DETAIL_TRY_ASSIGN(TESSERA_DETAIL_JOIN(tessera_result_, __LINE__), target, expression)
#define TESSERA_DETAIL_TRY_ASSIGN(result, target, expression) \
  auto result = (expression);                                 \
  if (!result) {                                              \
    return result.error();                                    \
  }                                                           \
  target = std::move(result).value()
