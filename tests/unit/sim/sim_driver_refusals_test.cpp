#include <string>
#include <tuple>

#include "support/sim_refusals.h"

namespace tessera::sim {
namespace {

using On = std::tuple<RefusalTable, std::string_view>;  // a profile

class SimDriverRefusals : public testing::TestWithParam<On> {};

TEST_P(SimDriverRefusals, ChangeNothing) {
  const auto& [table, name] = GetParam();
  const Profile& profile = profile_named(name);
  if (!table.applies(profile)) {
    return;
  }
  World world(profile);
  const Books before = world.machine->books();
  for (const Refusal& refusal : table.refusals()) {
    SCOPED_TRACE(std::string(method_name(refusal.call)) + ", " + refusal.what);
    const std::optional<Error> error = refusal.make(world);
    ASSERT_TRUE(error.has_value());
    EXPECT_NE(explain(*error), "");
    EXPECT_EQ(error->call, refusal.call);
    EXPECT_EQ(error->origin, Origin::simulator);
    EXPECT_EQ(world.machine->books(), before);
    EXPECT_EQ(world.machine->check_invariants(), "");
  }
  // All is as it was.
  EXPECT_THAT(world.machine.put(world.mapping, 1), is_ok());
  EXPECT_THAT(world.machine->ctx_synchronize(), is_ok());
}

INSTANTIATE_TEST_SUITE_P(All, SimDriverRefusals,
                         testing::Combine(testing::ValuesIn(refusal_tables()),
                                          testing::ValuesIn(built_in_profile_names())),
                         [](const auto& on) {
                           return std::string(std::get<0>(on.param).name) + "_" +
                                  std::string(std::get<1>(on.param));
                         });

TEST(SimDriverRefusalCases, SayWhatIsMissing) {
  for (const RefusalCase& refusal : refusal_cases()) {
    const std::optional<Error> error = refusal.make(nullptr);
    ASSERT_TRUE(error.has_value()) << method_name(refusal.call);
    EXPECT_EQ(error->call, refusal.call) << to_string(*error);
    EXPECT_EQ(error->reason, refusal.reason) << to_string(*error);
  }
}

}  // namespace
}  // namespace tessera::sim
