// Cases on drivers that fail, and on drivers that answer what no simulator does.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "driver_world.h"
#include "support/matchers.h"
#include "support/mock_driver.h"
#include "tessera/layers/fault_injecting_driver.h"
#include "tessera/scenario/reader.h"
#include "tessera/scenario/runner.h"
#include "tessera/sim/sim_driver.h"

namespace tessera::scenario {
namespace {

using test::fails_with;
using test::is_ok;
using test::MockDriver;
using testing::ElementsAre;
using testing::NiceMock;
using testing::Return;

constexpr Bytes unit = 2_MiB;

class WorldWithoutDescriptors final : public tools::DriverWorld {
 public:
  using DriverWorld::DriverWorld;
  int open_descriptor(DescriptorKind /*kind*/) override { return -1; }
};

std::string run(CaseRunner& runner, std::string_view call) {
  const auto read = read_call(call);
  EXPECT_TRUE(std::holds_alternative<Call>(read)) << call;
  return runner.run(std::get<Call>(read).operation).text();
}

// The simulated H200, of which one kind of call fails.
class FailingCase : public testing::Test {
 protected:
  // The answer to the last of these calls, with `failing` from there on.
  std::string answer(const std::vector<std::string>& calls, tessera::Call failing) {
    CaseRunner runner(world_, Start::context);
    EXPECT_THAT(runner.begin(), is_ok());
    for (std::size_t i = 0; i + 1 < calls.size(); ++i) {
      EXPECT_THAT(run(runner, calls[i]), testing::StartsWith("OK")) << calls[i];
    }
    if (failing != tessera::Call::none) {
      fail(failing);
    }
    const std::string got = run(runner, calls.back());
    faults_.set_plan({});
    static_cast<void>(runner.undo());
    return got;
  }
  void fail(tessera::Call call) {
    faults_.set_plan({.faults = {Fault::each_of(call, ErrorCode::not_ready)}});
  }

