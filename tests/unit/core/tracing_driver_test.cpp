#include "tessera/layers/tracing_driver.h"

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <unistd.h>

#include "driver_world.h"
#include "support/forwarding.h"
#include "support/matchers.h"
#include "support/must.h"
#include "tessera/scenario/compare.h"
#include "tessera/scenario/reader.h"
#include "tessera/scenario/runner.h"
#include "tessera/scenario/writer.h"
#include "tessera/sim/sim_driver.h"

namespace tessera {
namespace {

using test::fails_with;
using test::is_ok;
using test::MockDriver;
using test::must;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StrictMock;

constexpr Bytes unit = 2_MiB;
constexpr DeviceOrdinal device_0{0};
constexpr DeviceOrdinal device_1{1};

// Runs a trace's text on fresh machines; a line for each answer that is another one.
std::vector<std::string> differences(const std::string& text, std::int32_t devices) {
  const auto read = scenario::read_scenario(text, "trace");
  if (const auto* error = std::get_if<scenario::ReadError>(&read)) {
    return {to_string(*error)};
  }
  std::vector<std::string> differing;
  for (const scenario::Case& one : std::get<scenario::Scenario>(read).cases) {
    sim::SimDriver driver(*sim::built_in_profile("h200"), {.devices = devices});
    tools::DriverWorld world(driver, unit);
    must(run_case(world, one, [&](const scenario::Call& call, const scenario::Answer& answer) {
      if (call.expected && !agrees(call, answer, {.granule = unit})) {
        differing.push_back(to_string(call.operation) + ": " + answer.text() + ", not " +
                            call.expected->text());
      }
      return true;
    }));
  }
  return differing;
}

class Tracing : public testing::Test {
 protected:
  void start() {
    must(tracing_.init(0));
    must(tracing_.ctx_set_current(must(tracing_.device_primary_ctx_retain(device_0))));
  }
  Status allow(DeviceAddress address, std::uint64_t units,
               const std::vector<AccessDescriptor>& descriptors) {
    return tracing_.mem_set_access(
        {.address = address, .size = unit * units, .descriptors = descriptors});
  }
  // The calls' lines, without what `start` did.
  std::string calls() const {
    const std::string text = tracing_.text();
    const std::string beginning = "case trace noctx\n  ctx.retain => OK\n";
    EXPECT_THAT(text, testing::StartsWith(beginning));
    EXPECT_THAT(text, EndsWith("end\n"));
    return text.substr(beginning.size(), text.size() - beginning.size() - 4);
  }
  void expect_replays() { EXPECT_THAT(differences(tracing_.text(), 2), IsEmpty()); }

  sim::SimDriver driver_{*sim::built_in_profile("h200"), {.devices = 2}};
  TracingDriver tracing_{&driver_, {.granule = unit}};
};

const AccessDescriptor read_write = {.location = {}, .flags = AccessFlags::read_write};

TEST(TracingDriver, ForwardsEachCallOnceUnchanged) {
  StrictMock<MockDriver> target;
  TracingDriver tracing(&target);
  test::check_every_method(target, tracing);
}

// Whatever comes, it is in the trace: as an operation or as a comment.
TEST(TracingDriver, LosesNoCall) {
  testing::NiceMock<MockDriver> target;
  TracingDriver tracing(&target, {.start = scenario::Start::no_context});
  std::size_t lines = 2;
  test::expect_error_of_every_method(
      tracing, [](Call call) { return Error{.code = ErrorCode::not_supported, .call = call}; },
      [&](Call) {
        const std::string text = tracing.text();
        ++lines;
        EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), lines)
            << text;
      });
}

TEST_F(Tracing, WritesAProgramAsAScenario) {
  start();
  const DeviceAddress address = must(tracing_.mem_address_reserve({.size = unit * 4}));
  const AllocationHandle memory = must(tracing_.mem_create({.size = unit, .properties = {}}));
  must(tracing_.mem_map({.address = address + unit, .size = unit, .handle = memory}));
  must(tracing_.mem_release(memory));
  must(allow(address + unit, 1, {read_write}));
  must(tracing_.memset_d8({.destination = address + unit + 4_KiB, .value = 7, .size = 16_B}));
  must(tracing_.ctx_synchronize());
  must(tracing_.mem_unmap({.address = address + unit, .size = unit}));
  must(tracing_.mem_address_free({.address = address, .size = unit * 4}));
  EXPECT_EQ(calls(),
            "  reserve r0 size=4u => OK aligned=2097152\n"
            "  create h0 size=1u => OK\n"
            "  map r0+1u size=1u handle=h0 => OK\n"
            "  release h0 => OK\n"
            "  setaccess r0+1u size=1u => OK\n"
            "  memset r0+2052K size=16 val=7 => OK\n"
            "  unmap r0+1u size=1u => OK\n"
            "  addrfree r0 size=4u => OK\n");
  expect_replays();
}

