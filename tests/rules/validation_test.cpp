// The layer itself: modes, sinks, what it asks, threads.
#include <set>
#include <thread>

#include "rule_machine.h"
#include "support/matchers.h"
#include "support/mock_driver.h"
#include "tessera/call_site.h"

namespace tessera::rules {
namespace {

using test::fails_with;
using testing::HasSubstr;

TEST(Rules, HaveNamesNumbersAndTexts) {
  std::set<std::string_view> names;
  for (const Rule& rule : all_rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_EQ(&rule_of(rule.id), &rule);
    EXPECT_EQ(rule_named(rule.name), rule.id);
    EXPECT_FALSE(rule.text.empty() || rule.done.empty() || rule.instead.empty()) << rule.name;
    EXPECT_NE(rule.instead.back(), '.') << rule.name;
  }
  EXPECT_EQ(rule_of(RuleId::none).name, "");
  EXPECT_EQ(rule_of(static_cast<RuleId>(9999)).name, "");
  EXPECT_EQ(rule_named("no_such_rule"), RuleId::none);
}

TEST(Validation, RefusesWithAnErrorThatNamesTheRule) {
  RuleMachine m(h200(), ValidationMode::refuse);
  const auto handle = m->mem_create({.size = Bytes(6912), .properties = {}});
  ASSERT_THAT(handle, fails_with(ErrorCode::invalid_value));
  EXPECT_EQ(handle.error().origin, Origin::validation);
  EXPECT_EQ(handle.error().rule, RuleId::create_size);
  EXPECT_EQ(
      to_string(handle.error()),
      "mem_create: INVALID_VALUE (1) from validation, rule create_size (301): 6912 bytes were "
      "asked for; the granularity is 2 MiB (2097152); the call was not made");
}

TEST(Validation, DoesNotMakeACallThatItRefuses) {
  testing::NiceMock<test::MockDriver> target;
  EXPECT_CALL(target, mem_release).Times(0);
  ValidatingDriver driver(&target, {.mode = ValidationMode::refuse});
  EXPECT_FALSE(driver.mem_release(AllocationHandle(0xbad)));
}

TEST(Validation, ReportsPortabilityAndGoesOnInRefuseMode) {
  RuleMachine m(h200(), ValidationMode::refuse);
  const DeviceAddress address = m.reserve(2);
  m.fill(address, 1);
  m.fill(address + m.units(1), 1);
  must(m.unmap(address, 2));
  EXPECT_EQ(m->finding_count(), 1U);
}

TEST(Validation, SaysWhatWasDoneToWhichObjectAndWhatToDoInstead) {
  RuleMachine m(h200(), ValidationMode::report);
  const DeviceAddress address = m.mapped(1);
  {
    const CallSiteScope site({.file = "pool.cpp", .line = 31});
    EXPECT_FALSE(m.map(address, 1, m.create(1)));
  }
  const std::string text = to_string(m->findings().at(0));
  EXPECT_THAT(text, HasSubstr("mem_map at pool.cpp:31: rule map_over_mapping (405): 2 MiB"));
  EXPECT_THAT(text, HasSubstr("by call 6 (mem_map)"));
  EXPECT_THAT(text, HasSubstr("The driver answers INVALID_VALUE. "));
  EXPECT_THAT(text, HasSubstr("Instead: unmap what is there, or map elsewhere."));
}

TEST(Validation, SaysWhereARealDriverWouldCrash) {
  RuleMachine m(h200(), ValidationMode::report);
  const StreamHandle stream = must(m->stream_create(StreamFlags::blocking));
  must(m->stream_destroy(stream));
  EXPECT_FALSE(m->stream_destroy(stream));
  EXPECT_THAT(to_string(m->findings().at(0)),
              HasSubstr("The driver answers INVALID_CONTEXT; a real one may end the process"));
  // One that does not notice.
  EXPECT_THAT(to_string(Finding{.rule = RuleId::stream_destroyed, .call = Call::stream_destroy}),
              HasSubstr("A real driver ends the process here."));
}

TEST(Validation, NamesRangesOfADmaBufThatAreNotThere) {
  RuleMachine m(h200(), ValidationMode::report);
  const DeviceAddress address = must(m->mem_alloc(1_MiB));
  EXPECT_FALSE(m->mem_get_handle_for_address_range({.address = address, .size = 1_MiB + 4_KiB}));
  ASSERT_EQ(m->findings().size(), 1U);
  EXPECT_EQ(m->findings()[0].rule, RuleId::range_handle_not_mapped);
  EXPECT_EQ(m->findings()[0].values[2], (address + 1_MiB).value());
}

TEST(Validation, LeavesOutRulesThatAreIgnored) {
  sim::SimDriver simulator(h200());
  ValidatingDriver driver(&simulator, {.portability = false, .ignored = {RuleId::create_size}});
  must(driver.init(0));
  EXPECT_FALSE(driver.mem_create({.size = Bytes(1), .properties = {}}));
  EXPECT_EQ(driver.finding_count(), 0U);
}

TEST(Validation, KeepsTheFirstFindingsAndTellsTheSinkOfAll) {
  sim::SimDriver simulator(h200());
  std::size_t told = 0;
  ValidatingDriver* layer = nullptr;
  ValidatingDriver driver(&simulator, {.on_finding =
                                           [&](const Finding&) {
                                             ++told;
                                             must(layer->device_get_count());  // may call
                                           },
                                       .findings_max = 2});
  layer = &driver;
  must(driver.init(0));
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(driver.mem_create({.size = Bytes(1), .properties = {}}));
  }
  EXPECT_EQ(told, 5U);
  EXPECT_EQ(driver.finding_count(), 5U);
  EXPECT_EQ(driver.findings().size(), 2U);
}

// Granularity, devices and the current context: once, not on each call.
TEST(Validation, AsksTheTargetNothingOnEachCall) {
  sim::SimDriver simulator(h200());
  testing::NiceMock<test::MockDriver> target;
  target.delegate_to(simulator);
  EXPECT_CALL(target, mem_get_allocation_granularity).Times(1);
  EXPECT_CALL(target, device_get_count).Times(1);
  EXPECT_CALL(target, ctx_get_current).Times(1);
  ValidatingDriver driver(&target);
  must(driver.init(0));
  must(simulator.ctx_set_current(must(driver.device_primary_ctx_retain(device_0))));
  const AccessDescriptor access = {.location = {}, .flags = AccessFlags::read_write};
  for (int i = 0; i < 10; ++i) {
    const DeviceAddress address = must(driver.mem_address_reserve({.size = 2_MiB}));
    const AllocationHandle handle = must(driver.mem_create({.size = 2_MiB, .properties = {}}));
    must(driver.mem_map({.address = address, .size = 2_MiB, .handle = handle}));
    must(driver.mem_set_access(
        {.address = address, .size = 2_MiB, .descriptors = std::span(&access, 1)}));
    must(driver.memset_d8({.destination = address, .value = 1, .size = 2_MiB}));
    must(driver.ctx_synchronize());
    must(driver.mem_unmap({.address = address, .size = 2_MiB}));
    must(driver.mem_release(handle));
    must(driver.mem_address_free({.address = address, .size = 2_MiB}));
  }
  EXPECT_EQ(driver.finding_count(), 0U);
}

TEST(Validation, HasNoFindingOnThreadsThatDoRight) {
  RuleMachine m(h200(), ValidationMode::report);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&m] {
      must(m->ctx_set_current(m.primary()));
      for (int round = 0; round < 200; ++round) {
        const DeviceAddress address = m.mapped(1);
        must(m.put(address));
        must(m->stream_synchronize({}));
        m.undo(address, 1);
        must(m->mem_free(must(m->mem_alloc(Bytes(16)))));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(m->finding_count(), 0U);
}

// A program shares its process with a runtime that holds the primary context.
TEST(Validation, LeavesContextsAloneThatOthersHold) {
  sim::SimDriver simulator(h200());
  must(simulator.init(0));
  const ContextHandle primary = must(simulator.device_primary_ctx_retain(device_0));
  must(simulator.ctx_set_current(primary));
  ValidatingDriver driver(&simulator);
  must(driver.ctx_get_current());
  must(driver.device_primary_ctx_retain(device_0));
  const DeviceAddress memory = must(driver.mem_alloc(Bytes(16)));
  must(driver.device_primary_ctx_release(device_0));  // not the last reference
  must(driver.ctx_set_current(primary));
  must(driver.mem_free(memory));
  EXPECT_TRUE(driver.findings().empty()) << to_string(driver.findings().front());
  EXPECT_TRUE(driver.check_leaks().is_empty());
}

TEST(Validation, NamesKernelsOnMemoryThatWasFreedAndOnNull) {
  RuleMachine m(h200(), ValidationMode::refuse);
  const DeviceAddress freed = must(m->mem_alloc(Bytes(1024)));
  must(m->mem_free(freed));
  EXPECT_FALSE(m.launch(freed));
  EXPECT_FALSE(m.launch(DeviceAddress()));
  ASSERT_EQ(m->findings().size(), 2U);
  for (const Finding& finding : m->findings()) {
    EXPECT_EQ(finding.rule, RuleId::launch_not_mapped);
  }
}

TEST(Validation, NamesTheFirstAddressThatACopyDoesNotFind) {
  RuleMachine m(h200(), ValidationMode::report);
  const DeviceAddress memory = must(m->mem_alloc(2_MiB));
  EXPECT_FALSE(m->memset_d8({.destination = memory, .value = 0, .size = 4_MiB}));
  ASSERT_EQ(m->findings().size(), 1U);
  EXPECT_EQ(m->findings().front().values[2], (memory + 2_MiB).value());
  must(m->mem_free(memory));
}

}  // namespace
}  // namespace tessera::rules
