// Timeline: its clock and its streams. Events and dropped work: timeline_events_test.cpp.
#include "timeline.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "timeline_fixture.h"

namespace tessera::sim {
namespace {

using Time = Timeline::Time;

using TimelineClock = TimelineTest;
using TimelineStream = TimelineTest;
using DefaultStream = TimelineTest;
using PerThreadStream = TimelineTest;

TEST_F(TimelineClock, StartsAtZeroAndMovesOnlyForward) {
  EXPECT_EQ(timeline_.now(), 0U);
  EXPECT_TRUE(timeline_.is_idle());
  timeline_.advance(5);
  timeline_.advance_to(20);
  EXPECT_EQ(timeline_.now(), 20U);
  timeline_.advance_to(10);
  EXPECT_EQ(timeline_.now(), 20U);
  timeline_.advance(0);
  EXPECT_EQ(timeline_.now(), 20U);
}

TEST_F(TimelineClock, StopsAtItsEnd) {
  constexpr Time last = std::numeric_limits<Time>::max();
  timeline_.advance(10);
  queue(default_stream, last, "long");
  EXPECT_EQ(timeline_.context_end(context1), last);
  timeline_.advance(last - 11);
  EXPECT_EQ(ran_, "");
  timeline_.advance(last);
  EXPECT_EQ(timeline_.now(), last);
  EXPECT_FALSE(ran_.empty());
}

TEST_F(TimelineStream, RunsItsWorkInOrderWhenDue) {
  const StreamHandle stream = blocking();
  queue(stream, 100, "a");
  queue(stream, 50, "b");
  EXPECT_FALSE(timeline_.is_idle());
  EXPECT_EQ(timeline_.stream_end(context1, stream), 150U);
  timeline_.advance(99);
  EXPECT_EQ(ran_, "");
  timeline_.advance(1);
  EXPECT_EQ(ran_, "a@100");
  timeline_.advance(1000);
  EXPECT_EQ(ran_, "a@100 b@150");
  EXPECT_EQ(timeline_.now(), 1100U);
  EXPECT_TRUE(timeline_.is_idle());
}

TEST_F(TimelineStream, StartsNowAfterItWasIdle) {
  const StreamHandle stream = blocking();
  queue(stream, 10, "a");
  timeline_.advance(100);
  queue(stream, 10, "b");
  EXPECT_EQ(timeline_.stream_end(context1, stream), 110U);
}

TEST_F(TimelineStream, RunsBesideOthers) {
  const StreamHandle slow = blocking();
  const StreamHandle fast = blocking();
  queue(slow, 100, "slow");
  queue(fast, 30, "a");
  queue(fast, 30, "b");
  EXPECT_EQ(timeline_.context_end(context1), 100U);
  timeline_.advance_to(200);
  EXPECT_EQ(ran_, "a@30 b@60 slow@100");
}

TEST_F(TimelineStream, TiesRunAsQueued) {
  const StreamHandle first = blocking();
  const StreamHandle second = non_blocking();
  queue(second, 10, "a");
  queue(first, 10, "b");
  queue(second, 0, "c");
  queue(first, 0, "d");
  timeline_.advance(10);
  EXPECT_EQ(ran_, "a@10 b@10 c@10 d@10");
}

TEST_F(TimelineStream, WorkThatTakesNoTimeRunsAtTheNextAdvance) {
  queue(blocking(), 0, "a");
  EXPECT_EQ(ran_, "");
  timeline_.advance(0);
  EXPECT_EQ(ran_, "a@0");
  timeline_.advance_to(50);
  queue(blocking(), 0, "b");
  timeline_.advance_to(10);
  EXPECT_EQ(ran_, "a@0 b@50");
}

TEST_F(TimelineStream, IsKnownUntilDestroyed) {
  const StreamHandle stream = blocking();
  EXPECT_TRUE(timeline_.is_stream(stream));
  EXPECT_EQ(timeline_.stream_context(context2, stream), context1);
  EXPECT_TRUE(timeline_.destroy_stream(stream));
  EXPECT_FALSE(timeline_.is_stream(stream));
  EXPECT_TRUE(timeline_.stream_context(context1, stream).is_null());
  EXPECT_FALSE(timeline_.destroy_stream(stream));
}

TEST_F(TimelineStream, ImplicitOnesAreThereAndCannotBeDestroyed) {
  for (const StreamHandle stream : {default_stream, legacy_stream, per_thread_stream}) {
    EXPECT_TRUE(is_implicit(stream));
    EXPECT_TRUE(timeline_.is_stream(stream));
    EXPECT_EQ(timeline_.stream_context(context2, stream), context2);
    EXPECT_FALSE(timeline_.destroy_stream(stream));
    EXPECT_TRUE(timeline_.is_stream(stream));
  }
  EXPECT_FALSE(is_implicit(StreamHandle(3)));
  EXPECT_FALSE(timeline_.is_stream(StreamHandle(3)));
}

TEST_F(TimelineStream, HandlesAreNeverReused) {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 100; ++i) {
    const StreamHandle stream = blocking();
    const EventHandle event = timeline_.create_event(context1);
    EXPECT_TRUE(seen.insert(stream.value()).second);
    EXPECT_TRUE(seen.insert(event.value()).second);
    timeline_.destroy_stream(stream);
    timeline_.destroy_event(event);
  }
}

TEST_F(TimelineStream, WorkGoesOnAfterItIsDestroyed) {
  const StreamHandle stream = blocking();
  queue(stream, 100, "a");
  EXPECT_TRUE(timeline_.destroy_stream(stream));
  EXPECT_EQ(timeline_.context_end(context1), 100U);
  queue(default_stream, 10, "b");
  timeline_.advance_to(500);
  EXPECT_EQ(ran_, "a@100 b@110");
}

TEST_F(TimelineStream, MayBeUsedFromOtherContexts) {
  const StreamHandle stream = blocking(context1);
  timeline_.enqueue(context2, stream, 100, note("a"));
  EXPECT_EQ(timeline_.stream_end(context2, stream), 100U);
  EXPECT_EQ(timeline_.context_end(context1), 100U);
  EXPECT_EQ(timeline_.context_end(context2), 0U);
  timeline_.drop_work(context2);
  timeline_.advance(100);
  EXPECT_EQ(ran_, "a@100");
}

TEST_F(DefaultStream, ComesAfterBlockingStreamsAndBeforeTheirLaterWork) {
  const StreamHandle first = blocking();
  const StreamHandle second = blocking();
  queue(first, 100, "a");
  queue(second, 40, "b");
  queue(default_stream, 10, "default");
  queue(second, 5, "c");
  queue(blocking(), 1, "d");
  EXPECT_EQ(timeline_.stream_end(context1, default_stream), 115U);
  timeline_.advance_to(500);
  EXPECT_EQ(ran_, "b@40 a@100 default@110 d@111 c@115");
}

TEST_F(DefaultStream, IsTheLegacyStream) {
  queue(default_stream, 10, "a");
  queue(legacy_stream, 10, "b");
  queue(default_stream, 10, "c");
  EXPECT_EQ(timeline_.stream_end(context1, legacy_stream), 30U);
  EXPECT_EQ(timeline_.stream_end(context1, default_stream), 30U);
}

TEST_F(DefaultStream, NonBlockingStreamsStayOutOfIt) {
  const StreamHandle aside = non_blocking();
  queue(aside, 100, "aside");
  queue(default_stream, 10, "default");
  EXPECT_EQ(timeline_.stream_end(context1, default_stream), 10U);
  const StreamHandle other = non_blocking();
  queue(other, 1, "other");
  timeline_.advance_to(500);
  EXPECT_EQ(ran_, "other@1 default@10 aside@100");
}

TEST_F(DefaultStream, IsOfOneContext) {
  queue(default_stream, 100, "one", context1);
  queue(default_stream, 10, "two", context2);
  queue(blocking(context2), 1, "three", context2);
  EXPECT_EQ(timeline_.context_end(context2), 11U);
  timeline_.advance_to(500);
  EXPECT_EQ(ran_, "two@10 three@11 one@100");
}

TEST_F(DefaultStream, LeavesIdleStreamsIdle) {
  const StreamHandle stream = blocking();
  queue(default_stream, 100, "default");
  EXPECT_EQ(timeline_.stream_end(context1, stream), 0U);
  // What is queued there next does wait, a record too.
  const EventHandle event = recorded(stream);
  EXPECT_EQ(timeline_.event_end(event), 100U);
  EXPECT_EQ(timeline_.stream_end(context1, stream), 100U);
}

TEST_F(DefaultStream, ARecordInItHoldsBackBlockingStreams) {
  const StreamHandle busy = blocking();
  queue(busy, 100, "busy");
  EXPECT_EQ(timeline_.event_end(recorded(default_stream)), 100U);
  queue(blocking(), 1, "later");
  timeline_.advance_to(500);
  EXPECT_EQ(ran_, "busy@100 later@101");
}

TEST_F(DefaultStream, AWaitInItHoldsBackBlockingStreams) {
  const StreamHandle done = blocking();
  const StreamHandle busy = blocking();
  const EventHandle past = recorded(done);
  timeline_.advance(1);
  queue(busy, 99, "busy");
  const EventHandle never = timeline_.create_event(context1);
  timeline_.wait_event(context1, default_stream, never);
  queue(done, 1, "free");
  timeline_.wait_event(context1, default_stream, past);
  queue(done, 1, "held");
  timeline_.advance_to(500);
  EXPECT_EQ(ran_, "free@2 busy@100 held@101");
}

TEST_F(PerThreadStream, IsABlockingStream) {
  queue(per_thread_stream, 100, "a");
  queue(default_stream, 10, "b");
  queue(per_thread_stream, 10, "c");
  EXPECT_EQ(timeline_.stream_end(context1, per_thread_stream), 120U);
  timeline_.advance_to(500);
  EXPECT_EQ(ran_, "a@100 b@110 c@120");
}

TEST_F(PerThreadStream, IsOfOneThreadAndContext) {
  queue(per_thread_stream, 100, "mine");
  std::thread([this] {
    EXPECT_EQ(timeline_.stream_end(context1, per_thread_stream), 0U);
    queue(per_thread_stream, 10, "theirs");
    EXPECT_EQ(timeline_.stream_end(context1, per_thread_stream), 10U);
  }).join();
  std::thread([this] {
    EXPECT_EQ(timeline_.stream_end(context1, per_thread_stream), 0U) << "a dead thread's";
  }).join();
  queue(per_thread_stream, 20, "elsewhere", context2);
  EXPECT_EQ(timeline_.stream_end(context1, per_thread_stream), 100U);
  EXPECT_EQ(timeline_.stream_end(context2, per_thread_stream), 20U);
  timeline_.advance_to(500);
  EXPECT_EQ(ran_, "theirs@10 elsewhere@20 mine@100");
}

TEST_F(TimelineClock, RunsThousandsOfPiecesInOrderAndNoneTwice) {
  std::mt19937_64 random(7);
  std::vector<StreamHandle> streams = {default_stream, per_thread_stream};
  for (int i = 0; i < 6; ++i) streams.push_back(i % 2 == 0 ? blocking() : non_blocking());
  std::vector<std::vector<int>> order(streams.size());
  std::vector<int> queued(streams.size());
  Time last = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::size_t which = random() % streams.size();
    const int number = queued[which]++;
    timeline_.enqueue(context1, streams[which], random() % 20,
                      [&order, &last, this, which, number] {
                        EXPECT_GE(timeline_.now(), last);
                        last = timeline_.now();
                        order[which].push_back(number);
                      });
    if (i % 7 == 0) timeline_.advance(random() % 30);
  }
  timeline_.advance_to(timeline_.context_end(context1));
  EXPECT_TRUE(timeline_.is_idle());
  for (std::size_t which = 0; which < streams.size(); ++which) {
    EXPECT_EQ(order[which].size(), static_cast<std::size_t>(queued[which]));
    EXPECT_TRUE(std::is_sorted(order[which].begin(), order[which].end()));
  }
}

TEST(TimelineDeathTest, AHandleThatIsNotThereIsABug) {
  Timeline timeline;
  EXPECT_DEATH(timeline.enqueue(context1, StreamHandle(99), 1, [] {}), "streams_");
  EXPECT_DEATH(timeline.record_event(EventHandle(99), context1, default_stream), "events_");
  const EventHandle event = timeline.create_event(context1);
  EXPECT_DEATH(timeline.wait_event(context1, StreamHandle(99), event), "is_stream");
}

}  // namespace
}  // namespace tessera::sim