TEST_F(Tracing, WritesSizesInBytesWhereNoGranuleIsGiven) {
  TracingDriver plain(&driver_);
  must(plain.init(0));
  must(plain.mem_address_reserve({.size = unit * 3}));
  EXPECT_EQ(plain.text(), "case trace noctx\n  reserve r0 size=6M => OK aligned=2097152\nend\n");
}

TEST_F(Tracing, ReplaysFailingCalls) {
  start();
  const DeviceAddress address = must(tracing_.mem_address_reserve({.size = unit}));
  EXPECT_FALSE(tracing_.mem_address_reserve({.size = Bytes(5), .alignment = Bytes(3)}));
  EXPECT_FALSE(tracing_.mem_create({.size = Bytes(5), .properties = {}}));
  EXPECT_FALSE(tracing_.mem_create({.size = unit * (1U << 20U), .properties = {}}));
  EXPECT_FALSE(tracing_.mem_create({.size = unit, .properties = {}, .flags = 9}));
  EXPECT_FALSE(
      tracing_.mem_create({.size = unit, .properties = {}, .null_pointers = NullPointers::output}));
  const AllocationHandle memory = must(tracing_.mem_create({.size = unit, .properties = {}}));
  EXPECT_FALSE(tracing_.mem_map(
      {.address = address, .size = unit, .offset = unit, .handle = memory, .flags = 2}));
  EXPECT_FALSE(tracing_.mem_map({.address = address - unit, .size = unit, .handle = memory}));
  EXPECT_FALSE(tracing_.mem_unmap({.address = DeviceAddress(41), .size = unit}));
  EXPECT_FALSE(allow(address, 1, {}));
  EXPECT_FALSE(allow(address, 1, {{.location = on_device(DeviceOrdinal(77)), .flags = {}}}));
  EXPECT_FALSE(tracing_.mem_get_access({.address = {}, .location = {}}));
  must(tracing_.mem_release(memory));
  EXPECT_FALSE(tracing_.mem_release(memory));
  EXPECT_FALSE(tracing_.mem_release({}));
  EXPECT_FALSE(tracing_.mem_release(AllocationHandle(0xdead)));
  EXPECT_FALSE(tracing_.mem_import_from_shareable_handle({.file_descriptor = -1}));
  EXPECT_FALSE(tracing_.device_get_name(DeviceOrdinal(99)));
  EXPECT_FALSE(tracing_.ctx_set_current(ContextHandle(12)));
  EXPECT_FALSE(tracing_.mem_free(DeviceAddress(0x123)));
  must(tracing_.mem_address_free({.address = address, .size = unit}));
  EXPECT_FALSE(tracing_.mem_address_free({.address = address, .size = unit}));
  EXPECT_THAT(calls(), HasSubstr("  map r0-1u size=1u handle=h4 => INVALID_VALUE\n"));
  EXPECT_THAT(calls(), HasSubstr("  addrfree r0 size=1u => OK\n"
                                 "  addrfree r0 size=1u => INVALID_VALUE\n"));
  EXPECT_THAT(calls(), HasSubstr("  release null => INVALID_VALUE\n"
                                 "  release 0xdead => INVALID_VALUE\n"));
  EXPECT_THAT(calls(), Not(HasSubstr("#")));
  expect_replays();
}

