#include "tessera/check.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace tessera::detail {

void check_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

void check_failed(const char* condition, std::uint64_t left, std::uint64_t right, const char* file,
                  int line) noexcept {
  std::fprintf(stderr, "%s:%d: check failed: %s (%" PRIu64 " and %" PRIu64 ")\n", file, line,
               condition, left, right);
  std::abort();
}

}  // namespace tessera::detail
