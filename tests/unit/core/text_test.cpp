#include "text.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Text, WritesHexadecimalNumbers) {
  EXPECT_EQ(text::hexadecimal(0), "0x0");
  EXPECT_EQ(text::hexadecimal(0x7f00'0020'0000), "0x7f0000200000");
  EXPECT_EQ(text::hexadecimal(std::numeric_limits<std::uint64_t>::max()), "0xffffffffffffffff");
}

TEST(Text, WritesSizesInTheLargestUnitThatDividesThem) {
  EXPECT_EQ(text::bytes(0_B), "0 bytes");
  EXPECT_EQ(text::bytes(6912_B), "6912 bytes");
  EXPECT_EQ(text::bytes(1_KiB), "1 KiB (1024)");
  EXPECT_EQ(text::bytes(1_MiB + 1_KiB), "1025 KiB (1049600)");
  EXPECT_EQ(text::bytes(2_MiB), "2 MiB (2097152)");
  EXPECT_EQ(text::bytes(141_GiB), "141 GiB (151397597184)");
  EXPECT_EQ(text::bytes(1024_TiB), "1024 TiB (1125899906842624)");
  EXPECT_EQ(text::bytes(Bytes(std::numeric_limits<std::uint64_t>::max())),
            "18446744073709551615 bytes");
}

}  // namespace
}  // namespace tessera