TEST_F(Tracing, NamesHandlesThatComeBack) {
  start();
  const DeviceAddress address = must(tracing_.mem_address_reserve({.size = unit}));
  const AllocationHandle memory = must(tracing_.mem_create(
      {.size = unit,
       .properties = {.requested_handle_types = HandleTypes::posix_file_descriptor}}));
  must(tracing_.mem_map({.address = address, .size = unit, .handle = memory}));
  EXPECT_EQ(must(tracing_.mem_retain_allocation_handle(address + 5_B)), memory);
  const ShareableHandle exported =
      must(tracing_.mem_export_to_shareable_handle({.handle = memory}));
  const AllocationHandle imported = must(tracing_.mem_import_from_shareable_handle(exported));
  must(tracing_.mem_get_allocation_properties_from_handle({.handle = imported}));
  EXPECT_EQ(::close(exported.file_descriptor), 0);
  tracing_.descriptor_closed(exported.file_descriptor);
  tracing_.descriptor_closed(exported.file_descriptor);
  EXPECT_THAT(calls(), EndsWith("  retain h1 r0+5 => OK same=h0\n"
                                "  export f0 handle=h0 => OK\n"
                                "  import h2 fd=f0 => OK same=none\n"
                                "  props h2 => OK type=1 loc=1 id=0 handle_types=0 comp=0 rdma=0 "
                                "usage=0\n"
                                "  close f0 => OK closed=1\n"));
  expect_replays();
}

TEST_F(Tracing, ClosesADescriptorWhoseNumberComesBack) {
  start();
  const AllocationHandle memory = must(tracing_.mem_create(
      {.size = unit,
       .properties = {.requested_handle_types = HandleTypes::posix_file_descriptor}}));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(
        ::close(must(tracing_.mem_export_to_shareable_handle({.handle = memory})).file_descriptor),
        0);
  }
  EXPECT_THAT(calls(), EndsWith("  export f0 handle=h0 => OK\n"
                                "  close f0 => OK closed=1\n"
                                "  export f1 handle=h0 => OK\n"));
  expect_replays();
}

TEST_F(Tracing, WritesDataByRunsOfEqualBytes) {
  start();
  const DeviceAddress address = must(tracing_.mem_alloc(1_KiB));
  const std::array<std::byte, 4> data = {std::byte{1}, std::byte{1}, std::byte{2}, std::byte{3}};
  must(tracing_.memcpy_htod({.destination = address, .source = data}));
  std::array<std::byte, 3> read = {};
  must(tracing_.memcpy_dtoh({.destination = read, .source = address + 1_B}));
  must(tracing_.memcpy_dtod({.destination = address + 512_B, .source = address, .size = 4_B}));
  must(tracing_.mem_free(address));
  EXPECT_EQ(calls(),
            "  alloc p0 size=1K => OK aligned=2097152\n"
            "  htod p0 size=2 val=1 => OK\n"
            "  htod p0+2 size=1 val=2 => OK\n"
            "  htod p0+3 size=1 val=3 => OK\n"
            "  expect p0+1 size=1 val=1 => OK match=1\n"
            "  expect p0+2 size=1 val=2 => OK match=1\n"
            "  expect p0+3 size=1 val=3 => OK match=1\n"
            "  dtod p0+512 p0 size=4 => OK\n"
            "  free p0 => OK\n");
  expect_replays();
}

TEST_F(Tracing, ComparesNoContentsThatItCannotWrite) {
  start();
  const DeviceAddress address = must(tracing_.mem_alloc(1_KiB));
  std::array<std::byte, 64> data = {};
  for (std::size_t i = 0; i < data.size(); ++i) {
    data.at(i) = std::byte(i);
  }
  must(tracing_.memcpy_htod({.destination = address, .source = data}));
  must(tracing_.memcpy_dtoh({.destination = std::span(data).first(1), .source = address + 5_B}));
  EXPECT_THAT(calls(), EndsWith("  # the data was not all one byte; what memory holds is not "
                                "compared from here on\n"
                                "  htod p0 size=64 val=0 => OK\n"
                                "  expect p0+5 size=1 => OK\n"));
  expect_replays();
}

TEST_F(Tracing, JoinsKernelsAndFillsWithTheWaitThatFollows) {
  start();
  const DeviceAddress address = must(tracing_.mem_alloc(1_KiB));
  must(tracing_.launch_touch({.address = address, .touch = Touch::write, .value = 7}));
  must(tracing_.ctx_synchronize());
  must(tracing_.ctx_synchronize());
  must(tracing_.memset_d8({.destination = address, .value = 1, .size = 1_B}));
  must(tracing_.mem_get_address_range(address + 3_B));
  must(tracing_.launch_touch({.address = DeviceAddress(4096), .touch = Touch::read}));
  EXPECT_FALSE(tracing_.ctx_synchronize());
  EXPECT_FALSE(tracing_.ctx_synchronize());
  EXPECT_EQ(calls(),
            "  alloc p0 size=1K => OK aligned=2097152\n"
            "  kwrite p0 => OK\n"
            "  ctx.sync => OK\n"
            "  memset p0 size=1 val=1 => OK\n"
            "  addrrange p0+3 => OK rel=-3 size=1024\n"
            "  kread 0x1000 => ILLEGAL_ADDRESS\n"
            "  ctx.sync => ILLEGAL_ADDRESS\n");
  expect_replays();
}

