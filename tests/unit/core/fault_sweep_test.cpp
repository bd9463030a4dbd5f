// Good programs pass a sweep; each kind of broken one is caught, and told apart.
#include "tessera/testing/fault_sweep.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "support/sim_sweep_world.h"
#include "tessera/scenario/reader.h"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr Bytes unit = 2_MiB;

SweepOptions on_simulator() { return {.make_world = test::make_sim_sweep_world}; }

SweepReport sweep(const SweepProgram& program, const SweepOptions& options = on_simulator()) {
  return sweep_faults(program, options);
}

auto what_is(const auto& matcher) { return Field("what", &SweepFailure::what, matcher); }

Status allow(Driver& driver, DeviceAddress address, Bytes size) {
  const AccessDescriptor access = {.location = {}, .flags = AccessFlags::read_write};
  return driver.mem_set_access({.address = address, .size = size, .descriptors = {&access, 1}});
}

// Runs an undo that cannot fail here.
void undo(const Status& status) { static_cast<void>(status); }

// Maps one unit at `address` and takes it away again.
Status map_and_unmap(Driver& driver, DeviceAddress address) {
  TESSERA_TRY_ASSIGN(const AllocationHandle memory,
                     driver.mem_create({.size = unit, .properties = {}}));
  const Status mapped = driver.mem_map({.address = address, .size = unit, .handle = memory});
  undo(driver.mem_release(memory));
  TESSERA_TRY(mapped);
  const Status allowed = allow(driver, address, unit);
  undo(driver.mem_unmap({.address = address, .size = unit}));
  return allowed;
}

Status good_program(Driver& driver) {
  TESSERA_TRY_ASSIGN(const DeviceAddress address, driver.mem_address_reserve({.size = unit}));
  const Status done = map_and_unmap(driver, address);
  undo(driver.mem_address_free({.address = address, .size = unit}));
  return done;
}

TEST(FaultSweep, PassesAProgramThatUndoesAll) {
  const SweepReport report = sweep(good_program);
  EXPECT_TRUE(report.passed()) << to_string(report);
  EXPECT_EQ(report.calls, 7U);
  // reserve 3, create 6, map 4, set access 5: all that each can give; and two runs without faults.
  EXPECT_EQ(report.faults, 20U);
  EXPECT_EQ(report.runs, 22U);
  EXPECT_EQ(to_string(report), "fault sweep: 7 calls, 22 runs, 20 faults, 0 failures\n");
}

TEST(FaultSweep, FailsTheCallsThatGiveBackToo) {
  SweepOptions options = on_simulator();
  options.never_fails = {};
  const SweepReport report = sweep(good_program, options);
  EXPECT_FALSE(report.passed());
  EXPECT_THAT(report.failures, Contains(Field(&SweepFailure::call, Call::mem_unmap)));
}

TEST(FaultSweep, TakesTheErrorsItIsGiven) {
  static constexpr std::array only = {ErrorCode::launch_timeout};
  SweepOptions options = on_simulator();
  options.errors_of = [](Call) { return std::span<const ErrorCode>(only); };
  const SweepReport report = sweep(good_program, options);
  EXPECT_TRUE(report.passed()) << to_string(report);
  EXPECT_EQ(report.faults, 4U);
}

// Two memories; if the second cannot be had, the first is forgotten.
Status leaks_on_second_create(Driver& driver) {
  TESSERA_TRY_ASSIGN(const AllocationHandle first,
                     driver.mem_create({.size = unit, .properties = {}}));
  TESSERA_TRY_ASSIGN(const AllocationHandle second,
                     driver.mem_create({.size = unit, .properties = {}}));
  undo(driver.mem_release(second));
  return driver.mem_release(first);
}

TEST(FaultSweep, CatchesALeak) {
  const SweepReport report = sweep(leaks_on_second_create);
  ASSERT_THAT(report.failures, SizeIs(call_errors(Call::mem_create).size()));
  const SweepFailure& failure = report.failures.front();
  EXPECT_EQ(failure.call_number, 2U);
  EXPECT_EQ(failure.call, Call::mem_create);
  EXPECT_EQ(failure.what, "it leaves 1 allocations, 1 handles");
  EXPECT_THAT(to_string(report),
              HasSubstr("call 2, mem_create, INVALID_VALUE: it leaves 1 allocations, 1 handles\n"));
}

