// What `tessera fuzz` does, and what it prints of a difference.
#include <gmock/gmock.h>

#include "fuzz.h"
#include "shell_word.h"
#include "tessera/scenario/reader.h"

namespace tessera::tools {
namespace {

using ::testing::HasSubstr;

TEST(Fuzz, RunsSoManyProgramsAndFindsNoDifference) {
  const FuzzResult result = run_fuzz(*sim::built_in_profile("tiny"), {.programs = 500, .seed = 3});
  EXPECT_EQ(result.programs, 500U);
  EXPECT_GT(result.calls, 5'000U);
  EXPECT_GT(result.deep_states.seen(), 10U);
  EXPECT_FALSE(result.finding.has_value());
}

TEST(Fuzz, MakesProgramsAsLongAsAsked) {
  const sim::Profile& profile = *sim::built_in_profile("tiny");
  const FuzzResult few = run_fuzz(profile, {.programs = 100, .length = 1});
  const FuzzResult many = run_fuzz(profile, {.programs = 100, .length = 200});
  EXPECT_LT(few.calls, 5'000U);
  EXPECT_GE(many.calls, 20'000U);
}

TEST(Fuzz, SeesTheSameWithAnyNumberOfJobs) {
  const sim::Profile& profile = *sim::built_in_profile("tiny");
  const FuzzResult one = run_fuzz(profile, {.programs = 400, .jobs = 1});
  const FuzzResult three = run_fuzz(profile, {.programs = 400, .jobs = 3});
  EXPECT_EQ(one.programs, three.programs);
  for (std::size_t i = 0; i < model::deep_state_count; ++i) {
    const auto state = static_cast<model::DeepState>(i);
    EXPECT_EQ(one.deep_states.count(state), three.deep_states.count(state)) << name_of(state);
  }
}

TEST(Fuzz, PrintsADifferenceAsASmallScenarioAndHowToRepeatIt) {
  const sim::Profile& profile = *sim::built_in_profile("tiny");
  sim::Profile wrong = profile;
  wrong.quirks.unmap_accepts_holes = false;
  const FuzzResult result =
      run_fuzz(profile, {.programs = 20'000, .seed = 1, .model_profile = &wrong});
  ASSERT_TRUE(result.finding.has_value());
  EXPECT_LE(result.finding->program.ops.size(), 10U);
  EXPECT_THAT(result.finding->text,
              HasSubstr("tessera fuzz --profile tiny --devices 1 --calls 20 --seed " +
                        std::to_string(result.finding->seed) + " --programs 1"));
  // The scenario says what the model says, so that replaying it shows the difference.
  EXPECT_THAT(result.finding->text, HasSubstr("=> INVALID_VALUE"));
  EXPECT_TRUE(std::holds_alternative<scenario::Scenario>(
      scenario::read_scenario(result.finding->text, "finding")));
}

// A machine without descriptors of memory can be fuzzed, too.
TEST(Fuzz, FindsNoDifferenceWithoutExportTypes) {
  sim::Profile profile = *sim::built_in_profile("tiny");
  profile.export_types = HandleTypes::none;
  profile.not_permitted_types = HandleTypes::none;
  for (const int attribute : {103, 104, 105, 128}) {
    profile.device_attributes[attribute] = 0;
  }
  ASSERT_EQ(sim::check_machine(profile, {}), "");
  const FuzzResult result = run_fuzz(profile, {.programs = 2'000});
  EXPECT_FALSE(result.finding.has_value()) << result.finding->text;
}

TEST(ShellWord, IsQuotedWhereItMustBe) {
  EXPECT_EQ(as_shell_word("tiny"), "tiny");
  EXPECT_EQ(as_shell_word("my/profile-2.json"), "my/profile-2.json");
  EXPECT_EQ(as_shell_word("a b/e'h.json"), "'a b/e'\\''h.json'");
  EXPECT_EQ(as_shell_word(""), "''");
}

TEST(Fuzz, RefusesWhatItCannotRun) {
  EXPECT_EQ(fuzz({.programs = 1, .profile = "no-such"}), ExitStatus::unusable);
  EXPECT_EQ(fuzz({.programs = 1, .profile = "wddm"}), ExitStatus::unusable);
  EXPECT_EQ(fuzz({.programs = 1, .profile = "tiny"}), ExitStatus::same);
}

}  // namespace
}  // namespace tessera::tools
