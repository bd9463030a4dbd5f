// What another process may send in place of a memory's description: nothing is accepted that would
// not be written the same way.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tessera/sharing/memory_description.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto decoded = tessera::message::decode(bytes)) {
    const auto again = tessera::message::encode(*decoded);
    TESSERA_CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  }
  static_cast<void>(tessera::message::decode_receipt(bytes));
  return 0;
}
