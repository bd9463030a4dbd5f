// What the generator thinks a program has made: right where calls did what they looked like doing.
#include "testing/sketch.h"

#include <algorithm>

#include <gmock/gmock.h>

#include "unit/core/program_ops.h"

namespace tessera::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr Op create(std::uint8_t slot, std::int16_t count, std::int8_t device = 0) {
  return {.kind = OpKind::create,
          .result = slot,
          .size = granules(count),
          .device = device,
          .choice = 1,
          .value = 1};
}
constexpr Op map(Place place, std::int16_t count, std::uint8_t handle) {
  return {.kind = OpKind::map, .object = handle, .place = place, .size = granules(count)};
}
constexpr Op unmap(Place place, std::int16_t count) {
  return {.kind = OpKind::unmap, .place = place, .size = granules(count)};
}
constexpr Op set_access(Place place, std::int16_t count) {
  return {
      .kind = OpKind::set_access, .place = place, .size = granules(count), .choice = 1, .value = 3};
}
constexpr Op release(std::uint8_t slot) { return {.kind = OpKind::release, .object = slot}; }

class Sketched : public ::testing::Test {
 protected:
  Sketched() { sketch_.clear(); }

  void likely(std::initializer_list<Op> ops) {
    for (const Op& op : ops) {
      sketch_.apply(op, true);
    }
  }
  void unlikely(const Op& op) { sketch_.apply(op, false); }
  bool is_live(SlotKind kind, unsigned slot) const {
    return (sketch_.live(kind) >> slot & 1U) != 0;
  }
  bool is_vacant(SlotKind kind, unsigned slot) const {
    return (sketch_.vacant(kind) >> slot & 1U) != 0;
  }
  std::vector<Op> drained() const {
    std::vector<Op> ops;
    sketch_.drain(ops);
    return ops;
  }
  // How many of the calls that undo it are of a kind.
  std::size_t drained(OpKind kind) const {
    const std::vector<Op> ops = drained();
    return static_cast<std::size_t>(
        std::count_if(ops.begin(), ops.end(), [kind](const Op& op) { return op.kind == kind; }));
  }

  Sketch sketch_;
};

TEST_F(Sketched, HasNothingToUndoAtFirst) {
  EXPECT_THAT(drained(), ElementsAre(Op{.kind = OpKind::ctx_sync}));
  EXPECT_TRUE(sketch_.has_context());
  EXPECT_EQ(sketch_.vacant(SlotKind::handle), 0xffff);
}

TEST_F(Sketched, KnowsWhatSlotsHold) {
  likely({reserve(2, 4), create(3, 2, 1)});
  EXPECT_EQ(sketch_.live(SlotKind::reservation), 4U);
  EXPECT_FALSE(is_vacant(SlotKind::reservation, 2));
  EXPECT_EQ(sketch_.reservation(2).granules, 4);
  EXPECT_EQ(sketch_.memory(3).granules, 2);
  EXPECT_EQ(sketch_.memory(3).device, 1);
  EXPECT_TRUE(sketch_.memory(3).is_exportable);
  EXPECT_FALSE(sketch_.memory(3).is_on_host);
  unlikely(reserve(5, 4));
  EXPECT_FALSE(is_live(SlotKind::reservation, 5));
  EXPECT_FALSE(is_vacant(SlotKind::reservation, 5)) << "it may be there";
  EXPECT_EQ(sketch_.reservation(5).granules, 0);
  EXPECT_EQ(drained(OpKind::address_free), 2U);
  sketch_.clear();
  EXPECT_TRUE(is_vacant(SlotKind::reservation, 5));
  EXPECT_THAT(drained(), SizeIs(1));
}

TEST_F(Sketched, KeepsTrackOfWholeGranulesAlone) {
  likely({reserve(0, 32), reserve(1, 33), reserve(2, 0), reserve(3, -1)});
  EXPECT_EQ(sketch_.reservation(0).granules, 32);
  EXPECT_EQ(sketch_.reservation(1).granules, 0);
  EXPECT_EQ(sketch_.reservation(2).granules, 0);
  EXPECT_EQ(sketch_.reservation(3).granules, 0);
  likely({{.kind = OpKind::reserve, .result = 4, .size = plain_bytes(4)},
          {.kind = OpKind::reserve,
           .result = 5,
           .size = {.unit = SizeUnit::granules, .bytes = 1, .count = 4}}});
  EXPECT_EQ(sketch_.reservation(4).granules, 0);
  EXPECT_EQ(sketch_.reservation(5).granules, 0);
}

