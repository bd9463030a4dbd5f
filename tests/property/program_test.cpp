// Programs themselves: what they reach, that they repeat, and that they print and read back.
#include <array>

#include "property/programs.h"
#include "tessera/scenario/reader.h"
#include "tessera/testing/choices.h"

namespace tessera::model {
namespace {

// Over all kinds of machines, each deep state in its share of the programs.
TEST(Programs, ReachTheDeepStates) {
  DeepStates seen;
  constexpr std::uint64_t count = 2'000;
  for (const MachineKind& kind : machine_kinds) {
    const sim::Profile& profile = profile_of(kind);
    testing::ProgramGenerator generator(generator_options(profile, kind.devices));
    Differential differential(profile, {.devices = kind.devices});
    testing::Program program;
    for (std::uint64_t seed = 1; seed <= count; ++seed) {
      generator.generate(seed, program);
      ASSERT_FALSE(differential.run(program).has_value()) << kind.profile << " seed " << seed;
    }
    seen.add(differential.deep_states());
  }
  for (std::size_t i = 0; i < deep_state_count; ++i) {
    const auto state = static_cast<DeepState>(i);
    EXPECT_GE(seen.count(state) * 1000, floor_of(state) * seen.programs())
        << name_of(state) << ": in " << seen.count(state) << " of " << seen.programs()
        << " programs";
  }
}

std::uint64_t hash_of(const std::string& text) {
  return testing::hash_of(std::as_bytes(std::span(text)).data(), text.size());
}

// The same figures with every compiler, optimisation and sanitizer.
TEST(Programs, GiveTheSameTracesEverywhere) {
  constexpr std::array<std::uint64_t, std::size(machine_kinds)> hashes = {
      0xdd5e0d44b2fea157, 0x3035bdd5b9ffeea6, 0x170dfeb85a3e9ce6,
      0x04d8ec5a5db27b73, 0xe491265eda094a7c, 0x075c742acd7adccd};
  for (std::size_t i = 0; i < std::size(machine_kinds); ++i) {
    const sim::Profile& profile = profile_of(machine_kinds[i]);
    testing::ProgramGenerator generator(generator_options(profile, machine_kinds[i].devices));
    Differential differential(profile, {.devices = machine_kinds[i].devices});
    std::string trace;
    differential.trace_to(&trace);
    testing::Program program;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      generator.generate(seed, program);
      ASSERT_FALSE(differential.run(program).has_value());
    }
    EXPECT_EQ(hash_of(trace), hashes[i])
        << machine_kinds[i].profile << ", " << machine_kinds[i].devices
        << " devices: " << trace.size() << " bytes";
  }
}

void expect_to_be_read_back(const testing::Program& program) {
  const std::string text = scenario::to_string(testing::to_case(program, "printed"));
  const auto read = scenario::read_scenario(text, "printed");
  const auto* scenario = std::get_if<scenario::Scenario>(&read);
  ASSERT_NE(scenario, nullptr) << to_string(std::get<scenario::ReadError>(read)) << "\n" << text;
  const auto converted = testing::from_case(scenario->cases.at(0));
  const auto* again = std::get_if<testing::Program>(&converted);
  ASSERT_NE(again, nullptr) << std::get<testing::NotAProgram>(converted).message << "\n" << text;
  EXPECT_EQ(scenario::to_string(testing::to_case(*again, "printed")), text);
}

TEST(Programs, PrintAndReadBack) {
  testing::ProgramGenerator generator({.devices = 2});
  testing::Program program;
  for (std::uint64_t seed = 1; seed <= 1'500; ++seed) {
    generator.generate(seed, program);
    ASSERT_NO_FATAL_FAILURE(expect_to_be_read_back(program)) << "seed " << seed;
  }
}

// Also those that a fuzzer's bytes make, whose operands are odder.
TEST(Programs, OfBytesPrintAndReadBack) {
  testing::ProgramGenerator generator({.devices = 2});
  testing::Program program;
  testing::Choices choices(1);
  for (int i = 0; i < 1'500; ++i) {
    std::vector<std::uint8_t> bytes(choices.below(300));
    for (std::uint8_t& byte : bytes) {
      byte = static_cast<std::uint8_t>(choices.below(256));
    }
    generator.generate(bytes, program);
    ASSERT_NO_FATAL_FAILURE(expect_to_be_read_back(program)) << "input " << i;
  }
}

// A printed program is the same program: replayed as a scenario, it gets the answers that it got.
TEST(Programs, AnswerAsScenariosToo) {
  const sim::Profile& profile = *sim::built_in_profile("tiny");
  testing::ProgramGenerator generator(generator_options(profile, 1));
  testing::Program program;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    generator.generate(seed, program);
    sim::SimDriver driver(profile);
    testing::ProgramRunner runner(driver, profile.granularity_minimum);
    ASSERT_TRUE(runner.begin().has_value());
    std::vector<testing::Outcome> outcomes;
    for (const testing::Op& op : program.ops) {
      outcomes.push_back(runner.run(op));
    }
    const auto read = scenario::read_scenario(
        scenario::to_string(testing::to_case(program, "replayed", outcomes)), "replayed");
    const auto& replayed = std::get<scenario::Scenario>(read).cases.at(0);
    const auto converted = testing::from_case(replayed);
    const auto& again = std::get<testing::Program>(converted);
    sim::SimDriver other(profile);
    testing::ProgramRunner other_runner(other, profile.granularity_minimum);
    ASSERT_TRUE(other_runner.begin().has_value());
    for (std::size_t i = 0; i < again.ops.size(); ++i) {
      EXPECT_EQ(other_runner.run(again.ops[i]).code, outcomes[i].code) << "seed " << seed;
    }
  }
}

// However many bytes there are.
TEST(Programs, OfRecordsAreAsLongAsAskedFor) {
  testing::ProgramGenerator generator({.length = 5});
  testing::Program program;
  generator.generate(std::vector<std::uint8_t>(2'000), program);
  EXPECT_EQ(program.drain, 5U);
}

TEST(Programs, OfBytesAreProgramsWhateverTheBytes) {
  const bool holds = rc::check("any bytes", [] {
    const std::vector<std::uint8_t> bytes = *rc::gen::arbitrary<std::vector<std::uint8_t>>();
    testing::ProgramGenerator generator({});
    testing::Program first;
    testing::Program second;
    generator.generate(bytes, first);
    generator.generate(bytes, second);
    RC_ASSERT(first == second);
    for (const testing::Op& op : first.ops) {
      testing::Op normal = op;
      testing::normalize(normal);
      RC_ASSERT(normal == op);
    }
  });
  EXPECT_TRUE(holds);
}

TEST(Shrink, LeavesOnlyWhatIsNeeded) {
  testing::Program program = testing::generate_program({}, 7);
  program.ops.push_back({.kind = testing::OpKind::unmap, .size = testing::granules(5)});
  const auto fails = [](const testing::Program& candidate) {
    return std::any_of(candidate.ops.begin(), candidate.ops.end(), [](const testing::Op& op) {
      return op.kind == testing::OpKind::unmap && op.size.count > 1;
    });
  };
  const testing::Program small = testing::shrink(program, fails);
  ASSERT_EQ(small.ops.size(), 1U);
  EXPECT_EQ(small.ops[0].size, testing::granules(2));
}

}  // namespace
}  // namespace tessera::model
