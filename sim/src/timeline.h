// Timeline: virtual time, streams, events, and the work in flight. A stream's work runs in its
// order, each piece when its time has come: what it finds then (memory unmapped meanwhile) is what
// a device would find. When a piece of work will end is known when it is queued, so waiting is
// arithmetic and nothing polls.
//
// Default-stream rule: an action in a context's default stream (work, a record, a wait) comes
// after all earlier ones in its blocking streams and before all later ones; non-blocking streams
// stay out of it. An idle blocking stream does not become busy by it: only what is queued in it
// next waits.
//
// Knows nothing of memory or errors: work is a function. Not thread-safe: the machine's lock
// guards it. Work that runs may call anything here: what it queues starts when it ended, and what
// it drops does not run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tessera/ids.h"
#include "tessera/requests.h"

namespace tessera::sim {

class Timeline {
 public:
  // Virtual nanoseconds since the machine began. It stops at the largest.
  using Time = std::uint64_t;
  using Work = std::function<void()>;

  // While work runs: when it ended.
  [[nodiscard]] Time now() const noexcept { return now_; }
  // Moves time on and runs what is due, in the order of its ends (ties: as queued). Never back: a
  // time that has passed runs what is due now, such as work that takes no time.
  void advance(std::uint64_t nanoseconds) { advance_to(add(now_, nanoseconds)); }
  void advance_to(Time time) {
    time = std::max(time, now_);
    if (!pending_.empty() && pending_.front().end <= time) [[unlikely]] {
      run_until(time);
    }
    now_ = std::max(now_, time);  // work may have moved it further
  }
  [[nodiscard]] bool is_idle() const noexcept { return pending_.empty(); }

  // --- Streams: of one context each, and usable whichever context is current [h200] ---
  // The `context` of the methods below says whose the implicit ones are, of which each thread's own
  // is a blocking one; a created stream knows its context.

  [[nodiscard]] StreamHandle create_stream(ContextHandle context, StreamFlags flags);
  // Whether it is implicit, or created and not destroyed. The other methods check it.
  [[nodiscard]] bool is_stream(StreamHandle stream) const;
  // Whose it is: `current`, for an implicit one; null if there is no such stream.
  [[nodiscard]] ContextHandle stream_context(ContextHandle current, StreamHandle stream) const;
  // Its work goes on. False, and nothing done, if it is implicit or not there.
  bool destroy_stream(StreamHandle stream);
  // Queues work that ends `duration` after all that it has to wait for. `run` is called once, when
  // it ends, by the advance that gets there; never after drop_work or drop_context.
  void enqueue(ContextHandle context, StreamHandle stream, std::uint64_t duration, Work run);
  // When all that the stream holds now will have ended. The default stream holds the work of the
  // blocking ones too.
  [[nodiscard]] Time stream_end(ContextHandle context, StreamHandle stream) const;
  // When work that is queued now would begin.
  [[nodiscard]] Time free_at(ContextHandle context, StreamHandle stream) const;
  // When all work of the context will have ended.
  [[nodiscard]] Time context_end(ContextHandle context) const;
  // Forgets the context's streams, events and, were there any, work (it was destroyed or reset,
  // which waits for all work first).
  void drop_context(ContextHandle context);
  // Forgets the context's work, undone, and keeps its streams and events (it was lost). Nothing of
  // it is busy from now on; what already waits for it in other contexts still ends when it would.
  void drop_work(ContextHandle context);

  // --- Events: of one context each; any context's streams may wait for them ---

  [[nodiscard]] EventHandle create_event(ContextHandle context);
  [[nodiscard]] bool is_event(EventHandle event) const { return events_.contains(event); }
  // Whose it is; null if there is no such event. A driver records it only in streams of that
  // context.
  [[nodiscard]] ContextHandle event_context(EventHandle event) const;
  // Who waits for it already goes on waiting. False, and nothing done, if it is not there.
  bool destroy_event(EventHandle event);
  void record_event(EventHandle event, ContextHandle context, StreamHandle stream);
  // When the last record's work will have ended; the past if it was never recorded.
  [[nodiscard]] Time event_end(EventHandle event) const;
  // Later work of the stream starts after the event's last record; as it is now: a later record
  // changes nothing. Nothing if it was never recorded.
  void wait_event(ContextHandle context, StreamHandle stream, EventHandle event);

 private:
  struct Stream {
    ContextHandle context;
    bool is_blocking;
    Time end = 0;
  };
  struct Event {
    ContextHandle context;
    std::optional<Time> end;  // none: never recorded
  };
  // What a context's implicit streams need, and the sums over its streams, also destroyed ones.
  struct Lane {
    Time default_end = 0;   // of the default stream's own work
    Time blocking_end = 0;  // of all blocking streams
    Time all_end = 0;
    std::unordered_map<std::uint64_t, Time> thread_ends;  // of the per-thread streams, by thread
  };
  struct Piece {
    Time end;
    std::uint64_t order;  // as queued
    ContextHandle context;
    Work run;
  };
  // The heap's order: the piece to run first is its front.
  static bool runs_later(const Piece& left, const Piece& right) noexcept {
    return left.end != right.end ? left.end > right.end : left.order > right.order;
  }
  static constexpr Time add(Time time, std::uint64_t duration) noexcept {
    constexpr Time last = std::numeric_limits<Time>::max();
    return duration > last - time ? last : time + duration;
  }

  void run_until(Time time);
  [[nodiscard]] const Stream& created(StreamHandle stream) const;
  void occupy(ContextHandle context, StreamHandle stream, Time end);
  void drop_pieces(ContextHandle context);

  Time now_ = 0;
  std::vector<Piece> pending_;  // a heap
  std::uint64_t pieces_queued_ = 0;
  std::uint64_t handles_given_ = 0;  // streams and events
  std::unordered_map<StreamHandle, Stream> streams_;
  std::unordered_map<EventHandle, Event> events_;
  std::unordered_map<ContextHandle, Lane> lanes_;  // of contexts that were used
};

}  // namespace tessera::sim
