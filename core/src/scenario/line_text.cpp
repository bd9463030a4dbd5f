#include "scenario/line_text.h"

#include <algorithm>
#include <array>

#include "scenario/suggestion.h"

namespace tessera::scenario {
namespace {

constexpr std::string_view arrow = "=>";
constexpr std::string_view blanks = " \t\r";

bool fail(TextError& error, std::string_view found, std::string message) {
  error = {found.data(), found, std::move(message)};
  return false;
}

bool fail_after(TextError& error, std::string_view word, std::string message) {
  error = {word.data() + word.size(), {}, std::move(message)};
  return false;
}

bool is_result_name(std::string_view name) {
  constexpr std::array often = {std::string_view("OK"), std::string_view("INVALID_VALUE"),
                                std::string_view("CRASH"), std::string_view("HANG")};
  return std::find(often.begin(), often.end(), name) != often.end() ||
         code_from_name(name) != ErrorCode{};
}

// A result, or several joined by `|`, of which any is right.
bool parse_result(std::string_view word, TextError& error) {
  for (std::size_t position = 0; position <= word.size();) {
    const std::size_t end = std::min(word.find('|', position), word.size());
    const std::string_view name = word.substr(position, end - position);
    if (!is_result_name(name)) {
      return fail(error, word.substr(position),
                  "unknown result `" + printable(name) +
                      "`; expected OK, CRASH or a CUresult's name without CUDA_ERROR_, such as "
                      "INVALID_VALUE");
    }
    position = end + 1;
  }
  return true;
}

}  // namespace

const std::vector<std::string_view>& LineParser::split(std::string_view line) {
  words_.clear();
  std::size_t position = line.find_first_not_of(blanks);
  while (position != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(blanks, position), line.size());
    words_.push_back(line.substr(position, end - position));
    position = line.find_first_not_of(blanks, end);
  }
  return words_;
}

bool LineParser::parse_call(Call& call, TextError& error) {
  const auto separator = std::find(words_.begin(), words_.end(), arrow);
  const auto count = static_cast<std::size_t>(separator - words_.begin());
  if (count == 0) {
    return fail(error, words_.front(), "expected an operation before `=>`");
  }
  if (!parse_operation(std::span(words_).first(count), call.operation, error)) {
    return false;
  }
  return separator == words_.end() || parse_answer(count + 1, call, error);
}

bool LineParser::parse_answer(std::size_t first, Call& call, TextError& error) const {
  if (first == words_.size()) {
    return fail_after(error, words_.back(), "expected an answer after `=>`, such as OK");
  }
  if (!parse_result(words_[first], error)) {
    return false;
  }
  std::string text(words_[first]);
  std::string_view open;  // the extra whose bracket is not closed yet
  for (std::size_t i = first + 1; i < words_.size(); ++i) {
    const std::string_view word = words_[i];
    if (open.empty()) {
      const std::size_t equals = word.find('=');
      if (equals == 0 || equals == std::string_view::npos) {
        return fail(error, word,
                    "expected an extra of the form key=value, found `" + printable(word) + "`");
      }
      open = word.substr(equals + 1, 1) == "[" ? word : std::string_view();
    }
    if (!open.empty()) {
      const std::size_t close = word.find(']');
      if (close != std::string_view::npos && close + 1 != word.size()) {
        return fail(error, word.substr(close + 1), "expected a blank or the line's end after `]`");
      }
      open = close == std::string_view::npos ? open : std::string_view();
    }
    text += ' ';
    text += word;
  }
  if (!open.empty()) {
    return fail_after(error, words_.back(), "`[` is not closed: expected `]`");
  }
  call.expected = Answer::from_text(text);
  return true;
}

bool LineParser::parse_case(Case& scenario_case, TextError& error) const {
  constexpr std::array flags = {std::string_view("noinit"), std::string_view("noctx"),
                                std::string_view("serial")};
  if (words_.size() < 2) {
    return fail_after(error, words_.back(), "expected the case's name after `case`");
  }
  scenario_case.name = words_[1];
  for (std::size_t i = 2; i < words_.size(); ++i) {
    const std::string_view word = words_[i];
    const bool is_start = word == "noinit" || word == "noctx";
    if ((is_start && scenario_case.start != Start::context) ||
        (word == "serial" && scenario_case.serial)) {
      return fail(error, word,
                  "flag `" + printable(word) +
                      "` contradicts or repeats one before it; a case takes noinit or noctx, and "
                      "serial");
    }
    if (is_start) {
      scenario_case.start = word == "noinit" ? Start::nothing : Start::no_context;
    } else if (word == "serial") {
      scenario_case.serial = true;
    } else {
      return fail(error, word,
                  "unknown flag `" + printable(word) + "`" + did_you_mean(word, flags) +
                      "; a case takes noinit or noctx, and serial");
    }
  }
  return true;
}

bool LineParser::parse_end(TextError& error) const {
  if (words_.size() > 1) {
    return fail(error, words_[1],
                "expected nothing after `end`, found `" + printable(words_[1]) + "`");
  }
  return true;
}

void print_line(std::string& out, const Call& call) {
  out += "  ";
  print_operation(out, call.operation);
  if (call.expected) {
    out += " => ";
    out += call.expected->text();
  }
}

namespace {

// As one word, whatever code has called it.
void print_name(std::string& out, std::string_view name) {
  for (const char c : name.empty() ? std::string_view("unnamed") : name) {
    const bool ends_word = c == '\n' || blanks.find(c) != std::string_view::npos;
    out += ends_word ? '_' : c;
  }
}

}  // namespace

void print_line(std::string& out, const Case& scenario_case) {
  out += "case ";
  print_name(out, scenario_case.name);
  if (scenario_case.start == Start::no_context) {
    out += " noctx";
  } else if (scenario_case.start == Start::nothing) {
    out += " noinit";
  }
  if (scenario_case.serial) {
    out += " serial";
  }
}

}  // namespace tessera::scenario
