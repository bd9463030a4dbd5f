// What the property tests share: programs as values that rapidcheck draws and makes smaller, and
// the properties over the profiles.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "model/differential.h"
#include "tessera/scenario/writer.h"
#include "tessera/testing/program_generator.h"
#include "tessera/testing/program_shrink.h"
#include "tessera/testing/program_text.h"

namespace tessera::model {

struct MachineKind {
  const char* profile;
  std::int32_t devices;
};
inline constexpr MachineKind machine_kinds[] = {{"tiny", 1}, {"tiny", 2}, {"odd", 2},
                                                {"h200", 1}, {"h200", 2}, {"documented", 1}};

// Of each, programs 1 to so many are compared.
inline constexpr std::uint64_t many_programs = 1'500;

inline const sim::Profile& profile_of(const MachineKind& kind) {
  return *sim::built_in_profile(kind.profile);
}

// A program that rapidcheck draws: shrinking drops calls.
inline rc::Gen<testing::Program> programs(const testing::GeneratorOptions& options) {
  const auto of_seed = [options](std::uint64_t seed) {
    return testing::generate_program(options, seed);
  };
  const rc::Gen<testing::Program> drawn =
      rc::gen::map(rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()), of_seed);
  return rc::gen::shrink(drawn, [](testing::Program program) {
    // Halves, then single calls.
    std::vector<testing::Program> smaller;
    const std::size_t size = program.ops.size();
    for (std::size_t part = size / 2; part != 0; part /= 2) {
      for (std::size_t first = 0; first + part <= size; first += part) {
        testing::Program candidate = program;
        const auto begin = candidate.ops.begin() + static_cast<std::ptrdiff_t>(first);
        candidate.ops.erase(begin, begin + static_cast<std::ptrdiff_t>(part));
        candidate.drain = candidate.ops.size();
        smaller.push_back(std::move(candidate));
      }
    }
    return rc::seq::fromContainer(smaller);
  });
}

}  // namespace tessera::model

namespace tessera::testing {

// How rapidcheck shows a counterexample: a scenario.
inline void showValue(const Program& program, std::ostream& out) {  // NOLINT: rapidcheck's name
  out << '\n' << scenario::to_string(to_case(program, "counterexample"));
}

}  // namespace tessera::testing
