// What a host may conclude about work in flight, from clocks alone.
#include "validation/work_tracker.h"

#include <gtest/gtest.h>

namespace tessera::validation {
namespace {

constexpr ContextHandle context{1};
constexpr StreamHandle stream_a{10};
constexpr StreamHandle stream_b{11};
constexpr StreamHandle stream_c{12};
constexpr EventHandle event_a{20};
constexpr EventHandle event_b{21};

class Work : public testing::Test {
 protected:
  Work() {
    for (const StreamHandle stream : {stream_a, stream_b, stream_c}) {
      tracker_.add_stream(stream, context, false);
    }
  }

  // Piece `number`, in its own range.
  void queue(StreamHandle stream, std::uint64_t number, ContextHandle in = context) {
    tracker_.enqueue(in, stream, range(number), {.call_number = ++calls_});
  }
  static AddressRange range(std::uint64_t number) {
    return AddressRange(DeviceAddress(0x10000 + number * 16), 16_B);
  }
  bool runs(std::uint64_t number) const { return tracker_.in_flight(range(number)) != nullptr; }
  void synchronize(StreamHandle stream) { tracker_.prove(tracker_.clock_of(context, stream)); }
  void record(EventHandle event, StreamHandle stream) { tracker_.record(event, context, stream); }

  WorkTracker tracker_;
  std::uint64_t calls_ = 0;
};

TEST_F(Work, IsDoneWhenItsStreamWasSynchronized) {
  queue(stream_a, 1);
  queue(stream_b, 2);
  synchronize(stream_a);
  EXPECT_FALSE(runs(1));
  EXPECT_TRUE(runs(2));
  queue(stream_a, 1);
  EXPECT_TRUE(runs(1)) << "queued later";
}

TEST_F(Work, ThatTouchesTheSameAgainIsNamedByTheLastCall) {
  queue(stream_a, 1);
  const WorkTracker::Clock first = tracker_.clock_of(context, stream_a);
  queue(stream_a, 1);
  ASSERT_TRUE(runs(1));
  EXPECT_EQ(tracker_.in_flight(range(1))->queued.call_number, 2U);
  tracker_.prove(first);
  EXPECT_TRUE(runs(1));
  synchronize(stream_a);
  EXPECT_FALSE(runs(1));
  // The same range in another stream is other work.
  queue(stream_a, 2);
  queue(stream_b, 2);
  synchronize(stream_a);
  EXPECT_TRUE(runs(2));
}

// An event of b after one of b and one of a: only what b waits for is newer.
TEST_F(Work, ThatAStreamWaitsForIsThatOfEachStreamApart) {
  queue(stream_a, 1);
  record(event_a, stream_a);
  queue(stream_b, 2);
  record(event_b, stream_b);
  tracker_.wait(context, stream_c, event_a);
  tracker_.wait(context, stream_c, event_b);
  queue(stream_a, 3);
  queue(stream_b, 4);
  record(event_b, stream_b);
  tracker_.wait(context, stream_c, event_b);
  synchronize(stream_c);
  EXPECT_FALSE(runs(1));
  EXPECT_FALSE(runs(2));
  EXPECT_TRUE(runs(3)) << "nothing waited for it";
  EXPECT_FALSE(runs(4));
}

TEST_F(Work, ThatAnEarlierEventOfAStreamStandsForIsNoMore) {
  queue(stream_a, 1);
  record(event_a, stream_a);
  queue(stream_a, 2);
  record(event_b, stream_a);
  tracker_.wait(context, stream_c, event_b);
  tracker_.wait(context, stream_c, event_a);  // the older one takes nothing back
  synchronize(stream_c);
  EXPECT_FALSE(runs(1));
  EXPECT_FALSE(runs(2));
}

TEST_F(Work, BeforeAnEventIsDoneWhenTheEventIs) {
  queue(stream_a, 1);
  record(event_a, stream_a);
  queue(stream_a, 2);
  tracker_.prove(tracker_.clock_of_event(event_a));
  EXPECT_FALSE(runs(1));
  EXPECT_TRUE(runs(2));
  record(event_a, stream_a);
  tracker_.remove_event(event_a);
  tracker_.prove(tracker_.clock_of_event(event_a));
  EXPECT_TRUE(runs(2)) << "an event that is gone proves nothing";
}

TEST_F(Work, OfADestroyedStreamGoesOn) {
  queue(stream_a, 1);
  tracker_.remove_stream(stream_a);
  tracker_.add_stream(stream_a, context, false);
  synchronize(stream_a);
  EXPECT_TRUE(runs(1)) << "a new stream under the same handle knows nothing of it";
  tracker_.prove(tracker_.clock_of_context(context));
  EXPECT_FALSE(runs(1));
}

// Its place is used again once its work is done; what is known of the old one says nothing of it.
TEST_F(Work, OfANewStreamIsNotProvenByWhatADestroyedOneDid) {
  queue(stream_a, 1);
  record(event_a, stream_a);
  const WorkTracker::Clock of_old = tracker_.clock_of(context, stream_a);
  tracker_.prove(of_old);
  tracker_.remove_stream(stream_a);
  tracker_.add_stream(StreamHandle(13), context, false);
  queue(StreamHandle(13), 2);
  tracker_.prove(of_old);
  tracker_.prove(tracker_.clock_of_event(event_a));
  EXPECT_TRUE(runs(2));
  synchronize(StreamHandle(13));
  EXPECT_FALSE(runs(2));
}

TEST_F(Work, InTheDefaultStreamAndInBlockingOnesWaitsForEachOther) {
  constexpr StreamHandle blocking{14};
  tracker_.add_stream(blocking, context, true);
  queue(blocking, 1);
  queue(stream_a, 2);
  queue({}, 3);
  synchronize({});
  EXPECT_FALSE(runs(1));
  EXPECT_TRUE(runs(2)) << "not a blocking one";
  EXPECT_FALSE(runs(3));
  queue({}, 4);
  queue(blocking, 5);
  synchronize(blocking);
  EXPECT_FALSE(runs(4)) << "the blocking one's work came after it";
  EXPECT_FALSE(runs(5));
  // Another context's default stream has nothing to do with it.
  constexpr ContextHandle other{2};
  queue({}, 6, other);
  queue(blocking, 7);
  synchronize(blocking);
  EXPECT_TRUE(runs(6));
  tracker_.prove(tracker_.clock_of_context(other));
  EXPECT_FALSE(runs(6));
}

// 1 names the default stream, too; 2 a thread's own, which blocks.
TEST_F(Work, OfImplicitStreamsIsToldApart) {
  queue(StreamHandle(1), 1);
  synchronize({});
  EXPECT_FALSE(runs(1));
  queue(StreamHandle(2), 2);
  queue(stream_a, 3);
  synchronize(StreamHandle(2));
  EXPECT_FALSE(runs(2));
  EXPECT_TRUE(runs(3));
  queue(StreamHandle(2), 4);
  synchronize({});
  EXPECT_FALSE(runs(4));
}

TEST_F(Work, EndsWithItsContext) {
  constexpr ContextHandle other{2};
  queue(stream_a, 1);
  queue({}, 2);
  queue({}, 3, other);
  tracker_.forget_context(context);
  EXPECT_FALSE(runs(1));
  EXPECT_FALSE(runs(2));
  EXPECT_TRUE(runs(3));
  queue({}, 4);
  EXPECT_TRUE(runs(4));
  tracker_.forget_all();
  EXPECT_FALSE(runs(3));
  EXPECT_FALSE(runs(4));
}

TEST_F(Work, ThatTouchesNothingIsNone) {
  tracker_.enqueue(context, stream_a, AddressRange(DeviceAddress(0x10000), Bytes()), {});
  EXPECT_EQ(tracker_.in_flight(AddressRange(DeviceAddress(0x10000), 16_B)), nullptr);
}

// A program that never synchronizes must not fill memory.
TEST_F(Work, OfLongAgoIsForgotten) {
  constexpr std::uint64_t kept = 1U << 14U;
  for (std::uint64_t number = 0; number < kept; ++number) {
    queue(stream_a, number);
  }
  EXPECT_TRUE(runs(0));
  queue(stream_a, kept);
  EXPECT_FALSE(runs(0));
  EXPECT_FALSE(runs(kept / 2 - 1));
  EXPECT_TRUE(runs(kept / 2));
  EXPECT_TRUE(runs(kept));
}

}  // namespace
}  // namespace tessera::validation
