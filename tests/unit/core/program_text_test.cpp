// Each kind of call as a scenario says it, and what that reads back as.
#include "tessera/testing/program_text.h"

#include <array>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>

#include "tessera/scenario/reader.h"
#include "tessera/scenario/writer.h"
#include "unit/core/program_ops.h"

namespace tessera::testing {
namespace {

constexpr Place pointer(std::uint8_t slot, std::int8_t byte = 0) {
  return {.base = SlotKind::pointer, .slot = slot, .bytes = byte};
}
constexpr Size sized(SizeUnit unit, std::int16_t count, std::int8_t bytes = 0) {
  return {.unit = unit, .bytes = bytes, .count = count};
}

struct Said {
  const char* line;
  Op op;
};
const Said all_said[] = {
    {"ctx.retain dev=1", {.kind = OpKind::ctx_retain, .device = 1}},
    {"ctx.release", {.kind = OpKind::ctx_release}},
    {"ctx.reset dev=1", {.kind = OpKind::ctx_reset, .device = 1}},
    {"ctx.create c2 dev=1", {.kind = OpKind::ctx_create, .result = 2, .device = 1}},
    {"ctx.destroy c2", {.kind = OpKind::ctx_destroy, .object = 2}},
    {"ctx.set c2", {.kind = OpKind::ctx_set, .object = 2}},
    {"ctx.set primary1", {.kind = OpKind::ctx_set, .device = 1}},
    {"ctx.none", {.kind = OpKind::ctx_none}},
    {"ctx.sync", {.kind = OpKind::ctx_sync}},
    {"peer.can a=0 b=1", {.kind = OpKind::peer_can, .other = 1}},
    {"peer.enable dev=1", {.kind = OpKind::peer_enable, .device = 1}},
    {"limit.set which=2 value=8K",
     {.kind = OpKind::limit_set, .extra = sized(SizeUnit::kibibytes, 8), .choice = 2}},
    {"limit.get which=2", {.kind = OpKind::limit_get, .choice = 2}},
    {"granularity dev=1 opt=rec", {.kind = OpKind::granularity, .device = 1, .choice = 1}},
    {"reserve r1 size=2u+1",
     {.kind = OpKind::reserve, .result = 1, .size = sized(SizeUnit::granules, 2, 1)}},
    {"reserve r1 size=2u align=4u at=r0+1u-1 flags=1",
     {.kind = OpKind::reserve,
      .result = 1,
      .place = reservation(0, 1, -1),
      .size = granules(2),
      .extra = granules(4),
      .flags = 1}},
    {"addrfree r1 size=2u",
     {.kind = OpKind::address_free, .place = reservation(1), .size = granules(2)}},
    {"create h1 size=1u", {.kind = OpKind::create, .result = 1, .size = granules(1), .choice = 1}},
    {"create h1 size=1T type=managed loc=host dev=2 handle=fd rdma=1 comp=1 usage=1 flags=1",
     {.kind = OpKind::create,
      .result = 1,
      .other = create_managed_type | create_compressed | create_rdma | create_tile_pool,
      .size = sized(SizeUnit::tebibytes, 1),
      .device = 2,
      .choice = 2,
      .value = 1,
      .flags = 1}},
    {"release h1", {.kind = OpKind::release, .object = 1}},
    {"release null", {.kind = OpKind::release}},
    {"props h1", {.kind = OpKind::properties, .object = 1}},
    {"retain h2 r1+1u", {.kind = OpKind::retain, .result = 2, .place = reservation(1, 1)}},
    {"export f1 handle=h2 type=fd flags=1",
     {.kind = OpKind::export_fd, .result = 1, .object = 2, .value = 1, .flags = 1}},
    {"import h3 fd=f1", {.kind = OpKind::import_fd, .result = 3, .object = 1}},
    {"import h3 fd=max", {.kind = OpKind::import_fd, .result = 3}},
    {"close f1", {.kind = OpKind::close_fd, .object = 1}},
    {"map r1+1u size=1u handle=h1 off=1u flags=1",
     {.kind = OpKind::map,
      .object = 1,
      .place = reservation(1, 1),
      .size = granules(1),
      .extra = granules(1),
      .flags = 1}},
    {"map r1 size=1u handle=h1",
     {.kind = OpKind::map, .object = 1, .place = reservation(1), .size = granules(1)}},
    {"unmap r1-1u size=-1u",
     {.kind = OpKind::unmap, .place = reservation(1, -1), .size = granules(-1)}},
    {"unmap null size=0", {.kind = OpKind::unmap}},
    {"setaccess r1 size=1u",
     {.kind = OpKind::set_access,
      .place = reservation(1),
      .size = granules(1),
      .choice = 1,
      .value = 3}},
    {"setaccess r1 size=1u loc=host_numa dev=1 prot=r",
     {.kind = OpKind::set_access,
      .place = reservation(1),
      .size = granules(1),
      .device = 1,
      .choice = 3,
      .value = 1}},
    {"setaccess r1 size=1u desc=device:0:r,device:1:rw",
     {.kind = OpKind::set_access,
      .other = 0x13,
      .place = reservation(1),
      .size = granules(1),
      .choice = 1,
      .value = 1}},
    {"getaccess r1 dev=1",
     {.kind = OpKind::get_access, .place = reservation(1), .device = 1, .choice = 1}},
    {"getaccess r1 loc=host", {.kind = OpKind::get_access, .place = reservation(1), .choice = 2}},
    {"alloc p1 size=1K",
     {.kind = OpKind::alloc, .result = 1, .size = sized(SizeUnit::kibibytes, 1)}},
    {"allocpitch p1 width=100 height=3 elem=4",
     {.kind = OpKind::alloc_pitch,
      .result = 1,
      .size = plain_bytes(100),
      .extra = plain_bytes(3),
      .value = 4}},
    {"managed p1 size=1K",
     {.kind = OpKind::alloc_managed, .result = 1, .size = sized(SizeUnit::kibibytes, 1)}},
    {"allocasync p1 size=1K stream=s1",
     {.kind = OpKind::alloc_async, .result = 1, .other = 1, .size = sized(SizeUnit::kibibytes, 1)}},
    {"allocasync p1 size=8", {.kind = OpKind::alloc_async, .result = 1, .size = plain_bytes(8)}},
    {"hostalloc p1 size=1K",
     {.kind = OpKind::host_alloc, .result = 1, .size = sized(SizeUnit::kibibytes, 1)}},
    {"free p1+1", {.kind = OpKind::free, .place = pointer(1, 1)}},
    {"freeasync p1 stream=s1", {.kind = OpKind::free_async, .other = 1, .place = pointer(1)}},
    {"meminfo", {.kind = OpKind::mem_info}},
    {"addrrange p1", {.kind = OpKind::address_range, .place = pointer(1)}},
    {"attr p1 which=range_start",
     {.kind = OpKind::attribute,
      .place = pointer(1),
      .choice = static_cast<std::uint8_t>(PointerAttribute::range_start_addr)}},
    {"htod p1 size=8 val=5",
     {.kind = OpKind::htod, .place = pointer(1), .size = plain_bytes(8), .value = 5}},
    {"expect p1 size=8 val=5",
     {.kind = OpKind::expect, .place = pointer(1), .size = plain_bytes(8), .value = 5}},
    {"dtod p1 r1 size=8",
     {.kind = OpKind::dtod, .place = pointer(1), .source = reservation(1), .size = plain_bytes(8)}},
    {"dtod p1 r1 size=8 stream=s1",
     {.kind = OpKind::dtod,
      .other = 1,
      .place = pointer(1),
      .source = reservation(1),
      .size = plain_bytes(8),
      .flags = 1}},
    {"memset r1 size=2u val=5",
     {.kind = OpKind::memset, .place = reservation(1), .size = granules(2), .value = 5}},
    {"memset r1 size=8 val=5 stream=null",
     {.kind = OpKind::memset,
      .place = reservation(1),
      .size = plain_bytes(8),
      .value = 5,
      .flags = 1}},
    {"stream.create s1 flags=1", {.kind = OpKind::stream_create, .result = 1, .choice = 1}},
    {"stream.create s1", {.kind = OpKind::stream_create, .result = 1}},
    {"stream.destroy s1", {.kind = OpKind::stream_destroy, .object = 1}},
    {"stream.sync null", {.kind = OpKind::stream_sync}},
    {"stream.wait s1 event=e1 flags=1",
     {.kind = OpKind::stream_wait, .object = 1, .other = 1, .flags = 1}},
    {"event.create e1 flags=2", {.kind = OpKind::event_create, .result = 1, .choice = 2}},
    {"event.record e1 stream=s1", {.kind = OpKind::event_record, .object = 1, .other = 1}},
    {"event.record e1", {.kind = OpKind::event_record, .object = 1}},
    {"event.query e1", {.kind = OpKind::event_query, .object = 1}},
    {"event.sync e1", {.kind = OpKind::event_sync, .object = 1}},
    {"event.destroy e1", {.kind = OpKind::event_destroy, .object = 1}},
    {"launch r1 touch=write val=5 ns=20000 stream=s1",
     {.kind = OpKind::launch,
      .other = 1,
      .place = reservation(1),
      .extra = plain_bytes(2),
      .choice = 1,
      .value = 5}},
    {"mc.create h1 devices=2 size=1u",
     {.kind = OpKind::mc_create, .result = 1, .size = granules(1), .device = 2}},
    {"mc.create h1 devices=4294967295 size=1u",
     {.kind = OpKind::mc_create, .result = 1, .size = granules(1), .device = -1}},
    {"mc.add h1 dev=1", {.kind = OpKind::mc_add, .object = 1, .device = 1}},
    {"mc.bind h1 mem=h2 size=1u off=1u",
     {.kind = OpKind::mc_bind, .object = 1, .other = 2, .size = granules(1), .extra = granules(1)}},
    {"mc.unbind h1 dev=1 size=1u",
     {.kind = OpKind::mc_unbind, .object = 1, .size = granules(1), .device = 1}},
};

// Zero is zero in each unit.
Op plain(Op op) {
  for (Size* size : {&op.size, &op.extra}) {
    *size = size->count == 0 && size->bytes == 0 ? Size() : *size;
  }
  return op;
}

class EachOp : public ::testing::TestWithParam<Said> {};

TEST_P(EachOp, IsSaidAndReadBack) {
  Op op = GetParam().op;
  normalize(op);
  const scenario::Case said = to_case({.ops = {op}}, "one");
  ASSERT_EQ(said.calls.size(), 1U);
  EXPECT_EQ(scenario::to_string(said.calls[0].operation), GetParam().line);
  const auto read = scenario::read_call(GetParam().line);
  ASSERT_TRUE(std::holds_alternative<scenario::Call>(read))
      << to_string(std::get<scenario::ReadError>(read));
  const auto back = from_case({.name = "one", .calls = {std::get<scenario::Call>(read)}});
  ASSERT_TRUE(std::holds_alternative<Program>(back)) << std::get<NotAProgram>(back).message;
  ASSERT_EQ(std::get<Program>(back).ops.size(), 1U);
  const Op& again = std::get<Program>(back).ops[0];
  EXPECT_TRUE(plain(again) == plain(op))
      << scenario::to_string(to_case({.ops = {again}}, "one").calls[0].operation);
}

INSTANTIATE_TEST_SUITE_P(Programs, EachOp, ::testing::ValuesIn(all_said), [](const auto& said) {
  return std::string(name_of(said.param.op.kind)) + "_" + std::to_string(said.index);
});

// What a scenario expects is what can be compared wherever it is run.
TEST(ProgramText, SaysWhatWasAnswered) {
  const std::vector<std::pair<OpKind, const char*>> answers = {
      {OpKind::expect, "OK match=7"}, {OpKind::get_access, "OK flags=7"},
      {OpKind::peer_can, "OK can=7"}, {OpKind::granularity, "OK g=7"},
      {OpKind::limit_get, "OK v=7"},  {OpKind::mem_info, "OK"},
      {OpKind::address_range, "OK"}};
  for (const auto& [kind, text] : answers) {
    const std::array outcomes = {Outcome{.value = 7}};
    const scenario::Case said = to_case({.ops = {Op{.kind = kind}}}, "one", outcomes);
    EXPECT_EQ(said.calls.at(0).expected->text(), text) << name_of(kind);
  }
  const std::array failed = {Outcome{.code = ErrorCode::invalid_value}};
  const scenario::Case said =
      to_case({.ops = {Op{.kind = OpKind::expect}, Op{.kind = OpKind::expect}}}, "one", failed);
  EXPECT_EQ(said.name, "one");
  EXPECT_EQ(said.calls.at(0).expected->text(), "INVALID_VALUE");
  EXPECT_FALSE(said.calls.at(1).expected.has_value()) << "it was not run";
}

}  // namespace
}  // namespace tessera::testing
