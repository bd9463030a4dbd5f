#include "tessera/error.h"

#include <array>
#include <charconv>
#include <utility>

#include "tessera/layers/rule.h"
#include "text.h"

namespace tessera {
namespace {

struct CodeName {
  ErrorCode code;
  std::string_view lower_case;
};
constexpr std::array code_names = {
#define TESSERA_ERROR_CODE(name, number) CodeName{ErrorCode::name, #name},
#include "tessera/error_codes.def"
#undef TESSERA_ERROR_CODE
};

struct CallName {
  std::string_view method;
  std::string_view cuda;
};
constexpr std::array call_names = {
    CallName{"tessera", "tessera"},
#define TESSERA_CALL(method, cuda_name) CallName{#method, cuda_name},
#include "tessera/calls.def"
#undef TESSERA_CALL
};

constexpr std::array reason_texts = {
    std::string_view(),
#define TESSERA_REASON(name, text) std::string_view(text),
#include "tessera/reasons.def"
#undef TESSERA_REASON
};

constexpr char to_upper(char letter) noexcept {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

bool equals_upper(std::string_view lower_case, std::string_view name) noexcept {
  if (lower_case.size() != name.size()) {
    return false;
  }
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (to_upper(lower_case[i]) != name[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string_view method_name(Call call) noexcept {
  const auto index = static_cast<std::size_t>(call);
  return index < call_names.size() ? call_names[index].method : "unknown call";
}

std::string_view cuda_name(Call call) noexcept {
  const auto index = static_cast<std::size_t>(call);
  return index < call_names.size() ? call_names[index].cuda : "unknown call";
}

std::string code_name(ErrorCode code) {
  for (const CodeName& known : code_names) {
    if (known.code == code) {
      std::string name(known.lower_case);
      for (char& letter : name) {
        letter = to_upper(letter);
      }
      return name;
    }
  }
  return std::to_string(static_cast<std::int32_t>(code));
}

ErrorCode code_from_name(std::string_view name) noexcept {
  for (const CodeName& known : code_names) {
    if (equals_upper(known.lower_case, name)) {
      return known.code;
    }
  }
  std::int32_t number = 0;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = failure == std::errc() && end == name.data() + name.size();
  return is_number ? ErrorCode{number} : ErrorCode{0};
}

std::string_view origin_name(Origin origin) noexcept {
  switch (origin) {
    case Origin::driver:
      return "the driver";
    case Origin::simulator:
      return "the simulator";
    case Origin::injected:
      return "fault injection";
    case Origin::validation:
      return "validation";
    case Origin::library:
      return "the library";
  }
  return "unknown origin";
}

bool means_contexts_lost(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::contained:
    case ErrorCode::illegal_address:
    case ErrorCode::launch_timeout:
    case ErrorCode::assert:
    case ErrorCode::hardware_stack_error:
    case ErrorCode::illegal_instruction:
    case ErrorCode::misaligned_address:
    case ErrorCode::invalid_address_space:
    case ErrorCode::invalid_pc:
    case ErrorCode::launch_failed:
    case ErrorCode::external_device:
      return true;
    default:
      return false;
  }
}

std::string explain(const Error& error) {
  const auto index = static_cast<std::size_t>(error.reason);
  std::string_view pattern = index < reason_texts.size() ? reason_texts[index] : "";
  if (pattern.empty()) {
    pattern = rule_of(error.rule).done;
  }
  return text::fill(pattern, error.values);
}

std::string to_string(const Error& error) {
  std::string line(method_name(error.call));
  line += ": " + code_name(error.code);
  line += " (" + std::to_string(static_cast<std::int32_t>(error.code)) + ") from ";
  line += origin_name(error.origin);
  if (const Rule& rule = rule_of(error.rule); !rule.name.empty()) {
    line += ", rule " + std::string(rule.name) + " (" +
            std::to_string(static_cast<unsigned>(rule.id)) + ")";
  }
  if (const std::string why = explain(error); !why.empty()) {
    line += ": " + why;
  }
  if (error.origin == Origin::validation) {
    line += "; the call was not made";
  }
  return line;
}

}  // namespace tessera
