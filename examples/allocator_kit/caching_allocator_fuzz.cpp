#include <cstdio>
#include <cstdlib>

#include "caching_allocator_kit.h"

using namespace tessera::testing;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const AllocatorReport report = check_allocator(caching_allocator(), Choices({data, size}));
  if (!report.passed()) {
    std::fputs(to_string(report).c_str(), stderr);
    std::abort();
  }
  return 0;
}
