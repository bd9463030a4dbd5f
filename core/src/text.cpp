#include "text.h"

#include <array>
#include <charconv>
#include <string_view>

namespace tessera::text {
namespace {

std::string format_value(std::uint64_t value, char format) {
  switch (format) {
    case 'x':
      return hexadecimal(value);
    case 'b':
      return bytes(Bytes(value));
    case 'i':
      return std::to_string(static_cast<std::int64_t>(value));
    default:
      return std::to_string(value);
  }
}

}  // namespace

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

std::string fill(std::string_view pattern, const std::array<std::uint64_t, 3>& values) {
  std::string result;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool is_place = pattern[i] == '{' && i + 2 < pattern.size();
    if (!is_place) {
      result += pattern[i];
      continue;
    }
    const std::size_t close = pattern.find('}', i);
    const auto number = static_cast<std::size_t>(pattern[i + 1] - '0');
    const char format = pattern[i + 2] == ':' ? pattern[i + 3] : 'd';
    result += format_value(values.at(number), format);
    i = close;
  }
  return result;
}

}  // namespace tessera::text
