// What the tests of rules share. A rule has a program that breaks it and the nearest one that keeps
// it; tidy.py's check `rules` looks for both by name.
//
//   TESSERA_BREAKS(map_over_mapping) {     // exactly this rule is found, in both modes
//     m.map(m.mapped(1), 1, m.create(1));
//   }
//   TESSERA_KEEPS(map_over_mapping) {      // nothing is found
//     m.map(m.reserve(1), 1, m.create(1));
//   }
//
// With the rule ignored, the program that breaks it must not be found: rules_off_test.cpp tries it
// for all rules there are.
//
// The call that breaks the rule comes last, because refuse mode does not make it. What the
// simulated H200 answers to it is compared with the rule's consequence.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "support/bare_calls.h"
#include "tessera/layers/validating_driver.h"
#include "tessera/sim/sim_driver.h"

namespace tessera::rules {

using test::must;

inline constexpr DeviceOrdinal device_0{0};
inline constexpr DeviceOrdinal device_1{1};

// Two simulated devices under validation; device 0's primary context is current.
class RuleMachine : public test::BareCalls<RuleMachine> {
 public:
  explicit RuleMachine(const sim::Profile& profile, ValidationMode mode,
                       std::vector<RuleId> ignored = {})
      : simulator_(profile, {.devices = 2}),
        driver_(&simulator_, {.mode = mode, .ignored = std::move(ignored)}) {
    must(driver_.init(0));
    primary_ = must(driver_.device_primary_ctx_retain(device_0));
    must(driver_.ctx_set_current(primary_));
  }

  ValidatingDriver* operator->() noexcept { return &driver_; }
  [[nodiscard]] ValidatingDriver& driver() noexcept { return driver_; }
  [[nodiscard]] sim::SimDriver& simulator() noexcept { return simulator_; }
  [[nodiscard]] ContextHandle primary() const noexcept { return primary_; }

  [[nodiscard]] static Bytes unit() { return 2_MiB; }

  // Two reservations of a unit each, side by side; gives the first.
  DeviceAddress neighbours() {
    DeviceAddress before = reserve(1);
    for (DeviceAddress next = reserve(1); next != before + units(1); next = reserve(1)) {
      before = next;
    }
    return before;
  }
  // Memory for GPU-direct RDMA, mapped at units 0 to 2 of four.
  struct RdmaRow {
    AllocationHandle handle;
    DeviceAddress first;
    DeviceAddress second;
    DeviceAddress third;
    DeviceAddress vacant;
  };
  RdmaRow rdma_row() {
    const DeviceAddress address = reserve(4);
    const RdmaRow row = {.handle = create(1, {.gpu_direct_rdma_capable = 1}),
                         .first = address,
                         .second = address + units(1),
                         .third = address + units(2),
                         .vacant = address + units(3)};
    for (const DeviceAddress place : {row.first, row.second, row.third}) {
      must(map(place, 1, row.handle));
    }
    return row;
  }
  void undo(DeviceAddress address, std::uint64_t count) {
    must(unmap(address, count));
    must(free(address, count));
  }
  Status put(DeviceAddress address, std::size_t size = 1) {
    const std::vector<std::byte> bytes(size);
    return driver_.memcpy_htod({.destination = address, .source = bytes});
  }

 private:
  sim::SimDriver simulator_;
  ValidatingDriver driver_;
  ContextHandle primary_;
};

using Program = void (*)(RuleMachine&);

[[nodiscard]] sim::Profile h200();
[[nodiscard]] sim::Profile without_peers();
[[nodiscard]] sim::Profile with_fabric();

void expect_fires(RuleId rule, const sim::Profile& profile, Program program);
// Leaks come in company: a mapping that is left leaves its reservation.
void expect_leaks(const std::vector<RuleId>& rules, Program program);
void expect_silence(const sim::Profile& profile, Program program);

// One of the ways to break a rule, or a program that is near to one.
struct Clause {
  const char* name;
  RuleId rule;  // none: nothing is found
  Program program;
  sim::Profile (*profile)() = h200;
};
void expect_clause(const Clause& clause);
[[nodiscard]] inline std::string name_of(const testing::TestParamInfo<Clause>& clause) {
  return clause.param.name;
}

// What breaks a rule, for tests over all of them.
struct Breaking {
  RuleId rule = RuleId::none;
  // What is found in report mode.
  std::vector<Finding> (*findings)(const std::vector<RuleId>& ignored) = nullptr;
};
// Registered by TESSERA_BREAKS and its like.
[[nodiscard]] std::vector<Breaking>& all_breaking();
inline bool add_breaking(const Breaking& breaking) {
  all_breaking().push_back(breaking);
  return true;
}

}  // namespace tessera::rules

#define TESSERA_BREAKING(profile, rule)                                                \
  static void breaks_##rule(RuleMachine& m);                                           \
  static const bool is_listed_##rule =                                                 \
      add_breaking({RuleId::rule, [](const std::vector<RuleId>& ignored) {             \
                      RuleMachine machine(profile(), ValidationMode::report, ignored); \
                      breaks_##rule(machine);                                          \
                      return machine.driver().findings();                              \
                    }});
#define TESSERA_BREAKS_ON(profile, rule)                                          \
  TESSERA_BREAKING(profile, rule)                                                 \
  TEST(RuleFires, rule) { expect_fires(RuleId::rule, profile(), breaks_##rule); } \
  static void breaks_##rule([[maybe_unused]] RuleMachine& m)
#define TESSERA_KEEPS_ON(profile, rule)                                    \
  static void keeps_##rule(RuleMachine& m);                                \
  TEST(RuleStaysSilent, rule) { expect_silence(profile(), keeps_##rule); } \
  static void keeps_##rule([[maybe_unused]] RuleMachine& m)
#define TESSERA_BREAKS(rule) TESSERA_BREAKS_ON(h200, rule)
#define TESSERA_KEEPS(rule) TESSERA_KEEPS_ON(h200, rule)
#define TESSERA_LEAKS(...) TESSERA_LEAKS_WITH(__VA_ARGS__, )
#define TESSERA_LEAKS_WITH(rule, ...)                                                 \
  TESSERA_BREAKING(h200, rule)                                                        \
  TEST(RuleFires, rule) { expect_leaks({RuleId::rule, __VA_ARGS__}, breaks_##rule); } \
  static void breaks_##rule([[maybe_unused]] RuleMachine& m)
