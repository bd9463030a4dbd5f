#include "tessera/scenario/reader.h"

#include <utility>

#include "scenario/line_text.h"
#include "scenario/suggestion.h"

namespace tessera::scenario {
namespace {

class Reader {
 public:
  Reader(std::string_view text, std::string_view file) : rest_(text), file_(file) {}

  ReadResult read() {
    while (!rest_.empty()) {
      next_line();
      if (!read_line()) {
        return error_at();
      }
    }
    if (in_case_) {
      line_text_ = std::string_view(line_text_.data() + line_text_.size(), 0);
      ++line_;
      text_error_ = {line_text_.data(),
                     {},
                     "the file ends inside case " + printable(scenario_.cases.back().name) +
                         ": expected a call or `end`"};
      return error_at();
    }
    scenario_.lines_after = std::move(pending_);
    return std::move(scenario_);
  }

 private:
  void next_line() {
    const std::size_t end = rest_.find('\n');
    line_text_ = rest_.substr(0, end);
    scenario_.ends_with_newline = end != std::string_view::npos;
    rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
    ++line_;
  }

  bool read_line() {
    const auto& words = parser_.split(line_text_);
    if (words.empty() || words.front().front() == '#') {
      pending_.emplace_back(line_text_);
      return true;
    }
    if (in_case_) {
      return words.front() == "end" ? read_end() : read_call(words.front());
    }
    if (words.front() != "case") {
      return fail(words.front(), "expected `case NAME`, found `" + printable(words.front()) + "`");
    }
    return read_case();
  }

  bool read_case() {
    Case& added = scenario_.cases.emplace_back();
    added.line = line_;
    added.lines_before = std::exchange(pending_, {});
    in_case_ = true;
    if (!parser_.parse_case(added, text_error_)) {
      return false;
    }
    printed_.clear();
    print_line(printed_, added);
    keep_spelling(added.spelling, printed_);
    return true;
  }

  bool read_end() {
    Case& ended = scenario_.cases.back();
    if (!parser_.parse_end(text_error_)) {
      return false;
    }
    ended.lines_before_end = std::exchange(pending_, {});
    keep_spelling(ended.end_spelling, end_line);
    in_case_ = false;
    return true;
  }

  bool read_call(std::string_view first_word) {
    if (first_word == "case") {
      return fail(first_word, "a case inside case " + printable(scenario_.cases.back().name) +
                                  ": `end` is missing before");
    }
    Call& added = scenario_.cases.back().calls.emplace_back();
    added.line = line_;
    if (!pending_.empty()) {
      added.lines_before = std::exchange(pending_, {});
    }
    if (!parser_.parse_call(added, text_error_)) {
      return false;
    }
    printed_.clear();
    print_line(printed_, added);
    keep_spelling(added.spelling, printed_);
    return true;
  }

  void keep_spelling(Spelling& spelling, std::string_view canonical) const {
    if (line_text_ != canonical) {
      spelling.text = line_text_;
    }
  }

  bool fail(std::string_view found, std::string message) {
    text_error_ = {found.data(), found, std::move(message)};
    return false;
  }

  [[nodiscard]] ReadError error_at() const {
    const auto column = static_cast<std::uint32_t>(text_error_.at - line_text_.data()) + 1;
    return {std::string(file_), line_, column, std::string(text_error_.found), text_error_.message};
  }

  std::string_view rest_;
  std::string_view file_;
  std::string_view line_text_;
  std::uint32_t line_ = 0;
  bool in_case_ = false;
  Scenario scenario_;
  std::vector<std::string> pending_;  // comments and blank lines since the last call
  LineParser parser_;
  std::string printed_;
  TextError text_error_;
};

}  // namespace

std::string to_string(const ReadError& error) {
  return error.file + ":" + std::to_string(error.line) + ":" + std::to_string(error.column) + ": " +
         error.message;
}

ReadResult read_scenario(std::string_view text, std::string_view file) {
  return Reader(text, file).read();
}

std::variant<Call, ReadError> read_call(std::string_view text) {
  LineParser parser;
  Call call;
  TextError error;
  if (text.find('\n') != std::string_view::npos || parser.split(text).empty()) {
    return ReadError{"call", 1, 1, {}, "expected one call on one line"};
  }
  if (!parser.parse_call(call, error)) {
    return ReadError{"call", 1, static_cast<std::uint32_t>(error.at - text.data()) + 1,
                     std::string(error.found), error.message};
  }
  return call;
}

}  // namespace tessera::scenario