  sim::SimDriver driver_{*sim::built_in_profile("h200"), {.devices = 2}};
  FaultInjectingDriver faults_{&driver_, {}};
  WorldWithoutDescriptors world_{faults_, unit};
};

TEST_F(FailingCase, DoesNotBegin) {
  const Case scenario_case = {.name = "a"};
  for (const tessera::Call call : {tessera::Call::init, tessera::Call::device_primary_ctx_retain}) {
    fail(call);
    EXPECT_THAT(run_case(world_, scenario_case, [](const Call&, const Answer&) { return true; }),
                fails_with(ErrorCode::not_ready));
  }
}

TEST_F(FailingCase, EndsWhereItsSinkSaysSo) {
  const auto read = read_scenario("case a\n  version\n  version\nend\n", "t");
  int calls = 0;
  EXPECT_THAT(run_case(world_, std::get<Scenario>(read).cases[0],
                       [&](const Call&, const Answer&) { return ++calls == 0; }),
              is_ok());
  EXPECT_EQ(calls, 1);
}

TEST_F(FailingCase, ShowsTheErrorOfTheCallThatFailed) {
  using enum tessera::Call;
  EXPECT_EQ(answer({"version"}, driver_get_version), "NOT_READY");
  EXPECT_EQ(answer({"devcount"}, device_get_count), "NOT_READY");
  EXPECT_EQ(answer({"devmem dev=1"}, device_total_mem), "NOT_READY");
  EXPECT_EQ(answer({"alloc p0 size=1", "kread p0"}, launch_touch), "NOT_READY");
  EXPECT_EQ(answer({"alloc p0 size=1", "kread p0"}, ctx_synchronize), "NOT_READY");
  EXPECT_EQ(answer({"hostalloc p0 size=1", "free p0"}, mem_free_host), "NOT_READY");
  EXPECT_EQ(answer({"mc.create h0 devices=2 size=1u"}, multicast_create), "NOT_READY");
  EXPECT_EQ(answer({"alloc p0 size=1", "sameblock p0 p0"}, pointer_get_attribute), "NOT_READY");
  EXPECT_EQ(answer({"alloc p0 size=1", "sameblock p0 0x10"}, none), "INVALID_VALUE");
  EXPECT_EQ(answer({"openfd f0 kind=memfd"}, none), "OPERATING_SYSTEM");
}

// Where the begin cannot be counted, nothing was used.
TEST_F(FailingCase, CountsFromNothingWhereNobodySaysWhatIsFree) {
  fail(tessera::Call::mem_get_info);
  CaseRunner runner(world_, Start::context);
  EXPECT_THAT(runner.begin(), is_ok());
  faults_.set_plan({});
  EXPECT_THAT(run(runner, "meminfo"), testing::StartsWith("OK used_delta=-"));
}

TEST_F(FailingCase, UndoesWhatACaseWithoutAContextLeftButIsNotClean) {
  CaseRunner runner(world_, Start::no_context);
  EXPECT_THAT(runner.begin(), is_ok());
  EXPECT_EQ(run(runner, "ctx.create c0"), "OK");
  EXPECT_EQ(run(runner, "hostalloc p0 size=1"), "OK");
  EXPECT_FALSE(runner.undo());
  EXPECT_EQ(driver_.books().contexts, 0U);
  EXPECT_EQ(driver_.books().legacy_allocations, 0U);
  CaseRunner again(world_, Start::no_context);
  EXPECT_THAT(again.begin(), is_ok());
  EXPECT_FALSE(again.undo());
}

TEST_F(FailingCase, StopsTheChildWhereItsCallsFail) {
  const auto child = [&](tessera::Call failing) {
    const auto handle = driver_.mem_create(
        {.size = unit,
         .properties = {.requested_handle_types = HandleTypes::posix_file_descriptor}});
    const auto exported = driver_.mem_export_to_shareable_handle({.handle = *handle});
    fail(failing);
    std::string text = run_child_task(
        faults_, {.file_descriptor = exported->file_descriptor, .size = unit, .value = 6});
    world_.close_descriptor(exported->file_descriptor);
    EXPECT_THAT(driver_.mem_release(*handle), is_ok());
    return text;
  };
  EXPECT_THAT(driver_.init(0), is_ok());
  const std::string others = " props:OK export:INVALID_VALUE";
  const std::string end = others + " unmap:OK addrfree:OK release:OK";
  using enum tessera::Call;
  EXPECT_EQ(child(init), "init:NOT_READY");
  EXPECT_EQ(child(device_primary_ctx_retain), "ctx.retain:NOT_READY");
  EXPECT_EQ(child(ctx_set_current), "ctx.retain:NOT_READY");
  EXPECT_EQ(child(mem_address_reserve), "import:OK reserve:NOT_READY release:OK");
  EXPECT_EQ(child(mem_map),
            "import:OK reserve:OK map:NOT_READY" + others + " addrfree:OK release:OK");
  EXPECT_EQ(child(mem_set_access), "import:OK reserve:OK map:OK setaccess:NOT_READY" + end);
  EXPECT_EQ(child(memcpy_dtoh),
            "import:OK reserve:OK map:OK setaccess:OK read:NOT_READY memset:OK" + end);
  EXPECT_EQ(child(memset_d8),
            "import:OK reserve:OK map:OK setaccess:OK read:OK byte:0 memset:NOT_READY" + end);
}

// What others made is used by its value, and counted by nobody.
TEST_F(FailingCase, TakesWhatOthersMade) {
  CaseRunner runner(world_, Start::context);
  EXPECT_THAT(runner.begin(), is_ok());
  const auto address = driver_.mem_address_reserve({.size = unit});
  const auto handle = driver_.mem_create({.size = unit, .properties = {}});
  ASSERT_THAT(driver_.mem_map({.address = *address, .size = unit, .handle = *handle}), is_ok());
  EXPECT_EQ(run(runner, "retain h0 " + to_string(Operand(*address))), "OK same=none");
  EXPECT_EQ(run(runner, "retain h1 " + to_string(Operand(*address))), "OK same=h0");
  EXPECT_TRUE(runner.undo());
  CaseRunner other(world_, Start::context);
  EXPECT_THAT(other.begin(), is_ok());
  EXPECT_EQ(run(other, "release " + to_string(Operand(*handle))), "OK");
  EXPECT_THAT(driver_.device_primary_ctx_retain(DeviceOrdinal(1)), is_ok());
  EXPECT_EQ(run(other, "ctx.release dev=1"), "OK");
  EXPECT_TRUE(other.undo());
}

TEST_F(FailingCase, HasAsManySymbolsAsItLikes) {
  CaseRunner runner(world_, Start::context);
  EXPECT_THAT(runner.begin(), is_ok());
  EXPECT_EQ(run(runner, "create h4000000 size=1u"), "OK");
  EXPECT_EQ(run(runner, "same h4000000 h4000001"), "OK equal=0");
  EXPECT_EQ(run(runner, "release h4000000"), "OK");
}

// More than is copied at once; what differs at the begin is not forgotten at the end.
TEST_F(FailingCase, CopiesInChunks) {
  CaseRunner runner(world_, Start::context);
  EXPECT_THAT(runner.begin(), is_ok());
  EXPECT_THAT(run(runner, "alloc p0 size=40M"), testing::StartsWith("OK"));
  EXPECT_EQ(run(runner, "htod p0 size=40M val=3"), "OK");
  EXPECT_EQ(run(runner, "expect p0 size=40M val=3"), "OK match=1");
  EXPECT_EQ(run(runner, "htod p0+1 size=1 val=4"), "OK");
  EXPECT_EQ(run(runner, "expect p0 size=40M val=3"), "OK match=0");
  EXPECT_TRUE(runner.undo());
}

// Handles of other kinds than descriptors.
TEST(CaseOnWindows, ExportsHandles) {
  sim::SimDriver driver(*sim::built_in_profile("wddm"));
  tools::DriverWorld world(driver, unit);
  CaseRunner runner(world, Start::context);
  EXPECT_THAT(runner.begin(), is_ok());
  EXPECT_EQ(run(runner, "create h0 size=1u handle=win32"), "OK");
  EXPECT_EQ(run(runner, "export f0 handle=h0 type=win32"), "OK");
  EXPECT_EQ(run(runner, "import h1 fd=f0 type=win32"), "OK same=none");
}

TEST(CaseWithFabric, ExportsNoDescriptor) {
  sim::Profile profile = *sim::built_in_profile("h200");
  profile.export_types = HandleTypes::posix_file_descriptor | HandleTypes::fabric;
  profile.not_permitted_types = HandleTypes::none;
  sim::SimDriver driver(profile);
  tools::DriverWorld world(driver, unit);
  CaseRunner runner(world, Start::context);
  EXPECT_THAT(runner.begin(), is_ok());
  EXPECT_EQ(run(runner, "create h0 size=1u handle=fabric"), "OK");
  EXPECT_EQ(run(runner, "export f0 handle=h0 type=fabric"), "OK");
  EXPECT_EQ(runner.value_of(symbols::f(0)), ~std::uint64_t{0});
}

// Some drivers give an import the handle that there is already, and some addresses are odd.
TEST(CaseOnOtherDrivers, ShowsWhatTheyAnswer) {
  NiceMock<MockDriver> driver;
  tools::DriverWorld world(driver, unit);
  ON_CALL(driver, mem_create).WillByDefault(Return(AllocationHandle(5)));
  ON_CALL(driver, mem_import_from_shareable_handle).WillByDefault(Return(AllocationHandle(5)));
  ON_CALL(driver, mem_alloc).WillByDefault(Return(DeviceAddress()));
  ON_CALL(driver, pointer_get_attribute).WillByDefault(Return(std::uint64_t{0x30}));
  ON_CALL(driver, device_primary_ctx_retain).WillByDefault(Return(ContextHandle(9)));
  ON_CALL(driver, ctx_set_current).WillByDefault(Return(Status()));
  CaseRunner runner(world, Start::nothing);
  EXPECT_THAT(runner.begin(), is_ok());
  EXPECT_EQ(run(runner, "create h0 size=1u"), "OK");
  EXPECT_EQ(run(runner, "import h1 fd=3"), "OK same=h0");
  EXPECT_EQ(run(runner, "alloc p0 size=1"), "OK aligned=2097152");
  EXPECT_EQ(run(runner, "attr 0x10 which=range_start"), "OK rel=32");
  EXPECT_EQ(run(runner, "attr 0x40 which=range_start"), "OK rel=-16");
  EXPECT_EQ(run(runner, "ctx.retain dev=-1"), "OK");
}

}  // namespace
}  // namespace tessera::scenario
