// The simulator answers as the naive model says, whatever is called in whatever order.
#include "property/programs.h"

namespace tessera::model {
namespace {

class Simulator : public ::testing::TestWithParam<MachineKind> {};

// State machine style: each command of the program runs on both, and after each all that can be
// asked of the driver is compared.
TEST_P(Simulator, AgreesWithTheModelInAllThatCanBeAsked) {
  const sim::Profile& profile = profile_of(GetParam());
  testing::GeneratorOptions options = generator_options(profile, GetParam().devices);
  options.length = 14;
  const DifferentialOptions thorough = {.devices = GetParam().devices, .level = Level::thorough};
  const bool holds = rc::check("all observable state is the model's", [&] {
    const testing::Program program = *programs(options);
    const auto found = difference(profile, thorough, program);
    if (found) {
      RC_LOG() << "call " << found->at + 1 << ": " << found->what
               << "\nreplay it with: tessera replay --profile " << GetParam().profile
               << " --devices " << GetParam().devices << " FILE\n";
    }
    RC_ASSERT((!found.has_value()));
  });
  EXPECT_TRUE(holds);
}

// Many programs, quickly: codes, values, counts and free memory after each call.
TEST_P(Simulator, AgreesWithTheModelInManyPrograms) {
  const sim::Profile& profile = profile_of(GetParam());
  testing::ProgramGenerator generator(generator_options(profile, GetParam().devices));
  Differential differential(profile, {.devices = GetParam().devices});
  testing::Program program;
  for (std::uint64_t seed = 1; seed <= many_programs; ++seed) {
    generator.generate(seed, program);
    const auto found = differential.run(program);
    ASSERT_FALSE(found.has_value())
        << "seed " << seed << ", call " << found->at + 1 << ": " << found->what << "\n"
        << scenario::to_string(testing::to_case(program, "found", found->outcomes));
  }
  EXPECT_EQ(differential.deep_states().programs(), many_programs);
}

INSTANTIATE_TEST_SUITE_P(Machines, Simulator, ::testing::ValuesIn(machine_kinds),
                         [](const auto& kind) {
                           return std::string(kind.param.profile) +
                                  std::to_string(kind.param.devices);
                         });

// The comparison itself: a model that goes by a wrong rule is found out.
struct WrongRule {
  const char* name;
  void (*plant)(sim::Profile& profile);
  std::size_t most = 10;  // calls that the smallest program may have
};
class PlantedFault : public ::testing::TestWithParam<WrongRule> {};

TEST_P(PlantedFault, IsFoundAndMadeSmall) {
  const sim::Profile& profile = *sim::built_in_profile("tiny");
  sim::Profile wrong = profile;
  GetParam().plant(wrong);
  const DifferentialOptions options = {.model_profile = &wrong};
  testing::ProgramGenerator generator(generator_options(profile, 1));
  testing::Program program;
  std::optional<Difference> found;
  for (std::uint64_t seed = 1; seed <= 20'000 && !found; ++seed) {
    generator.generate(seed, program);
    found = difference(profile, options, program);
  }
  ASSERT_TRUE(found.has_value());
  const testing::Program small = testing::shrink(program, [&](const testing::Program& candidate) {
    return difference(profile, options, candidate).has_value();
  });
  EXPECT_LE(small.ops.size(), GetParam().most)
      << scenario::to_string(testing::to_case(small, "small"));
  EXPECT_FALSE(difference(profile, {}, small).has_value());
}

// Answers a question wrongly that programs seldom ask, and probes always do.
class WrongSize final : public DriverWrapper {
 public:
  explicit WrongSize(Driver* target) : DriverWrapper(target) {}
  Result<std::uint64_t> pointer_get_attribute(const PointerAttributeRequest& request) override {
    auto answer = target().pointer_get_attribute(request);
    if (answer && request.attribute == PointerAttribute::mapping_size) {
      ++*answer;
    }
    return answer;
  }
};

TEST(Probes, DifferAgainAlone) {
  const sim::Profile& profile = *sim::built_in_profile("tiny");
  const DifferentialOptions options = {
      .layer = [](Driver* simulator) { return std::make_unique<WrongSize>(simulator); }};
  testing::ProgramGenerator generator(generator_options(profile, 1));
  Differential differential(profile, options);
  testing::Program program;
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 2'000 && found < 5; ++seed) {
    generator.generate(seed, program);
    const auto first = differential.run(program);
    if (first && first->what.starts_with("asked for")) {
      ++found;
      EXPECT_TRUE(difference(profile, options, program).has_value()) << "seed " << seed;
    }
  }
  EXPECT_EQ(found, 5);
}

constexpr WrongRule wrong_rules[] = {
    {"UnmapHoles", [](sim::Profile& of) { of.quirks.unmap_accepts_holes = false; }},
    {"GrantOverHole", [](sim::Profile& of) { of.quirks.set_access_stops_at_hole = false; }},
    {"MapPastEnd", [](sim::Profile& of) { of.quirks.map_may_leave_reservation = false; }},
    {"PartialMapping", [](sim::Profile& of) { of.quirks.partial_mapping = true; }},
    {"FreeWhileMapped", [](sim::Profile& of) { of.quirks.address_free_refuses_mapped = false; }},
    {"ExportImported", [](sim::Profile& of) { of.quirks.reexport_imported = true; }},
    {"CopiesCheck", [](sim::Profile& of) { of.quirks.copies_check_access = false; }},
    {"CpuCopies", [](sim::Profile& of) { of.quirks.cpu_copies_host_memory = false; }},
    {"RdmaFirst", [](sim::Profile& of) { of.quirks.rdma_needs_first_mapping = false; }},
    {"UnknownTypes", [](sim::Profile& of) { of.quirks.ignores_unknown_handle_types = false; }},
    {"Capacity", [](sim::Profile& of) { of.memory_reserved = of.memory_reserved + 64_KiB; }},
    // Sixteen mappings, and what they need.
    {"PageTables", [](sim::Profile& of) { of.accessible_mappings_max = 15; }, 20},
    {"ContextMemory", [](sim::Profile& of) { of.context_static = of.context_static + 64_KiB; }},
    {"HeapAlignment", [](sim::Profile& of) { of.heap_alignment = 512_B; }},
    {"CallCost",
     [](sim::Profile& of) {
       of.costs[Call::launch_touch] = {1'000'000, 0};
     }},
};
INSTANTIATE_TEST_SUITE_P(Rules, PlantedFault, ::testing::ValuesIn(wrong_rules),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace tessera::model
