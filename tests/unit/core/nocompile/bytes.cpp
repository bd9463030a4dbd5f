#include "tessera/bytes.h"

namespace {

using tessera::Bytes;
using namespace tessera::literals;

void take(Bytes /*size*/) {}

[[maybe_unused]] void use() {
  Bytes size = Bytes(4);
  size = size + 2_B * 3;
  take(size);
  [[maybe_unused]] const auto count = size / 2_B;
  static_cast<void>(size < 5_B);
#ifdef TESSERA_WRONG
  Bytes from_number = 4;              // no
  Bytes from_list = {4};              // no
  take(4);                            // no
  size = 4;                           // no
  size += 4;                          // no
  static_cast<void>(size + 4);        // no
  static_cast<void>(4 - size);        // no
  static_cast<void>(size * size);     // no
  static_cast<void>(size / 2);        // no
  static_cast<void>(size % 2);        // no
  static_cast<void>(-size);           // no
  static_cast<void>(~size);           // no
  static_cast<void>(size & size);     // no
  static_cast<void>(size << 1);       // no
  ++size;                             // no
  size *= 2;                          // no
  static_cast<void>(size < 5);        // no
  static_cast<void>(size == 5);       // no
  static_cast<void>(size ? 1 : 0);    // no
  static_cast<void>(!size);           // no
  const unsigned long number = size;  // no
  static_cast<void>(1.5_MiB);         // no
  is_aligned(size, 2_B);              // no
  align_up(size, 2_B);                // no
  size.value();                       // no
#endif
}

}  // namespace