TEST_F(Tracing, JoinsCopiesWithTheWaitThatFollows) {
  start();
  const DeviceAddress address = must(tracing_.mem_alloc(1_KiB));
  const MemcpyDtodRequest copy = {.destination = address, .source = address + 512_B, .size = 4_B};
  must(tracing_.memcpy_dtod(copy));
  must(tracing_.ctx_synchronize());
  must(tracing_.ctx_synchronize());
  // What was refused is not waited for.
  EXPECT_FALSE(tracing_.memcpy_dtod({.destination = address, .source = {}, .size = 4_B}));
  must(tracing_.ctx_synchronize());
  EXPECT_FALSE(tracing_.memset_d8({.destination = {}, .value = 1, .size = 4_B}));
  must(tracing_.ctx_synchronize());
  EXPECT_EQ(calls(),
            "  alloc p0 size=1K => OK aligned=2097152\n"
            "  dtod p0 p0+512 size=4 => OK\n"
            "  ctx.sync => OK\n"
            "  dtod p0 null size=4 => INVALID_VALUE\n"
            "  ctx.sync => OK\n"
            "  memset null size=4 val=1 => INVALID_VALUE\n"
            "  ctx.sync => OK\n");
  expect_replays();
}

TEST_F(Tracing, LeavesTheAnswerOpenWhereAProgramDoesNotWaitForItsKernel) {
  start();
  must(tracing_.launch_touch({.address = DeviceAddress(4096), .touch = Touch::read}));
  must(tracing_.device_get_count());
  EXPECT_THAT(calls(), HasSubstr("  kread 0x1000\n"));
  expect_replays();
}

TEST_F(Tracing, WritesHowLongAKernelWaits) {
  start();
  must(tracing_.launch_touch(
      {.address = DeviceAddress(4096), .touch = Touch::read, .duration_ns = 500}));
  must(tracing_.device_get_count());
  EXPECT_THAT(calls(), HasSubstr("  launch 0x1000 touch=read val=0 ns=500 => OK\n"));
  expect_replays();
}

TEST_F(Tracing, KeepsWhatIsCurrentAsTheProgramHasIt) {
  must(tracing_.init(0));
  const ContextHandle first = must(tracing_.device_primary_ctx_retain(device_0));
  EXPECT_THAT(tracing_.mem_alloc(1_KiB), fails_with(ErrorCode::invalid_context));
  must(tracing_.ctx_set_current(first));
  const ContextHandle second = must(tracing_.device_primary_ctx_retain(device_1));
  must(tracing_.ctx_enable_peer_access({.peer = second}));
  const ContextHandle made = must(tracing_.ctx_create({.device = device_1}));
  must(tracing_.ctx_destroy(made));
  must(tracing_.ctx_set_current({}));
  must(tracing_.device_primary_ctx_release(device_0));
  EXPECT_EQ(tracing_.text(),
            "case trace noctx\n"
            "  ctx.retain => OK\n"
            "  ctx.none => OK\n"
            "  alloc p0 size=1K => INVALID_CONTEXT\n"
            "  ctx.set primary0 => OK\n"
            "  ctx.retain dev=1 => OK\n"
            "  ctx.set primary0 => OK\n"
            "  peer.enable dev=1 => OK\n"
            "  ctx.create c0 dev=1 => OK\n"
            "  ctx.destroy c0 => OK\n"
            "  ctx.none => OK\n"
            "  ctx.release => OK\n"
            "end\n");
  expect_replays();
}

TEST_F(Tracing, KnowsWhatIsCurrentWhenContextsEnd) {
  start();
  const ContextHandle first = must(tracing_.ctx_create({.device = device_1}));
  const ContextHandle second = must(tracing_.ctx_create({.device = device_1}));
  must(tracing_.ctx_destroy(first));
  EXPECT_FALSE(tracing_.ctx_destroy(first));
  must(tracing_.device_primary_ctx_retain(device_1));
  must(tracing_.ctx_destroy(second));
  must(tracing_.device_primary_ctx_retain(device_1));
  must(tracing_.ctx_set_current(must(tracing_.device_primary_ctx_retain(device_0))));
  EXPECT_EQ(calls(),
            "  ctx.create c0 dev=1 => OK\n"
            "  ctx.create c1 dev=1 => OK\n"
            "  ctx.destroy c0 => OK\n"
            "  ctx.destroy c0 => CONTEXT_IS_DESTROYED\n"
            "  ctx.retain dev=1 => OK\n"
            "  ctx.set c1 => OK\n"
            "  ctx.destroy c1 => OK\n"
            "  ctx.retain dev=1 => OK\n"
            "  ctx.set c0 => OK\n"  // below c1 when it ended, though it is gone
            "  ctx.retain => OK\n");
  expect_replays();
}

