// What any bytes become when they are made an operation: operands that the runner can stand behind.
#include <gtest/gtest.h>

#include "tessera/testing/program.h"

namespace tessera::testing {
namespace {

Op normal(Op op) {
  normalize(op);
  return op;
}
Op sized(OpKind kind, SizeUnit unit, std::int16_t count, std::int8_t bytes = 0) {
  return {.kind = kind, .size = {.unit = unit, .bytes = bytes, .count = count}};
}

TEST(NormalOp, IsOfAKindThatThereIs) {
  EXPECT_EQ(normal({.kind = static_cast<OpKind>(op_kinds)}).kind, OpKind{0});
  EXPECT_EQ(normal({.kind = static_cast<OpKind>(op_kinds + 3)}).kind, static_cast<OpKind>(3));
  EXPECT_EQ(normal({.kind = static_cast<OpKind>(op_kinds - 1)}).kind,
            static_cast<OpKind>(op_kinds - 1));
}

TEST(NormalOp, HasOnlyTheOperandsOfItsKind) {
  const Op all = {.result = 3,
                  .object = 1,
                  .other = 2,
                  .place = {.base = SlotKind::reservation, .slot = 1, .granules = 1, .bytes = 1},
                  .source = {.base = SlotKind::pointer, .slot = 2, .granules = 2, .bytes = 2},
                  .size = granules(1),
                  .extra = granules(2),
                  .device = 1,
                  .choice = 1,
                  .value = 1,
                  .flags = 1};
  for (std::size_t kind = 0; kind < op_kinds; ++kind) {
    Op op = all;
    op.kind = static_cast<OpKind>(kind);
    normalize(op);
    const Op blank;
    const unsigned used = operands_of(op.kind);
    const bool is_kept[] = {op.object != blank.object, op.other != blank.other,
                            op.place != blank.place,   op.source != blank.source,
                            op.size != blank.size,     op.extra != blank.extra,
                            op.device != blank.device, op.choice != blank.choice,
                            op.value != blank.value,   op.flags != blank.flags};
    for (unsigned field = 0; field < std::size(is_kept); ++field) {
      EXPECT_EQ(is_kept[field], (used >> field & 1U) != 0)
          << name_of(op.kind) << ", field " << field;
    }
    EXPECT_EQ(op.result, result_of(op.kind) == SlotKind::none ? 0 : 3) << name_of(op.kind);
    const Op once = op;
    normalize(op);
    EXPECT_EQ(op, once) << name_of(op.kind);
  }
}

TEST(NormalOp, NamesSlotsThatThereAre) {
  EXPECT_EQ(normal({.kind = OpKind::reserve, .result = 17}).result, 1);
  EXPECT_EQ(normal({.kind = OpKind::release, .object = 18}).object, 2);
  EXPECT_EQ(normal({.kind = OpKind::release, .object = no_slot}).object, no_slot);
  EXPECT_EQ(normal({.kind = OpKind::stream_wait, .object = 1, .other = 19}).other, 3);
  EXPECT_EQ(normal({.kind = OpKind::map, .place = {.base = SlotKind::pointer, .slot = 20}}).place,
            (Place{.base = SlotKind::pointer, .slot = 4}));
  EXPECT_EQ(normal({.kind = OpKind::map, .place = {.base = SlotKind::stream, .slot = 4}}).place,
            Place());
  // No slots: bits of create, a second descriptor.
  EXPECT_EQ(normal({.kind = OpKind::create, .other = 0x35}).other, 0x05);
  EXPECT_EQ(normal({.kind = OpKind::create, .other = no_slot}).other, no_slot);
  EXPECT_EQ(normal({.kind = OpKind::set_access, .other = 0x35}).other, 0x35);
}

TEST(NormalOp, NamesAStreamOnlyWhereItIsQueuedThere) {
  for (const OpKind kind : {OpKind::memset, OpKind::dtod}) {
    EXPECT_EQ(normal({.kind = kind, .other = 1, .flags = 0}).other, no_slot);
    EXPECT_EQ(normal({.kind = kind, .other = 1, .flags = 1}).other, 1);
  }
  EXPECT_EQ(normal({.kind = OpKind::launch, .other = 1, .flags = 0}).other, 1);
}

TEST(NormalOp, CopiesFewBytes) {
  for (const OpKind kind : {OpKind::htod, OpKind::expect}) {
    EXPECT_EQ(normal(sized(kind, SizeUnit::granules, 5, 3)).size, plain_bytes(5));
    EXPECT_EQ(normal(sized(kind, SizeUnit::bytes, 128)).size, plain_bytes(128));
    EXPECT_EQ(normal(sized(kind, SizeUnit::bytes, 129)).size, plain_bytes(0));
    EXPECT_EQ(normal(sized(kind, SizeUnit::bytes, -7)).size, plain_bytes(0));
  }
}

// Or so many that it is refused.
TEST(NormalOp, CopiesOnDevicesFewBytesOrFarTooMany) {
  const auto dtod = [](std::int16_t count, std::int8_t bytes) {
    return normal(sized(OpKind::dtod, SizeUnit::tebibytes, count, bytes)).size;
  };
  EXPECT_EQ(dtod(3, 5), (Size{.unit = SizeUnit::bytes, .bytes = 5, .count = 3}));
  EXPECT_EQ(dtod(3, -3), (Size{.unit = SizeUnit::bytes, .bytes = -3, .count = 3}));
  EXPECT_EQ(dtod(3, -4), plain_bytes(3)) << "not by accident";
  EXPECT_EQ(dtod(0, -1), plain_bytes(0));
  EXPECT_EQ(dtod(-9, 5), (Size{.unit = SizeUnit::bytes, .bytes = 5, .count = -1}));
  EXPECT_EQ(dtod(-9, -5), (Size{.unit = SizeUnit::bytes, .bytes = -5, .count = -1}));
}

TEST(NormalOp, FillsAFewGranules) {
  for (std::int16_t count = 0; count <= 2; ++count) {
    const Op op = sized(OpKind::memset, SizeUnit::granules, count, -1);
    EXPECT_EQ(normal(op).size, op.size) << count;
  }
  EXPECT_EQ(normal(sized(OpKind::memset, SizeUnit::granules, 3)).size, plain_bytes(3));
  EXPECT_EQ(normal(sized(OpKind::memset, SizeUnit::granules, -2)).size, plain_bytes(-1));
  EXPECT_EQ(normal(sized(OpKind::memset, SizeUnit::tebibytes, 1)).size, plain_bytes(1));
}

// The host's memory is real.
TEST(NormalOp, TakesLittleOfTheHost) {
  for (const OpKind kind : {OpKind::alloc_managed, OpKind::host_alloc}) {
    const auto size = [&](std::int16_t count, std::int8_t bytes) {
      return normal(sized(kind, SizeUnit::granules, count, bytes)).size;
    };
    EXPECT_EQ(size(64, 1), (Size{.unit = SizeUnit::kibibytes, .bytes = 1, .count = 64}));
    EXPECT_EQ(size(65, -1), (Size{.unit = SizeUnit::kibibytes, .bytes = 0, .count = 0}));
    EXPECT_EQ(size(-5, 0), (Size{.unit = SizeUnit::kibibytes, .bytes = 0, .count = 0}));
  }
  EXPECT_EQ(normal(sized(OpKind::alloc, SizeUnit::granules, 300)).size, granules(300));
}

TEST(NormalOp, WaitsForNoNegativeTime) {
  for (const OpKind kind : {OpKind::launch, OpKind::alloc_pitch}) {
    EXPECT_EQ(normal({.kind = kind, .extra = granules(7)}).extra, plain_bytes(7));
    EXPECT_EQ(normal({.kind = kind, .extra = granules(-7)}).extra, plain_bytes(0));
  }
  EXPECT_EQ(normal({.kind = OpKind::reserve, .extra = granules(-7)}).extra, granules(-7));
}

TEST(NormalOp, HasAUnitThatThereIs) {
  EXPECT_EQ(normal(sized(OpKind::reserve, static_cast<SizeUnit>(6), 1)).size, granules(1));
}

TEST(OpNames, AreThoseOfTheTable) {
  EXPECT_EQ(name_of(OpKind::ctx_retain), "ctx_retain");
  EXPECT_EQ(name_of(OpKind::mc_unbind), "mc_unbind");
  EXPECT_EQ(name_of(static_cast<OpKind>(op_kinds)), "mc_unbind");
}

}  // namespace
}  // namespace tessera::testing
