// How numbers are written in messages.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/bytes.h"

namespace tessera::text {

// "0x7f0000200000"
[[nodiscard]] std::string hexadecimal(std::uint64_t value);
// "2 MiB (2097152)", "6912 bytes": the largest unit that divides the size, and the plain number.
[[nodiscard]] std::string bytes(Bytes size);
// The pattern with its places filled: {0} plain, {0:x} as an address or handle, {0:b} as a size,
// {0:i} signed.
[[nodiscard]] std::string fill(std::string_view pattern,
                               const std::array<std::uint64_t, 3>& values);

}  // namespace tessera::text
