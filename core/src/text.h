// How numbers are written in messages.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/bytes.h"

namespace tessera::text {

// "0x7f0000200000"
[[nodiscard]] std::string hexadecimal(std::uint64_t value);
// "2 MiB (2097152)", "6912 bytes": the largest unit that divides the size, and the plain number.
[[nodiscard]] std::string bytes(Bytes size);

}  // namespace tessera::text
