#include "timeline.h"

#include <iterator>
#include <utility>

#include "tessera/check.h"
#include "thread_number.h"

namespace tessera::sim {

namespace {

// Handles count up from here: far from the implicit streams' and from small numbers passed by
// mistake, and told apart in a printout.
constexpr std::uint64_t stream_base = 0x5000'0000;
constexpr std::uint64_t event_base = 0xe000'0000;

constexpr bool is_default(StreamHandle stream) { return stream.value() <= 1; }

template <class Map, class Key>
typename Map::mapped_type value_or_default(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? typename Map::mapped_type() : found->second;
}

}  // namespace

void Timeline::run_until(Time time) {
  // Work may queue and drop work, and even advance: nothing of the heap is held while it runs.
  while (!pending_.empty() && pending_.front().end <= time) {
    std::pop_heap(pending_.begin(), pending_.end(), runs_later);
    const Piece piece = std::move(pending_.back());
    pending_.pop_back();
    now_ = std::max(now_, piece.end);
    piece.run();
  }
}

// --- Streams ---

StreamHandle Timeline::create_stream(ContextHandle context, StreamFlags flags) {
  const StreamHandle handle(stream_base + ++handles_given_);
  streams_.emplace(handle,
                   Stream{.context = context, .is_blocking = flags != StreamFlags::non_blocking});
  return handle;
}

bool Timeline::is_stream(StreamHandle stream) const {
  return is_implicit(stream) || streams_.contains(stream);
}

ContextHandle Timeline::stream_context(ContextHandle current, StreamHandle stream) const {
  if (is_implicit(stream)) return current;
  const auto found = streams_.find(stream);
  return found == streams_.end() ? ContextHandle() : found->second.context;
}

bool Timeline::destroy_stream(StreamHandle stream) {
  // Its work is in the heap, and the context's lane knows when it ends.
  return streams_.erase(stream) > 0;
}

void Timeline::enqueue(ContextHandle context, StreamHandle stream, std::uint64_t duration,
                       Work run) {
  TESSERA_CHECK(run != nullptr);
  const Time end = add(std::max(now_, free_at(context, stream)), duration);
  occupy(context, stream, end);
  pending_.push_back(Piece{.end = end,
                           .order = ++pieces_queued_,
                           .context = stream_context(context, stream),
                           .run = std::move(run)});
  std::push_heap(pending_.begin(), pending_.end(), runs_later);
}

Timeline::Time Timeline::stream_end(ContextHandle context, StreamHandle stream) const {
  if (!is_implicit(stream)) return created(stream).end;
  const auto lane = lanes_.find(context);
  if (lane == lanes_.end()) return 0;
  if (is_default(stream)) return std::max(lane->second.default_end, lane->second.blocking_end);
  return value_or_default(lane->second.thread_ends, this_thread_number());
}

Timeline::Time Timeline::context_end(ContextHandle context) const {
  const auto lane = lanes_.find(context);
  return lane == lanes_.end() ? 0 : lane->second.all_end;
}

void Timeline::drop_context(ContextHandle context) {
  using StreamEntry = decltype(streams_)::value_type;
  using EventEntry = decltype(events_)::value_type;
  std::erase_if(streams_, [&](const StreamEntry& of) { return of.second.context == context; });
  std::erase_if(events_, [&](const EventEntry& of) { return of.second.context == context; });
  lanes_.erase(context);
  drop_pieces(context);
}

void Timeline::drop_work(ContextHandle context) {
  const auto cut = [this](Time& end) { end = std::min(end, now_); };
  for (auto& [handle, stream] : streams_) {
    if (stream.context == context) cut(stream.end);
  }
  for (auto& [handle, event] : events_) {
    if (event.context == context && event.end) cut(*event.end);
  }
  if (const auto lane = lanes_.find(context); lane != lanes_.end()) {
    cut(lane->second.default_end);
    cut(lane->second.blocking_end);
    cut(lane->second.all_end);
    lane->second.thread_ends.clear();
  }
  drop_pieces(context);
}

// --- Events ---

EventHandle Timeline::create_event(ContextHandle context) {
  const EventHandle handle(event_base + ++handles_given_);
  events_.emplace(handle, Event{.context = context, .end = std::nullopt});
  return handle;
}

ContextHandle Timeline::event_context(EventHandle event) const {
  const auto found = events_.find(event);
  return found == events_.end() ? ContextHandle() : found->second.context;
}

bool Timeline::destroy_event(EventHandle event) { return events_.erase(event) > 0; }

void Timeline::record_event(EventHandle event, ContextHandle context, StreamHandle stream) {
  const auto found = events_.find(event);
  TESSERA_CHECK(found != events_.end());
  const Time end = std::max(now_, free_at(context, stream));
  occupy(context, stream, end);
  found->second.end = end;
}

Timeline::Time Timeline::event_end(EventHandle event) const {
  const auto found = events_.find(event);
  TESSERA_CHECK(found != events_.end());
  return found->second.end.value_or(0);
}

void Timeline::wait_event(ContextHandle context, StreamHandle stream, EventHandle event) {
  const auto found = events_.find(event);
  TESSERA_CHECK(found != events_.end());
  TESSERA_CHECK(is_stream(stream));
  if (!found->second.end) return;
  occupy(context, stream, std::max(*found->second.end, free_at(context, stream)));
}

// --- Inside ---

const Timeline::Stream& Timeline::created(StreamHandle stream) const {
  const auto found = streams_.find(stream);
  TESSERA_CHECK(found != streams_.end());
  return found->second;
}

// When all has ended that the next action in the stream comes after.
Timeline::Time Timeline::free_at(ContextHandle context, StreamHandle stream) const {
  const Time own = stream_end(context, stream);
  if (!is_implicit(stream) && !created(stream).is_blocking) return own;
  const auto lane = lanes_.find(stream_context(context, stream));
  return lane == lanes_.end() ? own : std::max(own, lane->second.default_end);
}

// The stream is busy until `end`, which is not before free_at.
void Timeline::occupy(ContextHandle context, StreamHandle stream, Time end) {
  Lane& lane = lanes_[stream_context(context, stream)];
  lane.all_end = std::max(lane.all_end, end);
  if (is_default(stream)) {
    lane.default_end = end;
    return;
  }
  if (is_implicit(stream)) {
    // Threads come and go: those whose work has ended need no entry.
    using ThreadEnd = decltype(lane.thread_ends)::value_type;
    std::erase_if(lane.thread_ends, [this](const ThreadEnd& of) { return of.second <= now_; });
    lane.thread_ends[this_thread_number()] = end;
  } else {
    Stream& own = streams_.at(stream);
    own.end = end;
    if (!own.is_blocking) return;
  }
  lane.blocking_end = std::max(lane.blocking_end, end);
}

void Timeline::drop_pieces(ContextHandle context) {
  const auto dropped = std::partition(pending_.begin(), pending_.end(),
                                      [&](const Piece& piece) { return piece.context != context; });
  // What the work holds goes last, when all is in order again: it may be anything.
  const std::vector<Piece> doomed(std::make_move_iterator(dropped),
                                  std::make_move_iterator(pending_.end()));
  pending_.erase(dropped, pending_.end());
  std::make_heap(pending_.begin(), pending_.end(), runs_later);
}

}  // namespace tessera::sim
