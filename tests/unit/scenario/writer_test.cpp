#include "tessera/scenario/writer.h"

#include <gtest/gtest.h>

#include "tessera/scenario/reader.h"

namespace tessera::scenario {
namespace {

using namespace symbols;

void expect_unchanged(const std::string& text) {
  const auto result = read_scenario(text, "test");
  ASSERT_TRUE(std::holds_alternative<Scenario>(result)) << to_string(std::get<ReadError>(result));
  EXPECT_EQ(to_string(std::get<Scenario>(result)), text);
}

TEST(Writer, PrintsWhatWasReadToTheSameBytes) {
  expect_unchanged("");
  expect_unchanged("\n\n# only comments\n");
  expect_unchanged("# head\n\ncase a\n  # why\n  release h0 => OK\n\n  # last\nend\n# tail\n");
  expect_unchanged("case a\r\n  release h0 => OK\r\nend\r\n");
  expect_unchanged("case  a   serial noctx \n\trelease  h0  \n end\n# no newline");
  expect_unchanged("case a\nend");
  expect_unchanged("case a\n  map r0 handle=h0 size=0x10 off=00 => OK  a=1\nend\n");
  expect_unchanged("case a\n  create h0 size=1u comp=1 comp=2 handle=3\nend\n");
}

// Every operation, with every key, in the canonical spelling.
TEST(Writer, SpellsEveryOperationAsItReadsIt) {
  const char* const lines[] = {
      "granularity type=managed loc=host dev=1 handle=fd+fabric rdma=1 comp=1 usage=1 opt=rec "
      "prop=null out=null",
      "reserve r0 size=8u align=2M at=r1+1u flags=1 out=null",
      "addrfree r0+1u size=8u",
      "create h0 size=1u type=pinned loc=host_numa_current dev=-1 handle=16 rdma=1 comp=2 "
      "usage=255 "
      "reserved=1 win32meta=1 flags=1 prop=null out=null",
      "release h0",
      "props h0 out=null",
      "map r0 size=1u handle=h0 off=4K flags=1",
      "unmap r0 size=1u",
      "setaccess r0 size=1u loc=host dev=1 prot=w desc=device:0:rw,9:-1:7 count=2",
      "getaccess r0 loc=none dev=2 out=null location=null",
      "retain h1 r0+1",
      "same h0 0xdead",
      "export f0 handle=h0 type=win32 flags=1 out=null",
      "import h1 fd=-1 type=none",
      "close f0",
      "openfd f1 kind=memfd",
      "ipc.child fd=f0 size=1u val=9",
      "memset r0 size=16 val=3",
      "htod r0 size=16 val=3",
      "expect r0 size=16 val=3",
      "dtod r0 r1 size=16",
      "kread r0",
      "kwrite r0",
      "hostread r0",
      "hostwrite r0",
      "meminfo total=1",
      "meminfo0",
      "alloc p0 size=1",
      "free p0",
      "managed p0 size=1",
      "allocasync p0 size=1",
      "hostalloc p0 size=1",
      "attr r0 which=mapping_base",
      "attr r0 which=99",
      "sameblock r0 r1 which=buffer_id",
      "addrrange r0",
      "dmabuf r0 size=1u",
      "ctx.retain dev=1",
      "ctx.release dev=1",
      "ctx.reset dev=1",
      "ctx.none",
      "ctx.create c0 dev=1",
      "ctx.set primary1",
      "ctx.destroy c0",
      "ctx.sync",
      "peer.can a=0 b=1",
      "peer.enable dev=1",
      "version",
      "devcount",
      "devname dev=0",
      "devmem dev=0",
      "devattr 102 dev=0",
      "stream.create s0 flags=1",
      "stream.wait s0 event=e0 flags=1",
      "stream.sync s0",
      "stream.destroy s0",
      "event.create e0 flags=2",
      "event.record e0 stream=s0",
      "event.query e0",
      "event.sync e0",
      "event.destroy e0",
      "launch r0 touch=write val=7 ns=20000 stream=s0",
      "memset r0 size=1 val=7 stream=s0",
      "dtod r0 r1 size=1 stream=null",
      "allocasync p0 size=1 stream=s0",
      "freeasync p0 stream=s0",
      "allocpitch p0 width=100 height=4 elem=16",
      "limit.set which=0 value=2K",
      "limit.get which=0",
      "mc.create h0 devices=2 size=1u",
      "mc.add h0 dev=1",
      "mc.bind h0 mem=h1 size=1u off=1u",
      "mc.unbind h0 dev=1 size=1u off=1u",
  };
  std::vector<bool> seen(std::variant_size_v<Operation>);
  for (const char* line : lines) {
    const auto result = read_call(line);
    ASSERT_TRUE(std::holds_alternative<Call>(result)) << to_string(std::get<ReadError>(result));
    const Operation& operation = std::get<Call>(result).operation;
    seen[operation.index()] = true;
    EXPECT_EQ(to_string(operation), line);
    EXPECT_EQ(std::string_view(line).substr(0, operation_name(operation).size()),
              operation_name(operation));
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_TRUE(seen[i]) << "operation " << i << " is not in this test";
  }
}

TEST(Writer, PrintsCasesBuiltInCode) {
  Case built;
  built.name = "built";
  built.start = Start::nothing;
  built.calls = {
      {.operation = Reserve{.result = r(0), .size = granules(8)},
       .expected = Answer().add("aligned", std::uint64_t{2097152})},
      {.operation = Create{.result = h(0),
                           .size = Bytes(2U << 20U),
                           .properties = {.handle_types = HandleTypes::fabric}},
       .lines_before = {"  # then memory"}},
      {.operation = Map{.address = r(0) + granules(1), .size = granules(1), .handle = h(0)}}};
  EXPECT_EQ(to_string(built),
            "case built noinit\n"
            "  reserve r0 size=8u => OK aligned=2097152\n"
            "  # then memory\n"
            "  create h0 size=2M handle=fabric\n"
            "  map r0+1u size=1u handle=h0\n"
            "end\n");
}

TEST(Writer, MakesNamesOneWord) {
  const auto first_line = [](const std::string& name) {
    const std::string text = to_string(Case{.name = name});
    EXPECT_TRUE(std::holds_alternative<Scenario>(read_scenario(text, "named"))) << text;
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(first_line("my test\nend"), "case my_test_end");
  EXPECT_EQ(first_line("all/Sizes.Grow/3"), "case all/Sizes.Grow/3");
  EXPECT_EQ(first_line(""), "case unnamed");
  EXPECT_EQ(first_line("read\x1f"), "case read\x1f") << "a reader takes it for part of the word";
}

TEST(Writer, DropsASpellingThatNoLongerFits) {
  auto result = read_scenario("case  a\n  map r0 handle=h0 size=1u => OK\nend\n", "test");
  Scenario& scenario = std::get<Scenario>(result);
  std::get<Map>(scenario.cases[0].calls[0].operation).size = granules(2);
  scenario.cases[0].serial = true;
  EXPECT_EQ(to_string(scenario), "case a serial\n  map r0 size=2u handle=h0 => OK\nend\n");
}

// A spelling set by hand that says nothing, no line, or another one.
TEST(Writer, DropsASpellingThatIsNone) {
  for (const char* spelling :
       {"  ", "# nothing", "case", "case b", "case a noctx", "case a serial"}) {
    const Case built = {.name = "a", .spelling = {spelling}};
    EXPECT_EQ(to_string(built), "case a\nend\n") << spelling;
  }
  for (const char* spelling : {"  ", "release", "release h1", "release h0 => OK"}) {
    Case built = {.name = "a"};
    built.calls.push_back({.operation = Release{.handle = h(0)}, .spelling = {spelling}});
    EXPECT_EQ(to_string(built), "case a\n  release h0\nend\n") << spelling;
  }
}

TEST(Writer, PrintsNothingOfNoCases) {
  EXPECT_EQ(to_string(Scenario{.ends_with_newline = false}), "");
  EXPECT_EQ(to_string(Scenario{}), "");
}

}  // namespace
}  // namespace tessera::scenario