TEST(FaultSweep, ShowsAFailedRunAsAScenario) {
  SweepOptions options = on_simulator();
  options.trace_granule = unit;
  options.trace_start = scenario::Start::context;
  options.traces_max = 1;
  const SweepReport report = sweep(leaks_on_second_create, options);
  ASSERT_THAT(report.failures, Not(IsEmpty()));
  EXPECT_EQ(report.failures[0].trace,
            "case call-2\n  create h0 size=1u => OK\n  create h1 size=1u => INVALID_VALUE\nend\n");
  EXPECT_EQ(report.failures[1].trace, "");
  EXPECT_TRUE(std::holds_alternative<scenario::Scenario>(
      scenario::read_scenario(report.failures[0].trace, "trace")));
}

TEST(FaultSweep, CatchesASwallowedError) {
  const SweepProgram program = [](Driver& driver) -> Status {
    if (const auto memory = driver.mem_create({.size = unit, .properties = {}})) {
      return driver.mem_release(*memory);
    }
    return {};
  };
  const SweepReport report = sweep(program);
  ASSERT_THAT(report.failures, SizeIs(call_errors(Call::mem_create).size()));
  EXPECT_THAT(report.failures, Each(what_is(HasSubstr("swallowed"))));
  SweepOptions options = on_simulator();
  options.may_recover = true;
  EXPECT_TRUE(sweep(program, options).passed());
}

TEST(FaultSweep, CatchesALaterErrorReportedInsteadOfTheFirst) {
  const SweepReport report = sweep([](Driver& driver) -> Status {
    const auto memory = driver.mem_create({.size = unit, .properties = {}});
    return driver.mem_release(memory.value_or(AllocationHandle()));
  });
  // With the same code as the first, too: another call gave it.
  ASSERT_THAT(report.failures, SizeIs(call_errors(Call::mem_create).size()));
  EXPECT_THAT(report.failures,
              Each(what_is(AllOf(HasSubstr("another error than the first"),
                                 HasSubstr("mem_release: INVALID_VALUE (1) from the simulator")))));
}

TEST(FaultSweep, TakesAnErrorThatALibraryPassesOnAsItsOwn) {
  const auto passing_on = [](ErrorCode instead) {
    return [instead](Driver& driver) -> Status {
      const auto memory = driver.mem_create({.size = unit, .properties = {}});
      if (!memory) {
        return Error{.code = instead == ErrorCode{} ? memory.error().code : instead};
      }
      return driver.mem_release(*memory);
    };
  };
  EXPECT_TRUE(sweep(passing_on(ErrorCode{})).passed());
  EXPECT_FALSE(sweep(passing_on(ErrorCode::not_ready)).passed());
}

TEST(FaultSweep, CatchesAProgramThatBreaksOnARetry) {
  // Its state, outside the world, is left as it was when the call failed.
  bool is_busy = false;
  SweepOptions options = on_simulator();
  options.traces_max = 0;
  const SweepProgram program = [&is_busy](Driver& driver) -> Status {
    if (std::exchange(is_busy, true)) {
      is_busy = false;
      return Error{.code = ErrorCode::illegal_state};
    }
    TESSERA_TRY_ASSIGN(const AllocationHandle memory,
                       driver.mem_create({.size = unit, .properties = {}}));
    undo(driver.mem_release(memory));
    is_busy = false;
    return {};
  };
  const SweepReport report = sweep(program, options);
  ASSERT_THAT(report.failures, SizeIs(call_errors(Call::mem_create).size()));
  EXPECT_THAT(
      report.failures,
      Each(what_is(StartsWith("run again without faults it fails: tessera: ILLEGAL_STATE"))));
}

TEST(FaultSweep, CatchesBrokenRules) {
  class Ruled final : public SweepWorld {
   public:
    Driver& driver() override { return world_->driver(); }
    std::string leaks() override { return world_->leaks(); }
    std::string violations() override { return driver().mem_get_info() ? "" : "no context"; }

   private:
    std::unique_ptr<SweepWorld> world_ = test::make_sim_sweep_world();
  };
  SweepOptions options = on_simulator();
  options.make_world = [] { return std::make_unique<Ruled>(); };
  EXPECT_TRUE(sweep(good_program, options).passed());
  const SweepReport report = sweep(
      [](Driver& driver) -> Status {
        const auto info = driver.mem_get_info();
        if (!info) {
          undo(driver.ctx_set_current(ContextHandle()));
          return info.error();
        }
        return {};
      },
      options);
  EXPECT_FALSE(report.passed());
  EXPECT_THAT(report.failures, Each(what_is(HasSubstr("it breaks rules: no context"))));
}

