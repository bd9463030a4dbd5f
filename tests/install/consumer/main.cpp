// Uses a header alone and a function of the library, so that both are seen to be installed.
#include <cstdio>
#include <string>

#include "tessera/bytes.h"
#include "tessera/error.h"

int main() {
  using namespace tessera::literals;
  const tessera::Bytes rounded = tessera::align_up(5_MiB, 2_MiB);
  const std::string text = tessera::to_string(tessera::Error{});
  std::printf("5 MiB is %llu bytes in granules of 2 MiB; %s\n",
              static_cast<unsigned long long>(rounded.value()), text.c_str());
  return rounded == 6_MiB && !text.empty() ? 0 : 1;
}
