// With any rule of the simulator off, a suite notices.
#include <algorithm>
#include <array>
#include <iostream>

#include <gtest/gtest.h>

#include "library_reasons.h"
#include "suites.h"
#include "support/exhausted_host.h"
#include "support/stop_watch.h"

namespace tessera::rules_off {
namespace {

constexpr std::array all_reasons = {
#define TESSERA_REASON(name, text) Reason::name,
#include "tessera/reasons.def"
#undef TESSERA_REASON
};

// Which suite noticed, and how soon.
struct Notice {
  std::string by;
  double milliseconds = 0;
};

// The soonest; its name is empty where no suite notices.
Notice notice_of(const std::vector<std::unique_ptr<Suite>>& suites, const RefusalRule& rule) {
  Notice soonest;
  for (const auto& suite : suites) {
    if (suite->rules().count(rule) == 0) {
      continue;
    }
    const test::StopWatch watch;
    const std::string failure = suite->failure_without(rule);
    const double milliseconds = watch.milliseconds();
    std::cout << to_string(rule) << ": " << suite->name() << ": "
              << (failure.empty() ? "not noticed" : failure) << ", " << milliseconds << " ms\n";
    if (!failure.empty() && (soonest.by.empty() || milliseconds < soonest.milliseconds)) {
      soonest = {suite->name(), milliseconds};
    }
  }
  return soonest;
}

// Rules are found by what suites meet, and reasons by the enumeration: one that no suite meets, and
// that is no other library's, is missing here.
TEST(RulesOff, AreNoticed) {
  std::vector<std::unique_ptr<Suite>> suites;
  suites.push_back(random_programs());
  suites.push_back(refusal_tables());
  suites.push_back(refusal_cases());
  suites.push_back(every_call());
  std::set<RefusalRule> rules;
  for (const auto& suite : suites) {
    std::cout << suite->name() << " meet " << suite->rules().size() << " rules\n";
    rules.insert(suite->rules().begin(), suite->rules().end());
  }
  std::set<Reason> noticed;
  double slowest = 0;
  for (const RefusalRule& rule : rules) {
    const Notice notice = notice_of(suites, rule);
    EXPECT_NE(notice.by, "") << "no suite notices that " << to_string(rule) << " is off";
    noticed.insert(rule.second);
    slowest = std::max(slowest, notice.milliseconds);
  }
  std::cout << rules.size() << " rules of " << noticed.size()
            << " reasons switched off; the slowest was noticed after " << slowest << " ms\n";
  for (const Reason reason : all_reasons) {
    if (reason == Reason::host_exhausted && !test::ExhaustedHost::is_possible) {
      continue;
    }
    const bool is_elsewhere = library_reasons().count(reason) != 0;
    EXPECT_NE(noticed.count(reason) != 0, is_elsewhere)
        << name_of(reason)
        << (is_elsewhere ? " is the simulator's, too: take it from library_reasons.cpp"
                         : " is met by no suite: write a test that is refused for it");
  }
}

}  // namespace
}  // namespace tessera::rules_off
