#include "rule_off_driver.h"

namespace tessera::rules_off {

std::string_view name_of(Reason reason) noexcept {
  switch (reason) {
    case Reason::none:
      return "none";
#define TESSERA_REASON(name, text) \
  case Reason::name:               \
    return #name;
#include "tessera/reasons.def"
#undef TESSERA_REASON
  }
  return "";
}

std::string to_string(const RefusalRule& rule) {
  return std::string(method_name(rule.first)) + ", " + std::string(name_of(rule.second));
}

RuleOffDriver::RuleOffDriver(Driver* target, const RefusalRule& off) noexcept
    : InterceptingDriver(target), off_(off) {}

RuleOffDriver::~RuleOffDriver() = default;

template <Call call, class Request, class Forward>
std::invoke_result_t<Forward> RuleOffDriver::around(const Request& /*request*/, Forward forward) {
  using Answer = std::invoke_result_t<Forward>;
  Answer answer = forward();
  if (answer) {
    return answer;
  }
  const RefusalRule rule = {call, answer.error().reason};
  met_.insert(rule);
  if (rule != off_) {
    return answer;
  }
  if constexpr (std::is_same_v<Answer, Status>) {
    return Status();
  } else if constexpr (std::is_same_v<Answer, Result<int>>) {
    return -1;  // it may be a descriptor, which somebody closes
  } else {
    return typename Answer::value_type{};
  }
}

}  // namespace tessera::rules_off

template class tessera::InterceptingDriver<tessera::rules_off::RuleOffDriver>;
