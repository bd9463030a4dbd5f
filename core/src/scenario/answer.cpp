#include "tessera/scenario/answer.h"

namespace tessera::scenario {

Answer Answer::from_text(std::string_view text) {
  Answer answer(text);
  answer.result_size_ = std::min(text.find(' '), text.size());
  return answer;
}

Answer Answer::crash(int signal) { return Answer("CRASH").add_signed("signal", signal); }

Answer Answer::hang() { return Answer("HANG"); }

std::optional<std::string_view> Answer::find(std::string_view key) const noexcept {
  std::string_view rest = std::string_view(text_).substr(result_size_);
  while (!rest.empty()) {
    const Extra extra = next_extra(rest);
    if (extra.key == key) {
      return extra.value;
    }
  }
  return std::nullopt;
}

Answer& Answer::add(std::string_view key, std::string_view value) {
  text_ += ' ';
  text_ += key;
  text_ += '=';
  text_ += value;
  return *this;
}

Answer& Answer::add(std::string_view key, std::uint64_t value) {
  return add(key, std::to_string(value));
}

Answer& Answer::add_signed(std::string_view key, std::int64_t value) {
  return add(key, std::to_string(value));
}

Answer::Extra Answer::next_extra(std::string_view& rest) noexcept {
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const std::size_t equals = rest.find('=');
  std::size_t end = rest.find(' ');
  if (equals != std::string_view::npos && equals < end && equals + 1 < rest.size() &&
      rest[equals + 1] == '[') {
    end = rest.find(']', equals);
    end = end == std::string_view::npos ? end : end + 1;
  }
  end = std::min(end, rest.size());
  const std::string_view extra = rest.substr(0, end);
  rest.remove_prefix(end);
  const std::size_t split = std::min(equals, extra.size());
  return {extra.substr(0, split), extra.substr(std::min(split + 1, extra.size()))};
}

}  // namespace tessera::scenario