TEST_F(Tracing, AsksTheMachineTheSame) {
  start();
  must(tracing_.driver_get_version());
  must(tracing_.device_get_count());
  must(tracing_.device_get_name(device_0));
  must(tracing_.device_total_mem(device_1));
  must(tracing_.device_get_attribute({.attribute = 102, .device = device_1}));
  must(tracing_.device_can_access_peer({.device = device_0, .peer = device_1}));
  must(tracing_.mem_get_info());
  must(tracing_.mem_get_allocation_granularity({.properties = {.compression = Compression::generic},
                                                .option = GranularityOption::recommended}));
  const DeviceAddress address = must(tracing_.mem_alloc(1_KiB));
  must(tracing_.pointer_get_attribute(
      {.attribute = PointerAttribute::range_start_addr, .address = address + 1_B}));
  must(tracing_.device_primary_ctx_reset(device_1));
  EXPECT_THAT(calls(), testing::StartsWith("  version => OK v=13000\n  devcount => OK n=2\n"
                                           "  devname => OK name=NVIDIA_H200\n"));
  EXPECT_THAT(calls(), HasSubstr("  granularity comp=1 opt=rec => OK g=2097152\n"));
  EXPECT_THAT(calls(), HasSubstr("  attr p0+1 which=range_start => OK rel=-1\n"));
  expect_replays();
}

TEST_F(Tracing, WritesOtherAllocations) {
  start();
  const DeviceAddress managed = must(tracing_.mem_alloc_managed({.size = 1_KiB}));
  const DeviceAddress ordered = must(tracing_.mem_alloc_async({.size = 2_KiB}));
  std::byte* const host = must(tracing_.mem_host_alloc({.size = 4_KiB}));
  EXPECT_FALSE(tracing_.mem_free(DeviceAddress(reinterpret_cast<std::uintptr_t>(host))));
  must(tracing_.mem_free_host(host));
  must(tracing_.mem_free(managed));
  must(tracing_.mem_free(ordered));
  must(tracing_.mem_free({}));
  EXPECT_THAT(calls(), EndsWith("no operation says this\n"
                                "  free p2 => OK\n  free p0 => OK\n  free p1 => OK\n"
                                "  free null => OK\n"));
  expect_replays();
}

TEST_F(Tracing, WritesStreamsAndTheirWork) {
  start();
  const StreamHandle stream = must(tracing_.stream_create(StreamFlags::non_blocking));
  const EventHandle event = must(tracing_.event_create(EventFlags::none));
  const PitchedAllocation rows =
      must(tracing_.mem_alloc_pitch({.width = 10_B, .height = 2, .element_size = 4}));
  const DeviceAddress memory = must(tracing_.mem_alloc_async({.size = 2_KiB, .stream = stream}));
  must(tracing_.memset_d8_async(
      {.set = {.destination = memory, .value = 3, .size = 1_KiB}, .stream = stream}));
  must(tracing_.memcpy_dtod_async(
      {.copy = {.destination = memory + 1_KiB, .source = rows.address, .size = 8_B},
       .stream = stream}));
  must(tracing_.launch_touch({.address = memory,
                              .touch = Touch::write,
                              .value = 5,
                              .duration_ns = 9'000'000,
                              .stream = stream}));
  must(tracing_.event_record({.event = event, .stream = stream}));
  EXPECT_FALSE(tracing_.event_query(event));
  must(tracing_.stream_wait_event({.stream = {}, .event = event}));
  must(tracing_.event_synchronize(event));
  must(tracing_.mem_free_async({.address = memory, .stream = stream}));
  must(tracing_.stream_synchronize(stream));
  must(tracing_.event_destroy(event));
  must(tracing_.stream_destroy(stream));
  must(tracing_.mem_free(rows.address));
  must(tracing_.ctx_get_limit(ContextLimit::stack_size));
  must(tracing_.ctx_set_limit({.limit = ContextLimit::stack_size, .value = 2_KiB}));
  EXPECT_EQ(calls(),
            "  stream.create s0 flags=1 => OK\n"
            "  event.create e0 => OK\n"
            "  allocpitch p0 width=10 height=2 elem=4 => OK pitch=512\n"
            "  allocasync p1 size=2K stream=s0 => OK\n"
            "  memset p1 size=1K val=3 stream=s0 => OK\n"
            "  dtod p1+1K p0 size=8 stream=s0 => OK\n"
            "  launch p1 touch=write val=5 ns=9000000 stream=s0 => OK\n"
            "  event.record e0 stream=s0 => OK\n"
            "  event.query e0\n"
            "  stream.wait null event=e0 => OK\n"
            "  event.sync e0 => OK\n"
            "  freeasync p1 stream=s0 => OK\n"
            "  stream.sync s0 => OK\n"
            "  event.destroy e0 => OK\n"
            "  stream.destroy s0 => OK\n"
            "  free p0 => OK\n"
            "  limit.get which=0 => OK v=1024\n"
            "  limit.set which=0 value=2K => OK\n");
  expect_replays();
}

