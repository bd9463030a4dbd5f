// Answer: what a call answered, as the recordings write it: `OK aligned=2097152 at=hint`.
// A result name, then extras, each a key and a value. The text is the value: it keeps the order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/error.h"

namespace tessera::scenario {

class Answer {
 public:
  struct Extra {
    std::string_view key;
    std::string_view value;
  };

  Answer() : text_("OK"), result_size_(2) {}
  explicit Answer(std::string_view result) : text_(result), result_size_(result.size()) {}
  explicit Answer(const Error& error) : Answer(code_name(error.code)) {}
  // Text of this form, words separated by single spaces, as `text` gives it.
  [[nodiscard]] static Answer from_text(std::string_view text);
  [[nodiscard]] static Answer crash(int signal);
  // A call that did not come back within a limit, and was ended.
  [[nodiscard]] static Answer hang();

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] std::string_view result() const noexcept {
    return std::string_view(text_).substr(0, result_size_);
  }
  [[nodiscard]] bool is_ok() const noexcept { return result() == "OK"; }
  // The process ended at this call, or was ended: nothing follows.
  [[nodiscard]] bool is_end() const noexcept { return result() == "CRASH" || result() == "HANG"; }
  [[nodiscard]] std::optional<std::string_view> find(std::string_view key) const noexcept;

  // Calls `visit` with each Extra, in order.
  template <class Visit>
  void for_each_extra(Visit&& visit) const {
    std::string_view rest = std::string_view(text_).substr(result_size_);
    while (!rest.empty()) {
      visit(next_extra(rest));
    }
  }

  Answer& add(std::string_view key, std::string_view value);
  Answer& add(std::string_view key, std::uint64_t value);
  Answer& add_signed(std::string_view key, std::int64_t value);

  friend bool operator==(const Answer&, const Answer&) = default;

 private:
  // Takes the first extra off `rest`, with the blank before it. A value in [brackets] has blanks.
  static Extra next_extra(std::string_view& rest) noexcept;

  std::string text_;
  std::size_t result_size_;
};

}  // namespace tessera::scenario
