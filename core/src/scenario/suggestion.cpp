#include "scenario/suggestion.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tessera::scenario {
namespace {

// How many letters must be added, removed or changed to make one word of the other.
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t changed = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string_view> names) {
  // Longer words are none of ours, and comparing them would cost time for nothing.
  constexpr std::size_t word_length_max = 40;
  if (word.empty() || word.size() > word_length_max) {
    return {};
  }
  std::string_view nearest;
  std::size_t nearest_distance = word.size() <= 3 ? 2 : 3;
  for (const std::string_view name : names) {
    const bool extends = name.size() > word.size() && word.size() >= 3 && name.starts_with(word);
    // `sz` for `size`: the letters in their order, some left out.
    std::size_t next = 0;
    for (const char letter : name) {
      next += next < word.size() && word[next] == letter ? 1U : 0U;
    }
    const bool abbreviates = word.size() >= 2 && next == word.size() && word[0] == name[0];
    const std::size_t distance = extends || abbreviates ? 1 : edit_distance(word, name);
    if (distance < nearest_distance) {
      nearest_distance = distance;
      nearest = name;
    }
  }
  return nearest.empty() ? std::string() : "; did you mean `" + std::string(nearest) + "`?";
}

std::string printable(std::string_view text) {
  constexpr std::size_t length_max = 60;
  constexpr std::string_view digits = "0123456789abcdef";
  std::string shown;
  for (const char letter : text.substr(0, length_max)) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte >= 0x20 && byte < 0x7f) {
      shown += letter;
    } else {
      shown += "\\x";
      shown += digits[byte >> 4U];
      shown += digits[byte & 0x0fU];
    }
  }
  return text.size() > length_max ? shown + "..." : shown;
}

}  // namespace tessera::scenario
