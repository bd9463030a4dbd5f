#include "tessera/scenario/writer.h"

#include "scenario/line_text.h"

namespace tessera::scenario {
namespace {

void print_lines(std::string& out, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    out += line;
    out += '\n';
  }
}

bool means_the_same(LineParser& parser, const Spelling& spelling, const Call& call) {
  Call spelled;
  TextError error;
  return !parser.split(spelling.text).empty() && parser.parse_call(spelled, error) &&
         spelled.operation == call.operation && spelled.expected == call.expected;
}

bool means_the_same(LineParser& parser, const Spelling& spelling, const Case& scenario_case) {
  Case spelled;
  TextError error;
  return !parser.split(spelling.text).empty() && parser.parse_case(spelled, error) &&
         spelled.name == scenario_case.name && spelled.start == scenario_case.start &&
         spelled.serial == scenario_case.serial;
}

template <class Line>
void print_spelled(std::string& out, LineParser& parser, const Line& line) {
  if (!line.spelling.text.empty() && means_the_same(parser, line.spelling, line)) {
    out += line.spelling.text;
  } else {
    print_line(out, line);
  }
  out += '\n';
}

}  // namespace

void print_to(std::string& out, const Operation& operation) { print_operation(out, operation); }

void print_to(std::string& out, const Case& scenario_case) {
  LineParser parser;
  print_lines(out, scenario_case.lines_before);
  print_spelled(out, parser, scenario_case);
  for (const Call& call : scenario_case.calls) {
    print_lines(out, call.lines_before);
    print_spelled(out, parser, call);
  }
  print_lines(out, scenario_case.lines_before_end);
  out += scenario_case.end_spelling.text.empty()
             ? end_line
             : std::string_view(scenario_case.end_spelling.text);
  out += '\n';
}

void print_to(std::string& out, const Scenario& scenario) {
  for (const Case& scenario_case : scenario.cases) {
    print_to(out, scenario_case);
  }
  print_lines(out, scenario.lines_after);
  if (!scenario.ends_with_newline && !out.empty()) {
    out.pop_back();
  }
}

std::string to_string(const Operation& operation) {
  std::string text;
  print_to(text, operation);
  return text;
}

std::string to_string(const Case& scenario_case) {
  std::string text;
  print_to(text, scenario_case);
  return text;
}

std::string to_string(const Scenario& scenario) {
  std::string text;
  print_to(text, scenario);
  return text;
}

}  // namespace tessera::scenario
