// What no scenario says is written as a comment, and what a driver gives that another one would not
// keeps its name.
#include <array>
#include <string>

#include <gmock/gmock.h>
#include <unistd.h>

#include "support/matchers.h"
#include "support/mock_driver.h"
#include "support/must.h"
#include "tessera/layers/tracing_driver.h"
#include "tessera/sim/sim_driver.h"

namespace tessera {
namespace {

using test::MockDriver;
using test::must;
using testing::EndsWith;
using testing::HasSubstr;
using testing::NiceMock;
using testing::Return;

constexpr Bytes unit = 2_MiB;
constexpr DeviceOrdinal device_0{0};

sim::Profile with_fabric() {
  sim::Profile profile = *sim::built_in_profile("h200");
  profile.export_types = HandleTypes::posix_file_descriptor | HandleTypes::fabric;
  profile.not_permitted_types = HandleTypes::none;
  return profile;
}

class TracingComments : public testing::Test {
 protected:
  TracingComments() {
    must(tracing_.init(0));
    must(tracing_.ctx_set_current(must(tracing_.device_primary_ctx_retain(device_0))));
  }
  // The trace's last line but for the end.
  std::string last() const {
    std::string text = tracing_.text();
    text.resize(text.size() - std::string("\nend\n").size());
    return text.substr(text.rfind('\n') + 1);
  }

