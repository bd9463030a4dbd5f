#include "profile_text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace tessera::sim {
namespace {

struct Unit {
  std::string_view name;
  Bytes size;
};
// Largest first.
constexpr std::array units = {Unit{"TiB", 1_TiB}, Unit{"GiB", 1_GiB}, Unit{"MiB", 1_MiB},
                              Unit{"KiB", 1_KiB}, Unit{"B", 1_B}};

constexpr std::array all_calls = {
#define TESSERA_CALL(method, cuda_name) Call::method,
#include "tessera/calls.def"
#undef TESSERA_CALL
};

// Digits and nothing else.
std::optional<std::uint64_t> number_from_text(std::string_view text, int base) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (text.empty() || error != std::errc() || stop != end) {
    return std::nullopt;
  }
  return value;
}

// How many characters to insert, remove or change to make one of the other (Levenshtein).
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i] = i;
  }
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t change = diagonal + (left[i] == right[j] ? 0U : 1U);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string size_text(Bytes size) {
  for (const Unit& unit : units) {
    if (unit.size > 1_B && !size.is_zero() && is_aligned(size, unit.size)) {
      return std::to_string(size / unit.size) + " " + std::string(unit.name);
    }
  }
  return std::to_string(size.value());
}

std::optional<Bytes> size_from_text(std::string_view text) {
  Bytes scale = 1_B;
  for (const Unit& unit : units) {
    if (text.ends_with(unit.name)) {
      text.remove_suffix(unit.name.size());
      scale = unit.size;
      break;
    }
  }
  if (text.ends_with(' ')) {
    text.remove_suffix(1);
  }
  const auto number = number_from_text(text, 10);
  return number ? checked_multiply(scale, *number) : std::nullopt;
}

std::string address_text(DeviceAddress address) {
  std::array<char, 16> digits = {};
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), address.value(), 16);
  return "0x" + std::string(digits.data(), end);
}

std::optional<DeviceAddress> address_from_text(std::string_view text) {
  if (!text.starts_with("0x")) {
    return std::nullopt;
  }
  const auto number = number_from_text(text.substr(2), 16);
  return number ? std::optional(DeviceAddress(*number)) : std::nullopt;
}

std::string range_text(AddressRange range) {
  return "[" + address_text(range.begin()) + ", " + address_text(range.end()) + ")";
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string result = "\"";
  for (const char character : text.substr(0, longest)) {
    const bool is_printable = character >= ' ' && character <= '~';
    result += is_printable ? character : '?';
  }
  return result + (text.size() > longest ? "...\"" : "\"");
}

HandleTypeNames handle_type_names() {
  static constexpr std::array<std::pair<std::string_view, HandleTypes>, 4> names = {{
      {"posix_file_descriptor", HandleTypes::posix_file_descriptor},
      {"win32", HandleTypes::win32},
      {"win32_kmt", HandleTypes::win32_kmt},
      {"fabric", HandleTypes::fabric},
  }};
  return names;
}

HandleTypes known_handle_types() {
  HandleTypes known = HandleTypes::none;
  for (const auto& [name, type] : handle_type_names()) {
    known = known | type;
  }
  return known;
}

bool is_call(Call call) {
  return std::find(all_calls.begin(), all_calls.end(), call) != all_calls.end();
}

std::optional<Call> call_from_name(std::string_view name) {
  for (const Call call : all_calls) {
    if (method_name(call) == name) {
      return call;
    }
  }
  return std::nullopt;
}

const std::vector<std::string_view>& call_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    all.reserve(all_calls.size());
    for (const Call call : all_calls) {
      all.push_back(method_name(call));
    }
    return all;
  }();
  return names;
}

std::string suggestion(std::string_view name, std::span<const std::string_view> known) {
  constexpr std::size_t longest = 64;
  if (name.size() > longest) {
    return {};
  }
  std::string_view nearest;
  // One letter and a third of them may differ: more is another word.
  std::size_t least = name.size() / 3 + 2;
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest.empty() ? std::string() : "; did you mean " + in_quotes(nearest) + "?";
}

}  // namespace tessera::sim
