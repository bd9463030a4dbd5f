// Timeline: events, work that calls back while it runs, and work that is dropped.
#include <memory>

#include <gtest/gtest.h>

#include "timeline.h"
#include "timeline_fixture.h"

namespace tessera::sim {
namespace {

using TimelineEvent = TimelineTest;
using RunningWork = TimelineTest;
using DroppedWork = TimelineTest;

TEST_F(TimelineEvent, IsInThePastUntilRecorded) {
  const EventHandle event = timeline_.create_event(context1);
  EXPECT_TRUE(timeline_.is_event(event));
  EXPECT_EQ(timeline_.event_context(event), context1);
  EXPECT_EQ(timeline_.event_end(event), 0U);
  const StreamHandle stream = blocking();
  timeline_.wait_event(context1, stream, event);
  EXPECT_EQ(timeline_.stream_end(context1, stream), 0U);
}

TEST_F(TimelineEvent, MarksWhatTheStreamHeldAtTheRecord) {
  const StreamHandle stream = blocking();
  queue(stream, 100, "a");
  const EventHandle event = recorded(stream);
  queue(stream, 50, "b");
  EXPECT_EQ(timeline_.event_end(event), 100U);
  timeline_.record_event(event, context1, stream);
  EXPECT_EQ(timeline_.event_end(event), 150U);
}

TEST_F(TimelineEvent, OfAnIdleStreamIsDoneAtOnce) {
  timeline_.advance(70);
  EXPECT_EQ(timeline_.event_end(recorded(blocking())), 70U);
}

TEST_F(TimelineEvent, WaitHoldsBackLaterWorkOnly) {
  const StreamHandle source = non_blocking();
  const StreamHandle waiter = non_blocking();
  queue(source, 100, "source");
  queue(waiter, 10, "early");
  timeline_.wait_event(context1, waiter, recorded(source));
  EXPECT_EQ(timeline_.stream_end(context1, waiter), 100U);
  queue(waiter, 10, "late");
  timeline_.advance_to(500);
  EXPECT_EQ(ran_, "early@10 source@100 late@110");
}

TEST_F(TimelineEvent, WaitDoesNotShortenAStream) {
  const StreamHandle source = non_blocking();
  const StreamHandle waiter = non_blocking();
  queue(source, 10, "source");
  queue(waiter, 100, "long");
  timeline_.wait_event(context1, waiter, recorded(source));
  EXPECT_EQ(timeline_.stream_end(context1, waiter), 100U);
}

TEST_F(TimelineEvent, WaitTakesTheLastRecordAsItIsThen) {
  const StreamHandle source = non_blocking();
  const StreamHandle waiter = non_blocking();
  queue(source, 100, "a");
  const EventHandle event = recorded(source);
  timeline_.wait_event(context1, waiter, event);
  queue(source, 100, "b");
  timeline_.record_event(event, context1, source);
  EXPECT_EQ(timeline_.stream_end(context1, waiter), 100U);
  EXPECT_TRUE(timeline_.destroy_event(event));
  EXPECT_EQ(timeline_.stream_end(context1, waiter), 100U);
}

TEST_F(TimelineEvent, MayBeWaitedForInAnotherContext) {
  const StreamHandle source = blocking(context1);
  queue(source, 100, "source");
  const EventHandle event = recorded(source);
  timeline_.wait_event(context2, default_stream, event);
  queue(default_stream, 10, "other", context2);
  EXPECT_EQ(timeline_.context_end(context2), 110U);
  timeline_.advance_to(500);
  EXPECT_EQ(ran_, "source@100 other@110");
}

TEST_F(TimelineEvent, OutlivesTheStreamItWasRecordedIn) {
  const StreamHandle stream = blocking();
  queue(stream, 100, "a");
  const EventHandle event = recorded(stream);
  EXPECT_TRUE(timeline_.destroy_stream(stream));
  EXPECT_EQ(timeline_.event_end(event), 100U);
  timeline_.wait_event(context1, default_stream, event);
}

TEST_F(TimelineEvent, IsKnownUntilDestroyed) {
  const EventHandle event = timeline_.create_event(context1);
  EXPECT_TRUE(timeline_.destroy_event(event));
  EXPECT_FALSE(timeline_.is_event(event));
  EXPECT_TRUE(timeline_.event_context(event).is_null());
  EXPECT_FALSE(timeline_.destroy_event(event));
  EXPECT_FALSE(timeline_.is_event(EventHandle()));
}

TEST_F(RunningWork, MayQueueWork) {
  const StreamHandle stream = blocking();
  timeline_.enqueue(context1, stream, 100, [&] {
    queue(stream, 50, "next");
    queue(non_blocking(), 0, "at once");
  });
  timeline_.advance_to(120);
  EXPECT_EQ(ran_, "at once@100");
  EXPECT_EQ(timeline_.now(), 120U);
  timeline_.advance_to(500);
  EXPECT_EQ(ran_, "at once@100 next@150");
}

TEST_F(RunningWork, MayQueueAChainThatRunsInOneAdvance) {
  const StreamHandle stream = blocking();
  int left = 1000;
  Timeline::Work step = [&] {
    if (--left > 0) timeline_.enqueue(context1, stream, 1, step);
  };
  timeline_.enqueue(context1, stream, 1, step);
  timeline_.advance(5000);
  EXPECT_EQ(left, 0);
  EXPECT_EQ(timeline_.stream_end(context1, stream), 1000U);
}

TEST_F(RunningWork, MayDropTheWorkOfItsContext) {
  const StreamHandle stream = blocking();
  timeline_.enqueue(context1, stream, 100, [&] {
    note("fault")();
    timeline_.drop_work(context1);
  });
  queue(stream, 0, "same time");
  queue(non_blocking(), 200, "later");
  queue(default_stream, 200, "other", context2);
  timeline_.advance_to(500);
  EXPECT_EQ(ran_, "fault@100 other@200");
  EXPECT_TRUE(timeline_.is_stream(stream));
  EXPECT_EQ(timeline_.context_end(context1), 100U);
}

TEST_F(RunningWork, MayDropItsContextAndBeginAnew) {
  const StreamHandle stream = blocking();
  timeline_.enqueue(context1, stream, 100, [&] {
    timeline_.drop_context(context1);
    queue(default_stream, 10, "anew");
  });
  queue(stream, 50, "dropped");
  timeline_.advance_to(500);
  EXPECT_EQ(ran_, "anew@110");
  EXPECT_FALSE(timeline_.is_stream(stream));
}

TEST_F(RunningWork, MayAdvance) {
  const StreamHandle stream = blocking();
  timeline_.enqueue(context1, stream, 10, [&] { timeline_.advance_to(300); });
  queue(stream, 10, "inner");
  queue(stream, 400, "outer");
  timeline_.advance_to(50);
  EXPECT_EQ(ran_, "inner@20");
  EXPECT_EQ(timeline_.now(), 300U) << "never back";
  timeline_.advance_to(1000);
  EXPECT_EQ(ran_, "inner@20 outer@420");
}

TEST_F(DroppedWork, OfAContextDoesNotRunAndLeavesItIdle) {
  const StreamHandle stream = blocking();
  queue(stream, 100, "done");
  const EventHandle early = recorded(stream);
  timeline_.advance(150);
  queue(stream, 100, "a");
  queue(default_stream, 100, "b");
  queue(per_thread_stream, 100, "c");
  const EventHandle event = recorded(stream);
  timeline_.drop_work(context1);
  EXPECT_TRUE(timeline_.is_idle());
  EXPECT_EQ(timeline_.stream_end(context1, stream), 150U);
  EXPECT_EQ(timeline_.stream_end(context1, default_stream), 150U);
  EXPECT_LE(timeline_.stream_end(context1, per_thread_stream), 150U);
  EXPECT_EQ(timeline_.context_end(context1), 150U);
  EXPECT_EQ(timeline_.event_end(event), 150U);
  EXPECT_EQ(timeline_.event_end(early), 100U);
  queue(stream, 10, "new");
  timeline_.advance_to(1000);
  EXPECT_EQ(ran_, "done@100 new@160");
}

TEST_F(DroppedWork, OfAContextGoesWithItsStreamsAndEvents) {
  const StreamHandle mine = blocking(context1);
  const StreamHandle theirs = blocking(context2);
  const EventHandle my_event = recorded(mine, context1);
  const EventHandle their_event = recorded(theirs, context2);
  queue(mine, 100, "mine", context1);
  queue(theirs, 100, "theirs", context2);
  timeline_.drop_context(context1);
  EXPECT_FALSE(timeline_.is_stream(mine));
  EXPECT_FALSE(timeline_.is_event(my_event));
  EXPECT_TRUE(timeline_.is_stream(theirs));
  EXPECT_TRUE(timeline_.is_event(their_event));
  EXPECT_EQ(timeline_.context_end(context1), 0U);
  timeline_.advance_to(500);
  EXPECT_EQ(ran_, "theirs@100");
}

TEST_F(DroppedWork, LeavesWhatWaitedForItInOtherContexts) {
  const StreamHandle source = blocking(context1);
  queue(source, 100, "source", context1);
  timeline_.wait_event(context2, default_stream, recorded(source));
  queue(default_stream, 10, "waiter", context2);
  timeline_.drop_context(context1);
  timeline_.advance_to(500);
  EXPECT_EQ(ran_, "waiter@110");
}

TEST_F(DroppedWork, OfAnUnknownContextIsNothing) {
  queue(default_stream, 10, "a", context1);
  timeline_.drop_work(context2);
  timeline_.drop_context(context2);
  timeline_.advance(10);
  EXPECT_EQ(ran_, "a@10");
}

TEST_F(DroppedWork, LetsGoOfWhatItHeld) {
  // What work holds may itself call back when it goes.
  struct Last {
    Last(Timeline& of, int& counter) : timeline(of), gone(counter) {}
    Last(const Last&) = delete;
    Last& operator=(const Last&) = delete;
    ~Last() {
      ++gone;
      timeline.drop_work(context1);
    }
    Timeline& timeline;
    int& gone;
  };
  int gone = 0;
  for (int i = 0; i < 3; ++i) {
    timeline_.enqueue(context1, default_stream, 10,
                      [held = std::make_shared<Last>(timeline_, gone)] { FAIL() << held->gone; });
  }
  timeline_.drop_context(context1);
  EXPECT_EQ(gone, 3);
  EXPECT_TRUE(timeline_.is_idle());
}

}  // namespace
}  // namespace tessera::sim
