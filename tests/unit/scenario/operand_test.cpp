#include "tessera/scenario/operand.h"

#include <limits>

#include <gtest/gtest.h>

namespace tessera::scenario {
namespace {

using namespace symbols;

constexpr std::uint64_t granule = std::uint64_t{2} << 20U;

std::uint64_t value_of(const Operand& operand) {
  return operand.evaluate(granule, [](Symbol symbol) -> std::uint64_t {
    return symbol == r(0) ? 0x7f0000000000U : 0U;
  });
}

TEST(Operand, AddsItsTermsModulo64Bits) {
  EXPECT_EQ(value_of(Operand::of("r0+1u-4K")), 0x7f0000000000U + granule - 4096);
  EXPECT_EQ(value_of(Operand::of("2M+4K")), (std::uint64_t{2} << 20U) + 4096);
  EXPECT_EQ(value_of(Operand::of("r7-1")), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(value_of(Operand::of("max")), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(value_of(Operand::of("null")), 0U);
  EXPECT_EQ(value_of(Operand::of("0x7f00")), 0x7f00U);
  EXPECT_EQ(value_of(Operand::of("3T")), std::uint64_t{3} << 40U);
}

TEST(Operand, PrintsAsItWasWritten) {
  for (const char* text : {"r0", "a3+19u", "r1+0u", "2M+4K", "0xdeadbeef", "max", "null", "-1",
                           "primary1", "f12", "p0+1M-4096", "1u+2u+3u+4u+5u+6u"}) {
    EXPECT_EQ(to_string(Operand::of(text)), text);
  }
}

TEST(Operand, IsBuiltFromValues) {
  EXPECT_EQ(to_string(r(0) + granules(1) - Bytes(4096)), "r0+1u-4K");
  EXPECT_EQ(to_string(Operand(Bytes(3U << 20U))), "3M");
  EXPECT_EQ(to_string(Operand(Bytes(0))), "0");
  EXPECT_EQ(to_string(Operand(Bytes(4097))), "4097");
  EXPECT_EQ(to_string(Operand(DeviceAddress(0x7f00))), "0x7f00");
  EXPECT_EQ(to_string(Operand(DeviceAddress())), "null");
  EXPECT_EQ(h(2) + granules(1), Operand::of("h2+1u"));
  EXPECT_FALSE(Operand().is_given());
}

TEST(Operand, KnowsWhenItIsOneSymbol) {
  EXPECT_EQ(Operand::of("h3").symbol(), h(3));
  EXPECT_EQ(Operand::of("h3+1").symbol(), std::nullopt);
  EXPECT_EQ(Operand::of("3").symbol(), std::nullopt);
  EXPECT_EQ(Operand::of("-h3").symbol(), std::nullopt);
  EXPECT_EQ(Operand().symbol(), std::nullopt);
}

}  // namespace
}  // namespace tessera::scenario
