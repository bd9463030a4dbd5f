// RuleOffDriver: the driver under it with one of its rules switched off. A rule is what makes one
// call be refused for one reason; with it off, that refusal becomes a success without effect.
//
// A layer and not a switch inside the simulator: the simulator stays what users get, each rule has
// a switch without a line of its own, and nothing that a check protects is ever entered. What it
// shows is that a suite makes a call that only this rule refuses, and looks at the answer.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tessera/layers/intercept.h"

namespace tessera::rules_off {

using RefusalRule = std::pair<Call, Reason>;

// "mem_map, already_mapped"
[[nodiscard]] std::string to_string(const RefusalRule& rule);
[[nodiscard]] std::string_view name_of(Reason reason) noexcept;

class RuleOffDriver final : public InterceptingDriver<RuleOffDriver> {
 public:
  // The target outlives this object. With the rule {none, none}, all are on.
  explicit RuleOffDriver(Driver* target, const RefusalRule& off = {}) noexcept;
  ~RuleOffDriver() override;

  // The rules that refused a call so far, the one that is off among them.
  [[nodiscard]] const std::set<RefusalRule>& met() const noexcept { return met_; }

 private:
  friend InterceptAccess;
  template <Call call, class Request, class Forward>
  std::invoke_result_t<Forward> around(const Request& request, Forward forward);

  RefusalRule off_;
  std::set<RefusalRule> met_;
};

}  // namespace tessera::rules_off

extern template class tessera::InterceptingDriver<tessera::rules_off::RuleOffDriver>;
