#include "tessera/layers/rule.h"

#include <algorithm>
#include <array>

namespace tessera {
namespace {

constexpr std::array rules = {
#define TESSERA_RULE(number, name, call, source, consequence, code, text, done, instead) \
  Rule{RuleId::name,                                                                     \
       #name,                                                                            \
       Call::call,                                                                       \
       RuleSource::source,                                                               \
       Consequence::consequence,                                                         \
       ErrorCode::code,                                                                  \
       text,                                                                             \
       done,                                                                             \
       instead},
#include "tessera/layers/rules.def"
#undef TESSERA_RULE
};

constexpr bool is_sorted_by_number() noexcept {
  for (std::size_t i = 1; i < rules.size(); ++i) {
    if (rules[i - 1].id >= rules[i].id) {
      return false;
    }
  }
  return true;
}
static_assert(is_sorted_by_number(), "rules.def is in the order of its numbers, each once");

constexpr Rule no_rule = {};

}  // namespace

std::span<const Rule> all_rules() noexcept { return rules; }

const Rule& rule_of(RuleId id) noexcept {
  const auto* const found =
      std::lower_bound(rules.begin(), rules.end(), id,
                       [](const Rule& rule, RuleId wanted) { return rule.id < wanted; });
  return found != rules.end() && found->id == id ? *found : no_rule;
}

RuleId rule_named(std::string_view name) noexcept {
  const auto* const found =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.name == name; });
  return found != rules.end() ? found->id : RuleId::none;
}

std::string_view source_name(RuleSource source) noexcept {
  constexpr std::array<std::string_view, 3> names = {"documented", "observed", "portability"};
  return names.at(static_cast<std::size_t>(source));
}

std::string_view consequence_name(Consequence consequence) noexcept {
  constexpr std::array<std::string_view, 4> names = {"refused", "accepted silently", "crashes",
                                                     "lost context"};
  return names.at(static_cast<std::size_t>(consequence));
}

}  // namespace tessera
