// Any bytes as a scenario: they are refused with the place of what is wrong, or what was read
// prints back to the same bytes. Printed anew, without the spelling that was read, it means the
// same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "tessera/check.h"
#include "tessera/scenario/reader.h"
#include "tessera/scenario/writer.h"

namespace tessera::scenario {
namespace {

constexpr std::string_view file = "fuzzed.vmm";

// The text from the error's place on; nothing where there is no such place.
void check_error(const ReadError& error, std::string_view text) {
  TESSERA_CHECK(error.file == file && !error.message.empty());
  // One line beyond the last is where something is missing at the end.
  const auto lines = static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  TESSERA_CHECK(error.line >= 1 && error.column >= 1 && error.line <= lines + 1);
  for (std::uint32_t line = 1; line < error.line; ++line) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  const std::string_view line = text.substr(0, text.find('\n'));
  TESSERA_CHECK(error.column <= line.size() + 1);
  TESSERA_CHECK(line.substr(error.column - 1).starts_with(error.found));
  const std::string place = std::string(file) + ':' + std::to_string(error.line) + ':' +
                            std::to_string(error.column) + ": ";
  const std::string printed = to_string(error);
  TESSERA_CHECK(printed.starts_with(place));
  // For a terminal: what was read is not to move its cursor.
  TESSERA_CHECK(std::all_of(printed.begin(), printed.end(), [](char character) {
    return static_cast<unsigned char>(character) >= ' ';
  }));
}

void check_anew(Scenario scenario) {
  for (Case& scenario_case : scenario.cases) {
    scenario_case.spelling = {};
    scenario_case.end_spelling = {};
    for (Call& call : scenario_case.calls) {
      call.spelling = {};
    }
  }
  const std::string text = to_string(scenario);
  const ReadResult again = read_scenario(text, file);
  const auto* read = std::get_if<Scenario>(&again);
  TESSERA_CHECK(read != nullptr && read->cases.size() == scenario.cases.size());
  TESSERA_CHECK(to_string(*read) == text);
  for (std::size_t i = 0; i < scenario.cases.size(); ++i) {
    const Case& one = scenario.cases[i];
    const Case& other = read->cases[i];
    TESSERA_CHECK(one.name == other.name && one.start == other.start &&
                  one.serial == other.serial && one.calls.size() == other.calls.size());
    for (std::size_t call = 0; call < one.calls.size(); ++call) {
      TESSERA_CHECK(one.calls[call].operation == other.calls[call].operation);
      TESSERA_CHECK(one.calls[call].expected == other.calls[call].expected);
      TESSERA_CHECK(other.calls[call].spelling.text.empty());
    }
  }
}

void run(std::string_view text) {
  const ReadResult result = read_scenario(text, file);
  if (const auto* error = std::get_if<ReadError>(&result)) {
    check_error(*error, text);
    return;
  }
  const auto& scenario = std::get<Scenario>(result);
  TESSERA_CHECK(to_string(scenario) == text);
  check_anew(scenario);
}

}  // namespace
}  // namespace tessera::scenario

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text
  tessera::scenario::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