  sim::SimDriver driver_{with_fabric(), {.devices = 2}};
  TracingDriver tracing_{&driver_, {.granule = unit}};
};

constexpr auto is_comment = [](const std::string& call) {
  return "  # " + call + ": no operation says this";
};

TEST_F(TracingComments, AreForArgumentsThatNoOperationHas) {
  const DeviceAddress managed =
      must(tracing_.mem_alloc_managed({.size = 1_KiB, .flags = ManagedFlags::attach_host}));
  EXPECT_EQ(last(), is_comment("mem_alloc_managed(size=1024, flags=2) => OK"));
  must(tracing_.mem_free(managed));
  std::byte* const host = must(tracing_.mem_host_alloc({.size = 1_KiB, .flags = 1}));
  EXPECT_EQ(last(), is_comment("mem_host_alloc(size=1024, flags=1) => OK"));
  must(tracing_.mem_free_host(host));
  EXPECT_THAT(last(), HasSubstr(") => OK: no operation says this"));
  must(tracing_.ctx_destroy(must(tracing_.ctx_create({.device = device_0, .flags = 4}))));
  EXPECT_THAT(tracing_.text(), HasSubstr(is_comment("ctx_create(device=0, flags=4) => OK") + "\n"));
  for (const std::size_t at : {1U, 2U, 3U}) {
    CreateRequest request = {.size = unit, .properties = {}};
    request.properties.reserved.at(at) = 1;
    EXPECT_FALSE(tracing_.mem_create(request));
    EXPECT_THAT(last(), testing::StartsWith("  # mem_create("));
  }
}

TEST_F(TracingComments, AreForRangesOfOtherKinds) {
  const DeviceAddress address = must(tracing_.mem_alloc(unit));
  EXPECT_FALSE(tracing_.mem_get_handle_for_address_range(
      {.address = address, .size = unit, .handle_type = 2}));
  EXPECT_THAT(last(), testing::StartsWith("  # mem_get_handle_for_address_range("));
  EXPECT_FALSE(
      tracing_.mem_get_handle_for_address_range({.address = address, .size = unit, .flags = 1}));
  EXPECT_THAT(last(), testing::StartsWith("  # mem_get_handle_for_address_range("));
}

TEST_F(TracingComments, AreForKernelsWithAResultInStreams) {
  const DeviceAddress address = must(tracing_.mem_alloc(unit));
  EXPECT_FALSE(tracing_.launch_touch(
      {.address = address, .touch = Touch::read, .result = address, .stream = StreamHandle(0x77)}));
  EXPECT_THAT(last(), testing::StartsWith("  # launch_touch("));
  EXPECT_THAT(last(), EndsWith("=> INVALID_CONTEXT: no operation says this"));
}

// The result is read elsewhere: the operation says who waited, and nothing of what came out.
TEST_F(TracingComments, SayHowLongAKernelWithAResultWaits) {
  const DeviceAddress address = must(tracing_.mem_alloc(unit));
  must(tracing_.launch_touch(
      {.address = address, .touch = Touch::read, .result = address + 1_B, .duration_ns = 500}));
  must(tracing_.ctx_synchronize());
  EXPECT_THAT(tracing_.text(), HasSubstr("  # the kernel waited 500 ns first\n  kread p0 => OK\n"));
}

// Contents are not compared from a copy on that nothing waits for.
TEST_F(TracingComments, AreForHostCopiesInStreams) {
  const DeviceAddress address = must(tracing_.mem_alloc(1_KiB));
  std::array<std::byte, 1> byte = {};
  must(tracing_.memcpy_htod({.destination = address, .source = byte}));
  must(tracing_.memcpy_dtoh({.destination = byte, .source = address}));
  EXPECT_EQ(last(), "  expect p0 size=1 val=0 => OK match=1");
  must(tracing_.memcpy_dtod_async(
      {.copy = {.destination = address, .source = address + 1_B, .size = 1_B}, .stream = {}}));
  EXPECT_EQ(last(), "  dtod p0 p0+1 size=1 stream=null => OK");
  must(tracing_.memcpy_htod_async({.copy = {.destination = address, .source = byte}}));
  EXPECT_THAT(last(), testing::StartsWith("  # memcpy_htod_async("));
  must(tracing_.memcpy_dtoh({.destination = byte, .source = address}));
  EXPECT_EQ(last(), "  expect p0 size=1 => OK");
}

// Nor from where on others may write: a host, another process.
TEST_F(TracingComments, LeaveContentsOpenThatOthersMayWrite) {
  std::array<std::byte, 1> byte = {};
  const auto compares = [&](const auto& open_to_others) {
    TracingDriver tracing(&driver_, {.granule = unit, .start = scenario::Start::no_context});
    const DeviceAddress address = must(tracing.mem_alloc(1_KiB));
    must(tracing.memcpy_dtoh({.destination = byte, .source = address}));
    EXPECT_THAT(tracing.text(), EndsWith("  expect p0 size=1 val=0 => OK match=1\nend\n"));
    open_to_others(tracing);
    must(tracing.memcpy_dtoh({.destination = byte, .source = address}));
    return tracing.text().find("  expect p0 size=1 => OK\n") == std::string::npos;
  };
  EXPECT_TRUE(
      compares([](Driver& driver) { must(driver.mem_create({.size = unit, .properties = {}})); }));
  EXPECT_FALSE(compares([](Driver& driver) {
    must(driver.mem_create(
        {.size = unit, .properties = {.location = {.type = LocationType::host_numa}}}));
  }));
  EXPECT_FALSE(compares([](Driver& driver) { must(driver.mem_alloc_managed({.size = 1_KiB})); }));
  EXPECT_FALSE(compares([](Driver& driver) { must(driver.mem_host_alloc({.size = 1_KiB})); }));
  EXPECT_FALSE(compares([](Driver& driver) {
    const AllocationHandle memory = must(driver.mem_create(
        {.size = unit,
         .properties = {.requested_handle_types = HandleTypes::posix_file_descriptor}}));
    ::close(must(driver.mem_export_to_shareable_handle({.handle = memory})).file_descriptor);
  }));
}

TEST_F(TracingComments, AreForMemoryOfTheHostThatIsFreedTwice) {
  std::byte* const host = must(tracing_.mem_host_alloc({.size = 1_KiB}));
  must(tracing_.mem_free_host(host));
  EXPECT_EQ(last(), "  free p0 => OK");
  EXPECT_FALSE(tracing_.mem_free_host(host));
  EXPECT_THAT(last(), testing::StartsWith("  # mem_free_host("));
}

TEST_F(TracingComments, AreNotForHints) {
  const DeviceAddress address = must(tracing_.mem_address_reserve({.size = unit}));
  must(tracing_.mem_address_free({.address = address, .size = unit}));
  must(tracing_.mem_address_reserve({.size = unit, .hint = address}));
  EXPECT_EQ(last(), "  reserve r1 size=1u at=r0 => OK aligned=2097152 at=hint");
  must(tracing_.mem_address_reserve({.size = unit, .hint = address}));
  EXPECT_EQ(last(), "  reserve r2 size=1u at=r1 => OK aligned=2097152 at=other");
}

// A fabric handle is no descriptor: the import of it is not said.
TEST_F(TracingComments, AreForImportsOfFabricHandles) {
  const AllocationHandle memory = must(tracing_.mem_create(
      {.size = unit, .properties = {.requested_handle_types = HandleTypes::fabric}}));
  const ShareableHandle exported = must(
      tracing_.mem_export_to_shareable_handle({.handle = memory, .type = HandleTypes::fabric}));
  EXPECT_THAT(last(), testing::StartsWith("  export f0 handle=h0 type="));
  must(tracing_.mem_import_from_shareable_handle(exported));
  EXPECT_THAT(last(), testing::StartsWith("  # mem_import_from_shareable_handle("));
  EXPECT_FALSE(tracing_.mem_import_from_shareable_handle({.type = HandleTypes::fabric}));
  EXPECT_THAT(last(), testing::StartsWith("  # mem_import_from_shareable_handle("));
}

TEST_F(TracingComments, AreNotForMemoryOfOthersThatIsRetained) {
  const DeviceAddress address = must(tracing_.mem_address_reserve({.size = unit}));
  const AllocationHandle memory = must(driver_.mem_create({.size = unit, .properties = {}}));
  must(driver_.mem_map({.address = address, .size = unit, .handle = memory}));
  must(tracing_.mem_retain_allocation_handle(address));
  EXPECT_EQ(last(), "  retain h0 r0 => OK same=none");
  must(tracing_.mem_release(memory));
  EXPECT_EQ(last(), "  release h0 => OK");
}

TEST_F(TracingComments, AreForPeersThatAreNoPrimaryContexts) {
  const ContextHandle made = must(tracing_.ctx_create({.device = DeviceOrdinal(1)}));
  must(tracing_.ctx_set_current(must(tracing_.device_primary_ctx_retain(device_0))));
  must(tracing_.ctx_enable_peer_access({.peer = made}));
  EXPECT_THAT(last(), testing::StartsWith("  # ctx_enable_peer_access("));
}

// What was current stays so: another context than the one retained, and one that is not current.
TEST_F(TracingComments, AreNotForWhatIsCurrent) {
  const ContextHandle first = must(tracing_.ctx_create({.device = device_0}));
  const ContextHandle second = must(tracing_.ctx_create({.device = device_0}));
  must(tracing_.device_primary_ctx_retain(DeviceOrdinal(1)));
  must(tracing_.ctx_set_current(first));
  EXPECT_THAT(tracing_.text(), EndsWith("  ctx.retain dev=1 => OK\n"
                                        "  ctx.set c1 => OK\n"
                                        "  ctx.set c0 => OK\nend\n"));
  must(tracing_.ctx_destroy(second));
  EXPECT_FALSE(tracing_.ctx_destroy(second));
  must(tracing_.mem_alloc(1_KiB));  // the first one is current
  EXPECT_THAT(last(), testing::StartsWith("  alloc p0 size=1K => OK"));
}

// Some drivers give an import the handle that the process has already; others give the value of
// one that is gone to new memory.
TEST(TracingNames, AreOfHandlesThatComeBack) {
  NiceMock<MockDriver> target;
  TracingDriver tracing(&target, {.granule = unit, .start = scenario::Start::no_context});
  constexpr AllocationHandle value{0x51};
  ON_CALL(target, mem_create).WillByDefault(Return(value));
  ON_CALL(target, mem_import_from_shareable_handle).WillByDefault(Return(value));
  ON_CALL(target, mem_release).WillByDefault(Return(Status()));
  must(tracing.mem_create({.size = unit, .properties = {}}));
  must(tracing.mem_import_from_shareable_handle({.file_descriptor = 3}));
  must(tracing.mem_release(value));
  must(tracing.mem_release(value));
  must(tracing.mem_release(value));  // one too many, and OK
  must(tracing.mem_import_from_shareable_handle({.file_descriptor = 3}));
  must(tracing.mem_create({.size = unit, .properties = {}}));
  must(tracing.mem_release(AllocationHandle(0x99)));
  EXPECT_EQ(tracing.text(),
            "case trace noctx\n"
            "  create h0 size=1u => OK\n"
            "  import h1 fd=3 => OK same=h0\n"
            "  release h0 => OK\n"
            "  release h0 => OK\n"
            "  release h0 => OK\n"
            "  import h2 fd=3 => OK same=none\n"
            "  create h3 size=1u => OK\n"
            "  release 0x99 => OK\n"
            "end\n");
}

// An allocation up to the end of the addresses takes the place of all that was there.
TEST(TracingNames, AreOfTheLastRangeThatWasGiven) {
  NiceMock<MockDriver> target;
  TracingDriver tracing(&target, {.granule = unit, .start = scenario::Start::no_context});
  constexpr DeviceAddress low{0x200000};
  EXPECT_CALL(target, mem_alloc)
      .WillOnce(Return(low + unit))
      .WillOnce(Return(low))
      .WillRepeatedly(Return(Error{.code = ErrorCode::out_of_memory}));
  ON_CALL(target, mem_free).WillByDefault(Return(Status()));
  must(tracing.mem_alloc(unit));
  must(tracing.mem_alloc(Bytes(~std::uint64_t{0})));
  must(tracing.mem_free(low + unit));
  EXPECT_THAT(tracing.text(), EndsWith("  free p1+1u => OK\nend\n"));
}

}  // namespace
}  // namespace tessera
