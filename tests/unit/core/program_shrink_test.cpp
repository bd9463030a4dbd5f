// How small a failing program gets, and how many are tried for it.
#include "tessera/testing/program_shrink.h"

#include <algorithm>

#include <gmock/gmock.h>

#include "unit/core/program_ops.h"

namespace tessera::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

bool has(const Program& program, OpKind kind) {
  return std::any_of(program.ops.begin(), program.ops.end(),
                     [kind](const Op& op) { return op.kind == kind; });
}

TEST(ProgramShrink, DropsWhatIsNotNeeded) {
  Program program;
  for (std::uint8_t slot = 0; slot < 10; ++slot) {
    program.ops.push_back(reserve(slot, 1));
  }
  program.ops.insert(program.ops.begin() + 3, {.kind = OpKind::ctx_none});
  program.ops.push_back({.kind = OpKind::mem_info});
  program.drain = 11;
  const Program small = shrink(program, [](const Program& candidate) {
    return has(candidate, OpKind::ctx_none) && has(candidate, OpKind::mem_info);
  });
  EXPECT_THAT(small.ops, ElementsAre(Op{.kind = OpKind::ctx_none}, Op{.kind = OpKind::mem_info}));
  EXPECT_EQ(small.drain, 2U) << "which calls undo is not known any more";
}

TEST(ProgramShrink, MakesOperandsPlain) {
  const Program program = {.ops = {{.kind = OpKind::reserve,
                                    .result = 0,
                                    .place = reservation(0, 3, 4),
                                    .size = {.unit = SizeUnit::granules, .bytes = 5, .count = 6},
                                    .extra = granules(7),
                                    .flags = 8}}};
  EXPECT_THAT(
      shrink(program, [](const Program& candidate) { return has(candidate, OpKind::reserve); }).ops,
      ElementsAre(Op{.kind = OpKind::reserve,
                     .place = reservation(0),
                     .size = granules(1),
                     .extra = plain_bytes(0)}));
  // What matters stays: here more than one granule, and where.
  EXPECT_THAT(shrink(program,
                     [](const Program& candidate) {
                       return has(candidate, OpKind::reserve) && candidate.ops[0].size.count > 1 &&
                              candidate.ops[0].place.granules > 0;
                     })
                  .ops,
              ElementsAre(Op{.kind = OpKind::reserve,
                             .place = reservation(0, 1),
                             .size = granules(2),
                             .extra = plain_bytes(0)}));
}

TEST(ProgramShrink, MakesValuesPlain) {
  const Program program = {
      .ops = {{.kind = OpKind::set_access,
               .other = 0x11,
               .place = reservation(0),
               .size = granules(1),
               .device = 1,
               .choice = 1,
               .value = 1},
              {.kind = OpKind::htod, .place = reservation(0), .size = plain_bytes(8), .value = 77},
              {.kind = OpKind::dtod,
               .other = 2,
               .place = reservation(0),
               .source = reservation(1),
               .size = plain_bytes(8),
               .flags = 1}}};
  const Program small =
      shrink(program, [](const Program& candidate) { return candidate.ops.size() == 3; });
  ASSERT_THAT(small.ops, SizeIs(3));
  EXPECT_EQ(small.ops[0].value, 3) << "access to read and write is the usual one";
  EXPECT_EQ(small.ops[0].device, 0);
  EXPECT_EQ(small.ops[0].other, no_slot);
  EXPECT_EQ(small.ops[1].value, 1);
  EXPECT_EQ(small.ops[1].size, plain_bytes(1));
  EXPECT_EQ(small.ops[2].source, Place());
  EXPECT_EQ(small.ops[2].flags, 0);
  EXPECT_EQ(small.ops[2].other, no_slot);
}

TEST(ProgramShrink, NumbersSlotsAnew) {
  const Program program = {
      .ops = {reserve(7, 1),
              {.kind = OpKind::create, .result = 9, .size = granules(1), .choice = 1, .value = 1},
              {.kind = OpKind::map, .object = 9, .place = reservation(7), .size = granules(1)},
              {.kind = OpKind::stream_create, .result = 5},
              {.kind = OpKind::event_create, .result = 4},
              {.kind = OpKind::stream_wait, .object = 5, .other = 4},
              {.kind = OpKind::release, .object = 3},
              {.kind = OpKind::release}}};
  const Program small = shrink(program, [](const Program& candidate) {
    return candidate.ops.size() == 8 && candidate.ops[5].other != no_slot;
  });
  ASSERT_THAT(small.ops, SizeIs(8));
  EXPECT_EQ(small.ops[0].result, 0);
  EXPECT_EQ(small.ops[1].result, 0);
  EXPECT_EQ(small.ops[2].object, 0);
  EXPECT_EQ(small.ops[2].place.slot, 0);
  EXPECT_EQ(small.ops[5].object, 0);
  EXPECT_EQ(small.ops[5].other, 0);
  EXPECT_EQ(small.ops[6].object, 1) << "another handle";
  EXPECT_EQ(small.ops[7].object, no_slot);
}

TEST(ProgramShrink, TriesNoMoreThanItMay) {
  Program program;
  for (int i = 0; i < 64; ++i) {
    program.ops.push_back(reserve(0, 1));
  }
  std::size_t tried = 0;
  const auto fails = [&](const Program& candidate) {
    ++tried;
    return candidate.ops.size() >= 40;
  };
  EXPECT_THAT(shrink(program, fails, {.attempts = 0}).ops, SizeIs(64));
  EXPECT_EQ(tried, 0U);
  const Program some = shrink(program, fails, {.attempts = 7});
  EXPECT_LE(tried, 7U);
  EXPECT_GE(some.ops.size(), 40U);
  EXPECT_THAT(shrink(program, fails).ops, SizeIs(40));
}

// Many at once: those before the first that fails count as tried, those after it do not.
TEST(ProgramShrink, TriesManyAtOnce) {
  Program program;
  for (int i = 0; i < 16; ++i) {
    program.ops.push_back(reserve(0, 1));
  }
  program.ops.push_back({.kind = OpKind::mem_info});
  std::size_t rounds = 0;
  std::size_t most = 0;
  const FindFailing find = [&](std::span<const Program> candidates) -> std::optional<std::size_t> {
    ++rounds;
    most = std::max(most, candidates.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (has(candidates[i], OpKind::mem_info)) {
        return i;
      }
    }
    return std::nullopt;
  };
  EXPECT_THAT(shrink_in_rounds(program, find).ops, ElementsAre(Op{.kind = OpKind::mem_info}));
  EXPECT_GT(most, 1U);
  EXPECT_LT(rounds, 30U);
}

}  // namespace
}  // namespace tessera::testing