TEST(FaultSweep, RefusesAProgramThatBreaksRulesByItself) {
  class Broken final : public SweepWorld {
   public:
    Driver& driver() override { return world_->driver(); }
    std::string leaks() override { return world_->leaks(); }
    std::string violations() override { return "a rule"; }

   private:
    std::unique_ptr<SweepWorld> world_ = test::make_sim_sweep_world();
  };
  SweepOptions options = on_simulator();
  options.make_world = [] { return std::make_unique<Broken>(); };
  const SweepReport report = sweep(good_program, options);
  EXPECT_THAT(report.failures, ElementsAre(what_is("without faults it breaks rules: a rule")));
  EXPECT_THAT(to_string(report), HasSubstr("1 failures\nwithout faults it breaks rules: a rule\n"));
}

// What it leaves behind in the program itself is not asked then.
TEST(FaultSweep, RunsNothingAgainWhereNoRetriesAreWanted) {
  SweepOptions options = on_simulator();
  options.retries = false;
  options.calls_max = 100;
  std::size_t runs = 0;
  const SweepReport report = sweep(
      [&runs](Driver& driver) {
        ++runs;
        return good_program(driver);
      },
      options);
  EXPECT_TRUE(report.passed()) << to_string(report);
  EXPECT_EQ(runs, report.runs);
}

TEST(FaultSweep, RefusesAProgramThatFailsOrLeaksByItself) {
  const SweepReport fails = sweep([](Driver& driver) { return driver.mem_release({}); });
  ASSERT_THAT(fails.failures, SizeIs(1));
  EXPECT_THAT(fails.failures[0].what, StartsWith("without faults it fails: mem_release"));
  EXPECT_EQ(fails.failures[0].call_number, 0U);
  EXPECT_EQ(fails.faults, 0U);
  const SweepReport leaks = sweep([](Driver& driver) -> Status {
    TESSERA_TRY(driver.mem_create({.size = unit, .properties = {}}));
    return {};
  });
  EXPECT_THAT(leaks.failures,
              ElementsAre(what_is("without faults it leaves 1 allocations, 1 handles")));
}

TEST(FaultSweep, RefusesAProgramWhoseCallsChangeFromRunToRun) {
  int run = 0;
  const SweepReport report = sweep([&run](Driver& driver) -> Status {
    ++run;
    for (int i = 0; i < run; ++i) {
      TESSERA_TRY(driver.mem_get_info());
    }
    return {};
  });
  ASSERT_THAT(report.failures, SizeIs(1));
  EXPECT_EQ(report.failures[0].what,
            "two runs without faults make different calls: call 2 is none, and mem_get_info in the "
            "second");
}

TEST(FaultSweep, CatchesCallsThatChangeBeforeTheFault) {
  int run = 0;
  const SweepReport report = sweep([&run](Driver& driver) -> Status {
    if (++run > 2) {
      return {};
    }
    TESSERA_TRY(driver.mem_get_info());
    return {};
  });
  ASSERT_THAT(report.failures, Not(IsEmpty()));
  EXPECT_THAT(report.failures[0].what, HasSubstr("call 1 is mem_get_info, and none in this one"));
}

TEST(FaultSweep, EndsAProgramThatTriesForEver) {
  // It would wait for ever for an answer that never comes once a call has failed.
  const SweepReport report = sweep([](Driver& driver) -> Status {
    const auto count = driver.device_get_count();
    while (!count) {
      if (driver.device_get_count() && driver.mem_release({})) {
        return {};
      }
    }
    return {};
  });
  ASSERT_THAT(report.failures, SizeIs(1));
  EXPECT_THAT(report.failures[0].what, StartsWith("it does not end: more than 1010 calls"));
}

TEST(FaultSweep, EndsAProgramThatDoesNotEndEvenWithoutFaults) {
  SweepOptions options = on_simulator();
  options.calls_max = 50;
  const SweepReport report = sweep(
      [](Driver& driver) -> Status {
        for (;;) {
          TESSERA_TRY(driver.device_get_count());
        }
      },
      options);
  EXPECT_THAT(report.failures, ElementsAre(what_is("without faults it does not end")));
}

TEST(FaultSweep, PassesOnlyIfSomethingRan) { EXPECT_FALSE(SweepReport().passed()); }

TEST(FaultSweep, PrintsTheFirstFailuresOfMany) {
  SweepReport report{.calls = 30, .runs = 32, .faults = 30};
  for (std::uint64_t i = 1; i <= 30; ++i) {
    report.failures.push_back(
        {.call_number = i, .call = Call::mem_map, .error = ErrorCode::unknown, .what = "it leaks"});
  }
  const std::string text = to_string(report);
  EXPECT_THAT(text, HasSubstr("call 20, mem_map, UNKNOWN: it leaks\nand 10 more\n"));
  EXPECT_THAT(text, Not(HasSubstr("call 21,")));
}

}  // namespace
}  // namespace tessera::testing
