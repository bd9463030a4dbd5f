#include "tessera/scenario/compare.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "tessera/check.h"

namespace tessera::scenario {
namespace {

constexpr std::string_view any_value = "*";
// What cuMemAlloc promises of its addresses.
constexpr std::uint64_t alloc_alignment = 256;
constexpr std::uint64_t reserve_alignment_shown = std::uint64_t{2} << 20U;

std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

bool is_one_of(std::string_view alternatives, std::string_view result) {
  while (!alternatives.empty()) {
    if (take_until(alternatives, '|') == result) {
      return true;
    }
  }
  return false;
}

std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// An address may be better aligned on one machine than on another; not worse than was promised.
bool alignment_agrees(const Operation& operation, std::string_view expected, std::string_view got,
                      Bytes granule) {
  if (number_of(expected) == 0) {
    return expected == got;  // no alignment, or no number
  }
  std::uint64_t promised = std::min(number_of(expected), alloc_alignment);
  if (const auto* reserve = std::get_if<Reserve>(&operation)) {
    const std::uint64_t asked =
        reserve->alignment.evaluate(granule.value(), [](Symbol) { return std::uint64_t{0}; });
    promised = asked != 0 ? asked : std::min(number_of(expected), reserve_alignment_shown);
  }
  return number_of(got) >= promised;
}

// The begin of a range as a distance from a place in it. Where no begin is told, it is null, and
// the distance says only where the place lies.
bool begin_agrees(const Answer& expected, const Answer& got) {
  const auto is_untold = [](const Answer& answer) {
    const std::string_view distance = answer.find("rel").value_or("");
    return distance.starts_with('-') &&
           number_of(distance.substr(1)) >= number_of(answer.find("size").value_or("0"));
  };
  return is_untold(expected) ? is_untold(got) : got.find("rel") == expected.find("rel");
}

// `[call:RESULT ...]`: the calls that both name.
bool child_agrees(std::string_view expected, std::string_view got) {
  const auto inside = [](std::string_view text) {
    return text.size() < 2 ? text : text.substr(1, text.size() - 2);
  };
  std::string_view wanted_items = inside(expected);
  while (!wanted_items.empty()) {
    std::string_view wanted = take_until(wanted_items, ' ');
    const std::string_view name = take_until(wanted, ':');
    std::string_view got_items = inside(got);
    while (!got_items.empty()) {
      std::string_view item = take_until(got_items, ' ');
      if (take_until(item, ':') == name && item != wanted) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

bool agrees(const Call& call, const Answer& got, const CompareOptions& options) {
  TESSERA_CHECK(call.expected.has_value());
  const Answer& expected = *call.expected;
  if (expected.is_end()) {
    return !got.is_ok();
  }
  if (!is_one_of(expected.result(), got.result())) {
    return false;
  }
  // Extras belong to a result: where several are right, those of another say nothing.
  bool same = true;
  expected.for_each_extra([&](const Answer::Extra& extra) {
    if (extra.value == any_value || extra.key == "free" ||
        (extra.key == "used_delta" && !options.serial)) {
      return;
    }
    const auto value = got.find(extra.key);
    if (!value) {
      same = false;
    } else if (extra.key == "aligned") {
      same = same && alignment_agrees(call.operation, extra.value, *value, options.granule);
    } else if (extra.key == "rel" && std::holds_alternative<AddressRangeOf>(call.operation)) {
      same = same && begin_agrees(expected, got);
    } else if (extra.key == "child") {
      same = same && child_agrees(extra.value, *value);
    } else {
      same = same && *value == extra.value;
    }
  });
  return same;
}

Answer merge_answers(const Answer& first, const Answer& second) {
  if (first == second) {
    return first;
  }
  std::string results(first.result());
  std::string_view others = second.result();
  while (!others.empty()) {
    const std::string_view other = take_until(others, '|');
    if (!is_one_of(results, other)) {
      results += '|';
      results += other;
    }
  }
  const bool one_result = results == second.result() && results == first.result();
  Answer merged(results);
  first.for_each_extra([&](const Answer::Extra& extra) {
    const auto other = second.find(extra.key);
    merged.add(extra.key, one_result && other && *other == extra.value ? extra.value : any_value);
  });
  second.for_each_extra([&](const Answer::Extra& extra) {
    if (!first.find(extra.key)) {
      merged.add(extra.key, any_value);
    }
  });
  return merged;
}

}  // namespace tessera::scenario