TEST_F(Tracing, WritesMulticastObjects) {
  start();
  const AllocationHandle multicast =
      must(tracing_.multicast_create({.device_count = 2, .size = unit * 2}));
  for (const DeviceOrdinal device : {device_0, device_1}) {
    must(tracing_.multicast_add_device({.multicast = multicast, .device = device}));
  }
  const AllocationHandle memory = must(tracing_.mem_create({.size = unit, .properties = {}}));
  must(tracing_.multicast_bind_mem(
      {.multicast = multicast, .multicast_offset = unit, .memory = memory, .size = unit}));
  must(tracing_.multicast_unbind(
      {.multicast = multicast, .device = device_0, .multicast_offset = unit, .size = unit}));
  EXPECT_FALSE(tracing_.multicast_create({.device_count = 2, .size = unit, .flags = 1}));
  EXPECT_THAT(calls(), HasSubstr("  mc.create h0 devices=2 size=2u => OK\n"
                                 "  mc.add h0 dev=0 => OK\n"
                                 "  mc.add h0 dev=1 => OK\n"
                                 "  create h1 size=1u => OK\n"));
  EXPECT_THAT(calls(), HasSubstr("  # multicast_create("));
  expect_replays();
}

TEST_F(Tracing, PutsCallsBeforeInitIntoACaseOfTheirOwn) {
  EXPECT_FALSE(tracing_.mem_create({.size = unit, .properties = {}}));
  must(tracing_.driver_get_version());
  start();
  must(tracing_.init(0));
  EXPECT_EQ(tracing_.text(),
            "case trace-before-init noinit\n"
            "  create h0 size=1u => NOT_INITIALIZED\n"
            "  version => OK v=13000\n"
            "end\n"
            "case trace noctx\n"
            "  ctx.retain => OK\n"
            "  # init(flags=0) => OK: no operation says this\n"
            "end\n");
  expect_replays();
}

TEST_F(Tracing, CanBeginWhenAContextIsCurrent) {
  must(driver_.init(0));
  const ContextHandle primary = must(driver_.device_primary_ctx_retain(device_0));
  must(driver_.ctx_set_current(primary));
  TracingDriver late(&driver_,
                     {.case_name = "late", .start = scenario::Start::context, .current = primary});
  must(late.ctx_set_current({}));
  must(late.ctx_set_current(primary));
  must(late.mem_alloc(1_KiB));
  EXPECT_EQ(late.text(),
            "case late\n  ctx.none => OK\n  ctx.set primary0 => OK\n"
            "  alloc p0 size=1K => OK aligned=2097152\nend\n");
  EXPECT_THAT(differences(late.text(), 1), IsEmpty());
}

TEST_F(Tracing, SaysWhatNoOperationSays) {
  start();
  std::array<std::byte, 1> byte = {};
  EXPECT_FALSE(tracing_.memcpy_htod_async(
      {.copy = {.destination = DeviceAddress(0x77), .source = byte}, .stream = {}}));
  EXPECT_THAT(calls(), AllOf(HasSubstr("  # memcpy_htod_async("),
                             EndsWith(" => INVALID_VALUE: no operation says this\n")));
  EXPECT_TRUE(
      std::holds_alternative<scenario::Scenario>(scenario::read_scenario(tracing_.text(), "t")));
}

}  // namespace
}  // namespace tessera
