#include "text.h"

#include <array>
#include <charconv>
#include <string_view>

namespace tessera::text {

std::string hexadecimal(std::uint64_t value) {
  std::array<char, 18> digits = {'0', 'x'};
  const auto written = std::to_chars(digits.data() + 2, digits.data() + digits.size(), value, 16);
  return {digits.data(), written.ptr};
}

std::string bytes(Bytes size) {
  struct Unit {
    Bytes size;
    std::string_view name;
  };
  constexpr std::array units = {Unit{1_TiB, " TiB"}, Unit{1_GiB, " GiB"}, Unit{1_MiB, " MiB"},
                                Unit{1_KiB, " KiB"}};
  const std::string plain = std::to_string(size.value());
  for (const Unit& unit : units) {
    if (!size.is_zero() && is_aligned(size, unit.size)) {
      return std::to_string(size / unit.size) + std::string(unit.name) + " (" + plain + ")";
    }
  }
  return plain + " bytes";
}

}  // namespace tessera::text
