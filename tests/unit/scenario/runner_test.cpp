// Runs small cases on the simulator: what matters here is how symbols, extras and cleanup go, not
// what a driver answers.
#include "tessera/scenario/runner.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "driver_world.h"
#include "support/matchers.h"
#include "tessera/scenario/reader.h"
#include "tessera/sim/sim_driver.h"

namespace tessera::scenario {
namespace {

using test::is_ok;
using testing::ElementsAre;
using testing::StartsWith;

class FakeWorld : public tools::DriverWorld {
 public:
  explicit FakeWorld(sim::SimDriver& driver)
      : DriverWorld(driver, Bytes(2U << 20U)), simulator_(driver) {}

  Result<std::byte> host_read(DeviceAddress address) override {
    return simulator_.host_read(address);
  }
  Status host_write(DeviceAddress address, std::byte value) override {
    return simulator_.host_write(address, value);
  }
  std::string run_child(const ChildTask& task) override {
    last_child = task;
    return "map:OK";
  }

  ChildTask last_child = {};

 private:
  sim::SimDriver& simulator_;
};

class Runner : public testing::Test {
 protected:
  // The answers of calls, one a line.
  std::vector<std::string> run(std::string_view calls, Start start = Start::context) {
    runner_ = std::make_unique<CaseRunner>(world_, start);
    EXPECT_THAT(runner_->begin(), is_ok());
    std::vector<std::string> answers;
    while (!calls.empty()) {
      const std::size_t end = std::min(calls.find('\n'), calls.size());
      const auto call = read_call(calls.substr(0, end));
      EXPECT_TRUE(std::holds_alternative<Call>(call)) << calls.substr(0, end);
      answers.push_back(runner_->run(std::get<Call>(call).operation).text());
      calls.remove_prefix(std::min(end + 1, calls.size()));
    }
    return answers;
  }

