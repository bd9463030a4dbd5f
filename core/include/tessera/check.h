// TESSERA_CHECK: what must hold unless the program has a bug. Always on; prints and aborts.
// Answers that a caller can meet at run time are Results (result.h), never checks.
#pragma once

#include <cstdint>

namespace tessera::detail {

[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;
[[noreturn]] void check_failed(const char* condition, std::uint64_t left, std::uint64_t right,
                               const char* file, int line) noexcept;

}  // namespace tessera::detail

#define TESSERA_CHECK(condition)                                       \
  do {                                                                 \
    if (!(condition)) [[unlikely]] {                                   \
      ::tessera::detail::check_failed(#condition, __FILE__, __LINE__); \
    }                                                                  \
  } while (false)

// The comparing form prints both sides.
#define TESSERA_CHECK_LE(left, right)                                                             \
  do {                                                                                            \
    const std::uint64_t tessera_left = (left);                                                    \
    const std::uint64_t tessera_right = (right);                                                  \
    if (!(tessera_left <= tessera_right)) [[unlikely]] {                                          \
      ::tessera::detail::check_failed(#left " <= " #right, tessera_left, tessera_right, __FILE__, \
                                      __LINE__);                                                  \
    }                                                                                             \
  } while (false)
