// With any quirk of a profile turned round on the simulator alone, random programs notice.
#include <iostream>
#include <regex>
#include <variant>

#include "property/programs.h"
#include "support/stop_watch.h"
#include "tessera/sim/profile_file.h"

namespace tessera::rules_off {
namespace {

struct Turned {
  std::string quirk;
  sim::Profile profile;
};

// The profile once for each quirk. Its text names them all, so that none can be forgotten here.
std::vector<Turned> each_quirk_turned(const sim::Profile& profile) {
  const std::string text = sim::profile_to_text(profile);
  const std::size_t begin = text.find("\"quirks\"");
  const std::size_t end = text.find('}', begin);
  std::vector<Turned> all;
  const std::regex quirk("\"(\\w+)\": (true|false)");
  const auto first = text.cbegin() + static_cast<std::ptrdiff_t>(begin);
  const auto last = text.cbegin() + static_cast<std::ptrdiff_t>(end);
  for (std::sregex_iterator found(first, last, quirk); found != std::sregex_iterator(); ++found) {
    std::string turned = text;
    turned.replace(begin + static_cast<std::size_t>(found->position(2)),
                   static_cast<std::size_t>(found->length(2)),
                   found->str(2) == "true" ? "false" : "true");
    all.push_back({found->str(1), std::get<sim::Profile>(sim::profile_from_text(turned))});
  }
  return all;
}

// The first program that notices; zero: none does.
std::uint64_t program_that_notices(const sim::Profile& turned, const model::MachineKind& kind) {
  const sim::Profile& original = model::profile_of(kind);
  testing::ProgramGenerator generator(model::generator_options(original, kind.devices));
  model::Differential differential(turned, {.devices = kind.devices, .model_profile = &original});
  testing::Program program;
  for (std::uint64_t seed = 1; seed <= model::many_programs; ++seed) {
    generator.generate(seed, program);
    if (differential.run(program)) {
      return seed;
    }
  }
  return 0;
}

class QuirksTurned : public ::testing::TestWithParam<model::MachineKind> {};

TEST_P(QuirksTurned, AreNoticed) {
  const std::vector<Turned> all = each_quirk_turned(model::profile_of(GetParam()));
  ASSERT_FALSE(all.empty());
  for (const Turned& turned : all) {
    const test::StopWatch watch;
    const std::uint64_t program = program_that_notices(turned.profile, GetParam());
    std::cout << turned.quirk << ": program " << program << ", " << watch.milliseconds() << " ms\n";
    EXPECT_NE(program, 0U) << turned.quirk;
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, QuirksTurned, ::testing::ValuesIn(model::machine_kinds),
                         [](const auto& kind) {
                           return std::string(kind.param.profile) +
                                  std::to_string(kind.param.devices);
                         });

}  // namespace
}  // namespace tessera::rules_off
