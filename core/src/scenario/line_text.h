// One line of a scenario: a case's header, a call, an end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenario/operation_text.h"
#include "tessera/scenario/scenario.h"

namespace tessera::scenario {

// Reads lines; keeps its working memory from one to the next.
class LineParser {
 public:
  // Splits the line into words. Views into `line`.
  [[nodiscard]] const std::vector<std::string_view>& split(std::string_view line);

  // The words of the last split as a call, a case's header, or an end. False: `error` says why.
  bool parse_call(Call& call, TextError& error);
  bool parse_case(Case& scenario_case, TextError& error) const;
  bool parse_end(TextError& error) const;

 private:
  bool parse_answer(std::size_t first, Call& call, TextError& error) const;

  std::vector<std::string_view> words_;
};

// The lines as the writer spells them, without the newline.
void print_line(std::string& out, const Call& call);
void print_line(std::string& out, const Case& scenario_case);
inline constexpr std::string_view end_line = "end";

}  // namespace tessera::scenario
