// What driver.h says of errors is the whole truth: random programs get no error that is not listed
// for the call (layers/call_errors.def). Fault sweeps go by that list.
#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>

#include "property/programs.h"
#include "tessera/layers/call_errors.h"
#include "tessera/layers/intercept.h"

namespace tessera::model {
namespace {

class ErrorsListener final : public InterceptingDriver<ErrorsListener> {
 public:
  explicit ErrorsListener(Driver* target) : InterceptingDriver(target) {}

  [[nodiscard]] const std::set<std::string>& unlisted() const noexcept { return unlisted_; }

 private:
  friend InterceptAccess;
  template <Call call, class Request, class Forward>
  std::invoke_result_t<Forward> around(const Request& /*request*/, Forward forward) {
    auto answer = forward();
    if (!answer) {
      const auto listed = call_errors(call);
      if (std::find(listed.begin(), listed.end(), answer.error().code) == listed.end()) {
        unlisted_.insert(std::string(method_name(call)) + ": " + code_name(answer.error().code));
      }
    }
    return answer;
  }

  std::set<std::string> unlisted_;
};

class ListedErrors : public ::testing::TestWithParam<MachineKind> {};

TEST_P(ListedErrors, AreAllThatProgramsGet) {
  const sim::Profile& profile = profile_of(GetParam());
  testing::ProgramGenerator generator(generator_options(profile, GetParam().devices));
  testing::Program program;
  std::set<std::string> unlisted;
  for (std::uint64_t seed = 1; seed <= many_programs; ++seed) {
    generator.generate(seed, program);
    sim::SimDriver simulator(profile, {.devices = GetParam().devices});
    ErrorsListener driver(&simulator);
    testing::ProgramRunner runner(driver, profile.granularity_minimum);
    ASSERT_TRUE(runner.begin());
    for (const testing::Op& op : program.ops) {
      runner.run(op);
    }
    unlisted.insert(driver.unlisted().begin(), driver.unlisted().end());
  }
  EXPECT_THAT(unlisted, ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Machines, ListedErrors, ::testing::ValuesIn(machine_kinds),
                         [](const auto& kind) {
                           return std::string(kind.param.profile) + "_" +
                                  std::to_string(kind.param.devices);
                         });

}  // namespace
}  // namespace tessera::model