TEST_F(Sketched, NotesWhatIsTaken) {
  likely({reserve(0, 32), create(0, 2), map(reservation(0, 1), 2, 0)});
  EXPECT_EQ(sketch_.reservation(0).taken, 0b110U);
  likely({map(reservation(0, 31), 1, 0)});
  EXPECT_EQ(sketch_.reservation(0).taken, 0x8000'0006U);
  unlikely(map(reservation(0, 4), 1, 0));
  likely({map(reservation(0, 5, 1), 1, 0), map({}, 1, 0)});
  EXPECT_EQ(sketch_.reservation(0).taken, 0x8000'0006U) << "only what is known";
  EXPECT_THAT(sketch_.mappings(), SizeIs(5));
  EXPECT_EQ(drained(OpKind::unmap), 5U);
  // All that one unmap covers, and no more.
  unlikely(unmap(reservation(0), 32));
  EXPECT_THAT(sketch_.mappings(), SizeIs(5));
  likely({unmap(reservation(0, 2), 30)});
  EXPECT_EQ(sketch_.reservation(0).taken, 0b110U);
  likely({unmap(reservation(1, 0), 32), unmap(reservation(0), 2)});
  EXPECT_EQ(sketch_.reservation(0).taken, 0b110U);
  likely({unmap(reservation(0), 3)});
  EXPECT_EQ(sketch_.reservation(0).taken, 0U);
  likely({unmap(reservation(0, 5, 1), 1), unmap({}, 1)});
  EXPECT_THAT(sketch_.mappings(), SizeIs(1)) << "the one that is not known to be there";
}

TEST_F(Sketched, KnowsWhatIsAccessible) {
  likely({reserve(0, 4), reserve(1, 4), create(0, 1), map(reservation(0), 1, 0),
          map(reservation(0, 1), 1, 0), map(reservation(1), 1, 0)});
  const auto accessible = [&] {
    std::vector<bool> are;
    for (const Sketch::Mapping& mapping : sketch_.mappings()) {
      are.push_back(mapping.is_accessible);
    }
    return are;
  };
  likely({set_access(reservation(0), 1)});
  EXPECT_THAT(accessible(), ElementsAre(true, false, false));
  likely({set_access(reservation(0, 1), 1)});
  EXPECT_THAT(accessible(), ElementsAre(true, true, false));
  Op takes_away = set_access(reservation(0), 1);
  takes_away.value = 0;
  likely({takes_away});
  EXPECT_THAT(accessible(), ElementsAre(false, true, false));
  Op of_host = set_access(reservation(0, 1), 1);
  of_host.choice = 2;
  likely({of_host});
  EXPECT_THAT(accessible(), ElementsAre(false, false, false));
}

// A handle lives while it is referenced or mapped; only references are owed.
TEST_F(Sketched, CountsReferences) {
  likely({reserve(0, 4),
          create(0, 1, 1),
          map(reservation(0, 1), 1, 0),
          {.kind = OpKind::retain, .result = 1, .place = reservation(0, 1)}});
  EXPECT_EQ(sketch_.memory(1).same_as, 0);
  EXPECT_EQ(sketch_.memory(1).device, 1);
  EXPECT_EQ(drained(OpKind::release), 2U);
  likely({release(0)});
  EXPECT_TRUE(is_live(SlotKind::handle, 0)) << "it is mapped";
  EXPECT_TRUE(sketch_.memory(0).is_released);
  EXPECT_EQ(drained(OpKind::release), 1U);
  likely({release(1)});
  EXPECT_FALSE(is_live(SlotKind::handle, 1));
  EXPECT_TRUE(is_vacant(SlotKind::handle, 1));
  likely({release(1), release(no_slot)});
  EXPECT_EQ(drained(OpKind::release), 0U);
  // Retained once more, it is referenced.
  likely({{.kind = OpKind::retain, .result = 5, .place = reservation(0, 1)}});
  EXPECT_FALSE(sketch_.memory(5).is_released);
  likely({release(5)});
  // Where nothing is mapped, it is other memory.
  likely({{.kind = OpKind::retain, .result = 2, .place = reservation(0, 2)},
          {.kind = OpKind::retain, .result = 3, .place = reservation(0)},
          {.kind = OpKind::import_fd, .result = 4, .object = 0, .place = reservation(0, 1)}});
  for (const unsigned slot : {2U, 3U, 4U}) {
    EXPECT_EQ(sketch_.memory(slot).same_as, no_slot) << slot;
  }
}

TEST_F(Sketched, KnowsOtherMemory) {
  likely(
      {{.kind = OpKind::alloc, .result = 0, .size = plain_bytes(100)},
       {.kind = OpKind::host_alloc, .result = 1, .size = {.unit = SizeUnit::kibibytes, .count = 1}},
       {.kind = OpKind::alloc_async, .result = 2, .size = granules(5000)},
       {.kind = OpKind::alloc, .result = 3, .size = plain_bytes(-5)},
       {.kind = OpKind::mc_create, .result = 0, .size = granules(3), .device = 2}});
  EXPECT_EQ(sketch_.pointer(0).bytes, 100);
  EXPECT_FALSE(sketch_.pointer(0).is_host);
  EXPECT_EQ(sketch_.pointer(1).bytes, 1024);
  EXPECT_TRUE(sketch_.pointer(1).is_host);
  EXPECT_EQ(sketch_.pointer(2).bytes, 1024);
  EXPECT_TRUE(sketch_.pointer(2).is_stream_ordered);
  EXPECT_EQ(sketch_.pointer(3).bytes, 0);
  EXPECT_TRUE(sketch_.memory(0).is_multicast);
  EXPECT_EQ(sketch_.memory(0).granules, 3);
  EXPECT_EQ(drained(OpKind::free), 4U);
  likely({{.kind = OpKind::free, .place = {.base = SlotKind::pointer, .slot = 0}},
          {.kind = OpKind::free_async, .place = {.base = SlotKind::pointer, .slot = 2}},
          {.kind = OpKind::free, .place = reservation(1)}});
  EXPECT_EQ(sketch_.live(SlotKind::pointer), 0b1010U);
  EXPECT_EQ(drained(OpKind::free), 2U);
}

TEST_F(Sketched, ForgetsWhatEnds) {
  likely({reserve(1, 1),
          {.kind = OpKind::stream_create, .result = 1},
          {.kind = OpKind::event_create, .result = 1},
          {.kind = OpKind::export_fd, .result = 1},
          {.kind = OpKind::ctx_create, .result = 1}});
  EXPECT_EQ(sketch_.event_stream(1), no_slot);
  likely({{.kind = OpKind::event_record, .object = 1, .other = 1}});
  EXPECT_EQ(sketch_.event_stream(1), 1);
  const Op ends[] = {{.kind = OpKind::address_free, .place = reservation(1)},
                     {.kind = OpKind::stream_destroy, .object = 1},
                     {.kind = OpKind::event_destroy, .object = 1},
                     {.kind = OpKind::close_fd, .object = 1},
                     {.kind = OpKind::ctx_destroy, .object = 1}};
  const SlotKind kinds[] = {SlotKind::reservation, SlotKind::stream, SlotKind::event,
                            SlotKind::descriptor, SlotKind::context};
  for (std::size_t i = 0; i < std::size(ends); ++i) {
    unlikely(ends[i]);
    EXPECT_TRUE(is_live(kinds[i], 1)) << name_of(ends[i].kind);
    Op of_none = ends[i];
    of_none.object = no_slot;
    of_none.place = {};
    likely({of_none});
    EXPECT_TRUE(is_live(kinds[i], 1)) << name_of(ends[i].kind);
    EXPECT_EQ(drained(ends[i].kind), 1U);
    likely({ends[i]});
    EXPECT_FALSE(is_live(kinds[i], 1)) << name_of(ends[i].kind);
    EXPECT_TRUE(is_vacant(kinds[i], 1)) << name_of(ends[i].kind);
    EXPECT_EQ(drained(ends[i].kind), 0U);
  }
}

TEST_F(Sketched, GoesBackToTheFirstContext) {
  likely({{.kind = OpKind::ctx_retain, .device = 1}, {.kind = OpKind::ctx_retain, .device = 1}});
  EXPECT_THAT(drained(), ElementsAre(Op{.kind = OpKind::ctx_set}, Op{.kind = OpKind::ctx_sync},
                                     Op{.kind = OpKind::ctx_release, .device = 1},
                                     Op{.kind = OpKind::ctx_release, .device = 1}));
  likely({{.kind = OpKind::ctx_release, .device = 1}, {.kind = OpKind::ctx_release, .device = 1}});
  likely({{.kind = OpKind::ctx_release, .device = 1}});
  EXPECT_THAT(drained(), ElementsAre(Op{.kind = OpKind::ctx_set}, Op{.kind = OpKind::ctx_sync}));
}

TEST_F(Sketched, TakesTheFirstContextAgainWhereItsReferenceIsGone) {
  likely({{.kind = OpKind::ctx_release}});
  EXPECT_THAT(drained(), ElementsAre(Op{.kind = OpKind::ctx_retain}, Op{.kind = OpKind::ctx_set},
                                     Op{.kind = OpKind::ctx_sync}));
}

TEST_F(Sketched, KeepsTheReferenceThatAResetLeaves) {
  likely({{.kind = OpKind::ctx_reset, .device = 1}});
  EXPECT_FALSE(sketch_.has_context());
  EXPECT_THAT(drained(), ElementsAre(Op{.kind = OpKind::ctx_set}, Op{.kind = OpKind::ctx_sync}));
  likely({{.kind = OpKind::ctx_reset}});
  EXPECT_THAT(drained(),
              ElementsAre(Op{.kind = OpKind::ctx_retain}, Op{.kind = OpKind::ctx_release},
                          Op{.kind = OpKind::ctx_set}, Op{.kind = OpKind::ctx_sync}));
}

TEST_F(Sketched, KnowsWhetherAContextIsCurrent) {
  likely({{.kind = OpKind::ctx_none}});
  EXPECT_FALSE(sketch_.has_context());
  unlikely({.kind = OpKind::ctx_set});
  EXPECT_FALSE(sketch_.has_context());
  likely({{.kind = OpKind::ctx_set}});
  EXPECT_TRUE(sketch_.has_context());
  unlikely({.kind = OpKind::ctx_create});
  EXPECT_TRUE(sketch_.has_context()) << "the one before stays";
  unlikely({.kind = OpKind::ctx_retain, .device = 1});
  EXPECT_FALSE(sketch_.has_context());
}

}  // namespace
}  // namespace tessera::testing