  sim::SimDriver driver_{*sim::built_in_profile("h200"), {.devices = 2}};
  FakeWorld world_{driver_};
  std::unique_ptr<CaseRunner> runner_;
};

TEST_F(Runner, GivesSymbolsTheValuesOfTheirCalls) {
  EXPECT_THAT(
      run("reserve r0 size=4u\ncreate h0 size=1u\nmap r0+1u size=1u handle=h0\n"
          "setaccess r0+1u size=1u\nmemset r0+1u size=1u val=5\nexpect r0+2u-8 size=8 val=5\n"
          "expect r0+1u size=8 val=6"),
      ElementsAre("OK aligned=2097152", "OK", "OK", "OK", "OK", "OK match=1", "OK match=0"));
  EXPECT_EQ(runner_->value_of(symbols::r(0)) % (2U << 20U), 0U);
  EXPECT_EQ(runner_->value_of(symbols::r(1)), 0U);
}

TEST_F(Runner, TakesMissingSymbolsForZeroAndMissingDescriptorsForNone) {
  EXPECT_THAT(run("release h0\nimport h1 fd=f0\nimport h1 fd=0\nclose f0\nfree p0\n"
                  "create h2 size=1\nrelease h2\nrelease h4000000000"),
              ElementsAre("INVALID_VALUE", "UNKNOWN", "INVALID_VALUE", "OK closed=0", "OK",
                          "INVALID_VALUE", "INVALID_VALUE", "INVALID_VALUE"));
  EXPECT_EQ(runner_->value_of(symbols::f(0)), ~std::uint64_t{0});
}

TEST_F(Runner, SaysWhetherAHintWasTakenAndHowAnAddressIsAligned) {
  const auto answers = run("reserve r0 size=1u at=0x7f0000000000\nreserve r1 size=1u align=1G");
  EXPECT_THAT(answers[0], StartsWith("OK aligned=2097152 at="));
  const std::uint64_t aligned = std::stoull(answers[1].substr(std::string("OK aligned=").size()));
  EXPECT_GE(aligned, 1U << 30U);
  EXPECT_EQ(runner_->value_of(symbols::r(1)) % (aligned * 2), aligned) << "and to no more";
}

// A copy is one call, whatever its size: refused, it has written nothing.
TEST_F(Runner, CopiesAllOrNothing) {
  EXPECT_THAT(run("alloc p0 size=200M\nmemset p0 size=200M val=9\nhtod p0 size=201M val=5\n"
                  "expect p0 size=1 val=9\nhtod p0 size=200M val=5\nexpect p0 size=200M val=5\n"
                  "htod p0 size=1000T val=6\nhtod p0 size=max val=6\nhtod p0 size=0 val=6\n"
                  "expect p0 size=200M val=5"),
              ElementsAre("OK aligned=2097152", "OK", "INVALID_VALUE", "OK match=1", "OK",
                          "OK match=1", "INVALID_VALUE", "INVALID_VALUE", "OK", "OK match=1"));
}

TEST_F(Runner, NamesHandlesThatAreTheSame) {
  EXPECT_THAT(
      run("reserve r0 size=1u\ncreate h0 size=1u handle=fd\nmap r0 size=1u handle=h0\n"
          "retain h1 r0\nsame h0 h1\nrelease h0\nretain h2 r0\nexport f0 handle=h2\n"
          "import h3 fd=f0\nclose f0\nclose f0\nimport h4 fd=f0"),
      ElementsAre("OK aligned=2097152", "OK", "OK", "OK same=h0", "OK equal=1", "OK", "OK same=h0",
                  "OK", "OK same=none", "OK closed=1", "OK closed=0", "UNKNOWN"));
}

TEST_F(Runner, ShowsPropertiesAccessAndAttributes) {
  EXPECT_THAT(run("create h0 size=1u dev=1 comp=1\nprops h0\nreserve r0 size=2u\n"
                  "map r0 size=1u handle=h0\nsetaccess r0 size=1u desc=device:0:r,device:1:rw\n"
                  "getaccess r0 dev=0\ngetaccess r0 dev=1\nattr r0+5 which=range_start\n"
                  "attr r0 which=context\nattr r0 which=block_id\nattr r0 which=device_ordinal\n"
                  "addrrange r0+1M"),
              ElementsAre("OK", "OK type=1 loc=1 id=1 handle_types=0 comp=1 rdma=0 usage=0",
                          "OK aligned=2097152", "OK", "OK", "OK flags=1", "OK flags=3", "OK rel=-5",
                          "OK nonnull=0", "OK id=1", "OK v=1", "OK rel=-1048576 size=2097152"));
}

TEST_F(Runner, TouchesMemoryByKernelsAndTheHost) {
  EXPECT_THAT(run("create h0 size=1u loc=host\nreserve r0 size=1u\nmap r0 size=1u handle=h0\n"
                  "setaccess r0 size=1u desc=device:0:rw,host:0:rw\nkwrite r0\nkread r0\n"
                  "hostread r0\nmemset r0 size=1u val=3\nhostread r0\nhostwrite r0\nkread r0"),
              ElementsAre("OK", "OK aligned=2097152", "OK", "OK", "OK", "OK byte=7", "OK byte=7",
                          "OK", "OK byte=3", "OK", "OK byte=7"));
}

TEST_F(Runner, CountsUsedMemoryFromTheBeginningOrFromMeminfo0) {
  EXPECT_THAT(run("meminfo\ncreate h0 size=4u\nmeminfo\nmeminfo0\nmeminfo\nrelease h0\nmeminfo"),
              ElementsAre("OK used_delta=0", "OK", "OK used_delta=8388608", "OK", "OK used_delta=0",
                          "OK", "OK used_delta=-8388608"));
}

TEST_F(Runner, AsksAboutTheMachine) {
  EXPECT_THAT(run("version\ndevcount\ndevname\ndevattr 102 dev=99\npeer.can a=0 b=1"),
              ElementsAre("OK v=13000", "OK n=2", "OK name=NVIDIA_H200", "INVALID_DEVICE v=-1",
                          "OK can=1"));
}

TEST_F(Runner, HandsDescriptorsToAnotherProcess) {
  EXPECT_THAT(
      run("create h0 size=1u handle=fd\nexport f0 handle=h0\nipc.child fd=f0 size=1u val=9"),
      ElementsAre("OK", "OK", "OK child=[map:OK]"));
  EXPECT_EQ(world_.last_child.file_descriptor, static_cast<int>(runner_->value_of(symbols::f(0))));
  EXPECT_EQ(world_.last_child.size, Bytes(2U << 20U));
  EXPECT_EQ(world_.last_child.value, 9);
}

TEST_F(Runner, StartsAsTheCaseSays) {
  EXPECT_THAT(run("create h0 size=1u", Start::nothing), ElementsAre("NOT_INITIALIZED"));
  EXPECT_THAT(run("create h0 size=1u\nalloc p0 size=1", Start::no_context),
              ElementsAre("OK", "INVALID_CONTEXT"));
}

TEST_F(Runner, UndoesAllThatACaseLeft) {
  EXPECT_THAT(driver_.init(0), is_ok());
  const sim::Books before = driver_.books();
  run("reserve r0 size=8u\nreserve r1 size=1u\ncreate h0 size=1u handle=fd\ncreate h1 size=2u\n"
      "map r0 size=1u handle=h0\nmap r0+1u size=2u handle=h1\nmap r0+4u size=2u handle=h1\n"
      "unmap r0+4u size=4u\nretain h2 r0\nrelease h1\nexport f0 handle=h0\nimport h3 fd=f0\n"
      "alloc p0 size=1M\nfree p0\nalloc p1 size=1M\nctx.retain dev=1");
  EXPECT_TRUE(runner_->undo());
  EXPECT_EQ(driver_.books(), before);
}

TEST_F(Runner, UndoesStreamsEventsAndQueuedWork) {
  EXPECT_THAT(driver_.init(0), is_ok());
  const sim::Books before = driver_.books();
  run("stream.create s0\nstream.create s1\nstream.destroy s1\nevent.create e0\n"
      "alloc p0 size=1M\nallocasync p1 size=1M stream=s0\nallocasync p2 size=1M stream=s0\n"
      "launch p0 touch=write ns=1000000 stream=s0\nevent.record e0 stream=s0\n"
      "memset p1 size=16 val=1 stream=s0\nfreeasync p2 stream=s0");
  EXPECT_TRUE(runner_->undo());
  EXPECT_EQ(driver_.books(), before);
}

// Also where the contexts live on, in which they would end by themselves.
TEST_F(Runner, UndoesStreamsAndEventsOneByOne) {
  EXPECT_THAT(driver_.init(0), is_ok());
  EXPECT_THAT(driver_.device_primary_ctx_retain(DeviceOrdinal(0)), is_ok());
  run("stream.create s0\nevent.create e0\nevent.create e1\nevent.destroy e1");
  const StreamHandle stream(runner_->value_of(symbols::s(0)));
  const EventHandle event(runner_->value_of(symbols::e(0)));
  EXPECT_TRUE(runner_->undo());
  EXPECT_FALSE(driver_.stream_synchronize(stream));
  EXPECT_FALSE(driver_.event_query(event));
}

TEST_F(Runner, NamesMulticastObjects) {
  EXPECT_THAT(driver_.init(0), is_ok());
  const sim::Books before = driver_.books();
  EXPECT_THAT(
      run("mc.create h0 devices=2 size=1u\nmc.add h0 dev=0\nmc.add h0 dev=1\n"
          "create h1 size=1u\nmc.bind h0 mem=h1 size=1u\nreserve r0 size=1u\n"
          "map r0 size=1u handle=h0\nretain h2 r0\nmc.unbind h0 dev=0 size=1u"),
      ElementsAre("OK", "OK", "OK", "OK", "OK", "OK aligned=2097152", "OK", "OK same=h0", "OK"));
  EXPECT_TRUE(runner_->undo());
  EXPECT_EQ(driver_.books(), before);
}

TEST_F(Runner, CallsAnImportedValueNewOnceNobodyHoldsIt) {
  EXPECT_THAT(run("create h0 size=1u handle=fd\nexport f0 handle=h0\nimport h1 fd=f0\n"
                  "retain h2 null\nrelease h1\nrelease h1\nimport h3 fd=f0"),
              ElementsAre("OK", "OK", "OK same=none", "INVALID_VALUE", "OK", "INVALID_VALUE",
                          "OK same=none"));
  EXPECT_TRUE(runner_->undo());
}

TEST_F(Runner, AllocatesByAllCalls) {
  EXPECT_THAT(driver_.init(0), is_ok());
  const sim::Books before = driver_.books();
  EXPECT_THAT(run("allocpitch p0 width=100 height=3 elem=4\nallocpitch p1 width=0 height=3 elem=4\n"
                  "hostalloc p2 size=4K\nhostalloc p3 size=4K\nfree p2\nfree p1\n"
                  "allocpitch p4 width=100 height=3 elem=4\naddrrange p4\nfree p4\n"
                  "limit.get which=2"),
              ElementsAre("OK pitch=512", "INVALID_VALUE", "OK", "OK", "OK", "OK", "OK pitch=512",
                          "OK rel=0 size=1536", "OK", StartsWith("OK v=")));
  EXPECT_TRUE(runner_->undo());
  EXPECT_EQ(driver_.books(), before);
}

// What a scenario that wants a machine of its own must hear of.
TEST_F(Runner, IsNotCleanAfterWhatUndoingDoesNotTakeBack) {
  for (const char* call : {"managed p0 size=1M", "limit.set which=2 value=8M", "ctx.reset dev=1",
                           "ctx.create c0 dev=1", "peer.enable dev=1"}) {
    run(call);
    EXPECT_FALSE(runner_->undo()) << call;
  }
  run("ctx.set primary0\nctx.none");
  EXPECT_TRUE(runner_->undo());
}

TEST_F(Runner, SaysWhenUndoingIsNotEnough) {
  run("ctx.reset");
  EXPECT_FALSE(runner_->undo());
  run("reserve r0 size=1u\nkread r0");
  EXPECT_FALSE(runner_->undo());
}

TEST_F(Runner, StopsAfterAnExpectedCrash) {
  const auto read =
      read_scenario("case a\n  release 0xdead => CRASH signal=11\n  version\nend\n", "t");
  int calls = 0;
  EXPECT_THAT(run_case(world_, std::get<Scenario>(read).cases[0],
                       [&](const Call&, const Answer& answer) {
                         ++calls;
                         EXPECT_FALSE(answer.is_ok());
                         return true;
                       }),
              is_ok());
  EXPECT_EQ(calls, 1);
}

TEST_F(Runner, GoesThroughTheChildsTask) {
  run("create h0 size=1u handle=fd\nexport f0 handle=h0\nreserve r0 size=1u\n"
      "map r0 size=1u handle=h0\nsetaccess r0 size=1u\nmemset r0 size=1u val=5");
  const int descriptor = static_cast<int>(runner_->value_of(symbols::f(0)));
  EXPECT_EQ(run_child_task(driver_,
                           {.file_descriptor = descriptor, .size = Bytes(2U << 20U), .value = 6}),
            "import:OK reserve:OK map:OK setaccess:OK read:OK byte:5 memset:OK props:OK "
            "export:INVALID_VALUE unmap:OK addrfree:OK release:OK");
  EXPECT_EQ(run_child_task(driver_, {.file_descriptor = -1, .size = Bytes(1), .value = 6}),
            "import:UNKNOWN");
}

}  // namespace
}  // namespace tessera::scenario
