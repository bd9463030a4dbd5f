// What `tessera fuzz --backend cuda` does, with a simulator in the real driver's place: the same
// profile has no difference, another one's differences are found and made small.
#include "fuzz_real.h"

#include <gmock/gmock.h>

#include "defined_program.h"
#include "model/differential.h"
#include "tessera/scenario/reader.h"
#include "tessera/sim/profile_file.h"
#include "tessera/testing/program_generator.h"

namespace tessera::tools {
namespace {

using tessera::testing::OpKind;
using tessera::testing::Program;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

RealFuzzResult run(const RealFuzzOptions& options) {
  auto result = run_real_fuzz(options);
  const auto* error = std::get_if<BackendError>(&result);
  EXPECT_EQ(error, nullptr) << error->message;
  return error == nullptr ? std::get<RealFuzzResult>(std::move(result)) : RealFuzzResult();
}

TEST(FuzzReal, FindsNoDifferenceInADriverThatIsTheSame) {
  const RealFuzzResult result =
      run({.tested = {.backend = {.profile = "h200", .devices = 2}}, .programs = 3000});
  EXPECT_FALSE(result.finding.has_value()) << result.finding->text;
  EXPECT_EQ(result.programs + result.left_out, 3000U);
  // What costs a process on a real driver is the smaller part.
  EXPECT_GT(result.programs, 2000U);
  EXPECT_GT(result.calls, 50'000U);
}

TEST(FuzzReal, PrintsADifferenceAsASmallScenarioWithTheTestedDriversAnswers) {
  std::vector<std::string> lines;
  const RealFuzzResult result =
      run({.tested = {.backend = {.profile = "documented"}},
           .programs = 500,
           .on_difference = [&](const std::string& line) { lines.push_back(line); }});
  ASSERT_TRUE(result.finding.has_value());
  EXPECT_THAT(lines, AllOf(Not(IsEmpty()), Each(HasSubstr("expected"))));
  EXPECT_LE(result.finding->program.ops.size(), 10U);
  auto read = scenario::read_scenario(result.finding->text, "finding");
  ASSERT_TRUE(std::holds_alternative<scenario::Scenario>(read));
  const scenario::Scenario& scenario = std::get<scenario::Scenario>(read);
  ASSERT_THAT(scenario.cases, SizeIs(1));
  const auto replayed = run_cases(scenario.cases, {.backend = {.profile = "documented"}});
  const auto& answers = std::get<std::vector<CaseOutcome>>(replayed).front().answers;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].result(), scenario.cases.front().calls[i].expected->result());
  }
}

TEST(FuzzReal, RefusesWhatItCannotRun) {
  EXPECT_EQ(fuzz_real({.profile = "no-such", .programs = 1}), ExitStatus::unusable);
}

// A released handle is mapped: the real driver crashes there.
TEST(DefinedProgram, HasNoCallThatCrashesARealDriver) {
  const Program program = {
      .ops = {{.kind = OpKind::reserve, .size = tessera::testing::granules(1)},
              {.kind = OpKind::create, .size = tessera::testing::granules(1), .choice = 1},
              {.kind = OpKind::release, .object = 0},
              {.kind = OpKind::map,
               .object = 0,
               .place = {.base = tessera::testing::SlotKind::reservation},
               .size = tessera::testing::granules(1)},
              {.kind = OpKind::address_free,
               .place = {.base = tessera::testing::SlotKind::reservation},
               .size = tessera::testing::granules(1)}},
      .drain = 4};
  const Program defined = defined_program(program, *sim::built_in_profile("h200"), 1);
  ASSERT_THAT(defined.ops, SizeIs(4));
  EXPECT_EQ(defined.ops[3].kind, OpKind::address_free);
  EXPECT_EQ(defined.drain, 3U);
}

// A place in reservation 0, so many granules on.
tessera::testing::Place in_reservation(std::int8_t granules) {
  return {.base = tessera::testing::SlotKind::reservation, .granules = granules};
}

TEST(DefinedProgram, WaitsForACopyBeforeItsMemoryGoes) {
  const tessera::testing::Size one = tessera::testing::granules(1);
  Program program = {
      .ops = {{.kind = OpKind::reserve, .size = one},
              {.kind = OpKind::create, .size = one, .choice = 1},
              {.kind = OpKind::map, .object = 0, .place = in_reservation(0), .size = one},
              {.kind = OpKind::set_access,
               .place = in_reservation(0),
               .size = one,
               .choice = 1,
               .value = 3},
              {.kind = OpKind::htod,
               .place = in_reservation(0),
               .size = tessera::testing::plain_bytes(4)},
              {.kind = OpKind::unmap, .place = in_reservation(0), .size = one}},
      .drain = 6};
  const Program defined = defined_program(program, *sim::built_in_profile("h200"), 1);
  ASSERT_THAT(defined.ops, SizeIs(7));
  EXPECT_EQ(defined.ops[5].kind, OpKind::ctx_sync);
  EXPECT_EQ(defined.ops[6].kind, OpKind::unmap);
  EXPECT_EQ(defined.drain, 7U);
  // A kernel lasts as long on a device: what it meets there is the same.
  program.ops[4].kind = OpKind::launch;
  program.ops[4].extra = tessera::testing::plain_bytes(1000);
  EXPECT_EQ(defined_program(program, *sim::built_in_profile("h200"), 1), program);
}

TEST(DefinedProgram, LeavesAloneWhatIsTheDrivers) {
  const Program program = {
      .ops = {{.kind = OpKind::reserve,
               .place = in_reservation(3),
               .size = tessera::testing::granules(2)},
              {.kind = OpKind::memset,
               .place = in_reservation(2),
               .size = tessera::testing::plain_bytes(4)},
              {.kind = OpKind::get_access, .place = in_reservation(-1), .choice = 1},
              {.kind = OpKind::get_access, .place = in_reservation(1), .choice = 1}},
      .drain = 4};
  const Program defined = defined_program(program, *sim::built_in_profile("h200"), 1);
  ASSERT_THAT(defined.ops, SizeIs(2));
  EXPECT_EQ(defined.ops[0].place, tessera::testing::Place()) << "a hint";
  EXPECT_EQ(defined.ops[1], program.ops[3]);
}

TEST(DefinedProgram, IsAllOfAProgramWithoutSuchCalls) {
  const auto options = model::generator_options(*sim::built_in_profile("h200"), 1);
  int same = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Program program = generate_program(options, seed);
    const Program defined = defined_program(program, *sim::built_in_profile("h200"), 1);
    EXPECT_LE(defined.drain, defined.ops.size());
    same += defined == program ? 1 : 0;
  }
  EXPECT_GT(same, 60);
}

TEST(DefinedProgram, KernelsLastLongerThanCalls) {
  const Program program = {
      .ops = {{.kind = OpKind::launch, .extra = tessera::testing::plain_bytes(0)},
              {.kind = OpKind::launch, .extra = tessera::testing::plain_bytes(3)},
              {.kind = OpKind::launch, .extra = tessera::testing::plain_bytes(-3)}},
      .drain = 3};
  const Program prolonged = with_long_kernels(program);
  EXPECT_GE(prolonged.ops[0].extra.count, 4000);
  EXPECT_GT(prolonged.ops[1].extra.count, prolonged.ops[0].extra.count);
  EXPECT_EQ(prolonged.ops[2].extra.count, prolonged.ops[0].extra.count);
}

}  // namespace
}  // namespace tessera::tools
