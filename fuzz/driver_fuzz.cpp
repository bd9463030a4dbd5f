// Programs of driver calls on the simulator, judged by the naive model. The first two bytes choose
// the machine and how the rest is read (program_generator.h).
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "model/differential.h"
#include "tessera/scenario/writer.h"
#include "tessera/testing/program_generator.h"
#include "tessera/testing/program_text.h"

#ifndef TESSERA_FUZZ_PLANTED_FAULT
#define TESSERA_FUZZ_PLANTED_FAULT 0
#endif

namespace tessera {
namespace {

// A kind of machine, kept from input to input.
struct Machine {
  Machine(const char* name, std::int32_t devices)
      : profile(*sim::built_in_profile(name)),
        model_profile(profile),
        generator(options_of(profile, devices)),
        differential(profile, {.devices = devices, .model_profile = &model_profile}) {
#if TESSERA_FUZZ_PLANTED_FAULT
    // The canary: a rule that the simulator does not have.
    model_profile.quirks.address_free_refuses_mapped = !profile.quirks.address_free_refuses_mapped;
#endif
  }
  // Without what costs system calls.
  static testing::GeneratorOptions options_of(const sim::Profile& profile, std::int32_t devices) {
    testing::GeneratorOptions options = model::generator_options(profile, devices);
    options.host_memory = false;
    return options;
  }

  const sim::Profile& profile;
  sim::Profile model_profile;
  testing::ProgramGenerator generator;
  model::Differential differential;
};

void run(std::span<const std::uint8_t> bytes) {
  static std::array machines = {
      std::make_unique<Machine>("tiny", 1), std::make_unique<Machine>("tiny", 2),
      std::make_unique<Machine>("odd", 2), std::make_unique<Machine>("h200", 1)};
  if (bytes.empty()) {
    return;
  }
  Machine& machine = *machines[bytes[0] % machines.size()];
  testing::Program program;
  machine.generator.generate(bytes.subspan(1), program);
  if (const auto found = machine.differential.run(program)) {
    std::fprintf(stderr, "# %s, call %zu: %s\n%s", machine.profile.name.c_str(), found->at + 1,
                 found->what.c_str(),
                 scenario::to_string(testing::to_case(program, "fuzzed", found->outcomes)).c_str());
#if TESSERA_FUZZ_PLANTED_FAULT
    std::_Exit(1);  // a test that is to fail may not crash
#else
    std::abort();
#endif
  }
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tessera::run({data, size});
  return 0;
}
