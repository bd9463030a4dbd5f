// Scenario: a file of cases; a case is a list of calls, each an operation and the answer that is
// expected. What is read prints back to the same bytes, comments and odd spelling included.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/scenario/answer.h"
#include "tessera/scenario/operations.h"

namespace tessera::scenario {

// How a line stood in a file where that is not how the writer spells it: key order, blanks. It is
// printed as long as it means what the line's fields say, and ignored after those were changed.
struct Spelling {
  std::string text;  // empty: as the writer spells it
};

struct Call {
  Operation operation;
  std::optional<Answer> expected = {};
  std::uint32_t line = 0;  // in the file, from 1; 0 where there is none
  Spelling spelling = {};
  // Comments and blank lines that stand before.
  std::vector<std::string> lines_before = {};
};

// What is done before a case's first call.
enum class Start : std::uint8_t {
  context,     // cuInit; the primary context of device 0, current
  no_context,  // cuInit only: `noctx`
  nothing,     // not even that: `noinit`
};

struct Case {
  std::string name;  // one word: the writer makes blanks and ends of lines `_`
  Start start = Start::context;
  bool serial = false;  // alone on its GPU: its figures of used memory count
  std::vector<Call> calls = {};
  std::uint32_t line = 0;
  Spelling spelling = {};
  std::vector<std::string> lines_before = {};
  std::vector<std::string> lines_before_end = {};
  Spelling end_spelling = {};
};

struct Scenario {
  std::vector<Case> cases = {};
  std::vector<std::string> lines_after = {};
  bool ends_with_newline = true;
};

}  // namespace tessera::scenario
