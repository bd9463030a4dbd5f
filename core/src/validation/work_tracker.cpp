#include "validation/work_tracker.h"

#include <algorithm>
#include <optional>

namespace tessera::validation {
namespace {

// A program that never synchronizes must not fill memory: the oldest work is forgotten.
constexpr std::size_t pending_max = 1U << 14U;

}  // namespace

std::size_t WorkTracker::new_stream(const Stream& stream) {
  // Tickets only grow, so an index can be used again when its work is done: old clocks hold.
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (!streams_[i].is_open && streams_[i].last <= streams_[i].done) {
      streams_[i] = stream;
      return i;
    }
  }
  streams_.push_back(stream);
  return streams_.size() - 1;
}

WorkTracker::Key WorkTracker::key_of(ContextHandle context, StreamHandle stream) noexcept {
  if (!is_implicit(stream)) {
    return {ContextHandle(), stream};
  }
  return {context, stream == per_thread_stream ? stream : StreamHandle()};
}

WorkTracker::Stream WorkTracker::first_seen(ContextHandle context, StreamHandle stream) const {
  const bool is_legacy = is_implicit(stream) && stream != per_thread_stream;
  return {.context = context,
          .is_open = true,
          .is_default = is_legacy,
          .is_blocking = !is_legacy,
          .last = last_ticket_,
          .done = last_ticket_};
}

std::size_t WorkTracker::index_of(ContextHandle context, StreamHandle stream) {
  const auto [found, is_new] = indices_.try_emplace(key_of(context, stream), 0);
  if (is_new) {
    found->second = new_stream(first_seen(context, stream));
  }
  return found->second;
}

void WorkTracker::add_stream(StreamHandle stream, ContextHandle context, bool is_blocking) {
  remove_stream(stream);
  indices_[Key(ContextHandle(), stream)] = new_stream({.context = context,
                                                       .is_open = true,
                                                       .is_blocking = is_blocking,
                                                       .last = last_ticket_,
                                                       .done = last_ticket_});
}

void WorkTracker::remove_stream(StreamHandle stream) {
  if (const auto found = indices_.find(Key(ContextHandle(), stream)); found != indices_.end()) {
    streams_[found->second].is_open = false;
    indices_.erase(found);
  }
}

void WorkTracker::join(Clock& clock, const Clock& other) const {
  for (const auto& [stream, ticket] : other) {
    if (ticket <= streams_[stream].done) {
      continue;
    }
    const auto found =
        std::find_if(clock.begin(), clock.end(),
                     [index = stream](const auto& entry) { return entry.first == index; });
    if (found == clock.end()) {
      clock.emplace_back(stream, ticket);
    } else {
      found->second = std::max(found->second, ticket);
    }
  }
}

// What is queued in a blocking stream waits for the default one, and the other way round.
void WorkTracker::join_neighbours(Clock& clock, const Stream& stream) const {
  if (!stream.is_default && !stream.is_blocking) {
    return;
  }
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const Stream& other = streams_[i];
    const bool is_neighbour = stream.is_default ? other.is_blocking : other.is_default;
    if (is_neighbour && other.context == stream.context && other.last > other.done) {
      join(clock, other.waits_for);
      join(clock, {{i, other.last}});
    }
  }
}

WorkTracker::Clock WorkTracker::order_of(ContextHandle context, StreamHandle stream) const {
  Clock clock;
  const auto found = indices_.find(key_of(context, stream));
  if (found == indices_.end()) {
    join_neighbours(clock, first_seen(context, stream));
    return clock;
  }
  const Stream& known = streams_[found->second];
  clock = known.waits_for;
  join(clock, {{found->second, known.last}});
  join_neighbours(clock, known);
  return clock;
}

void WorkTracker::enqueue(ContextHandle context, StreamHandle stream, AddressRange range,
                          const MadeBy& queued) {
  add({.range = range, .stream = index_of(context, stream), .queued = queued});
}

void WorkTracker::renew(AddressRange range) {
  std::erase_if(pending_, [&](const PendingWork& work) { return work.range.intersects(range); });
}

void WorkTracker::allocate(ContextHandle context, StreamHandle stream, AddressRange range,
                           const MadeBy& queued) {
  renew(range);
  add({.range = range,
       .stream = index_of(context, stream),
       .queued = queued,
       .is_allocation = true});
}

void WorkTracker::add(PendingWork work) {
  Stream& stream = streams_[work.stream];
  join_neighbours(stream.waits_for, stream);
  stream.last = ++last_ticket_;
  work.ticket = last_ticket_;
  if (work.range.is_empty()) {
    return;
  }
  // The same again.
  if (!pending_.empty() && pending_.back().stream == work.stream &&
      pending_.back().range == work.range && !pending_.back().is_allocation) {
    pending_.back() = work;
    return;
  }
  if (pending_.size() == pending_max) {
    pending_.erase(pending_.begin(), pending_.begin() + pending_max / 2);
  }
  pending_.push_back(work);
}

const PendingWork* WorkTracker::unordered(ContextHandle context, StreamHandle stream,
                                          AddressRange range) const {
  std::optional<Clock> order;
  for (const PendingWork& work : pending_) {
    if (!work.range.intersects(range)) {
      continue;
    }
    if (!order) {
      order = order_of(context, stream);
    }
    const bool is_before = std::any_of(order->begin(), order->end(), [&work](const auto& entry) {
      return entry.first == work.stream && entry.second >= work.ticket;
    });
    if (!is_before) {
      return &work;
    }
  }
  return nullptr;
}

WorkTracker::Clock WorkTracker::clock_of(ContextHandle context, StreamHandle stream) {
  const std::size_t index = index_of(context, stream);
  if (streams_[index].is_default) {
    return order_of(context, stream);
  }
  Clock clock = streams_[index].waits_for;
  join(clock, {{index, streams_[index].last}});
  return clock;
}

WorkTracker::Clock WorkTracker::clock_of_context(ContextHandle context) const {
  Clock clock;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].context == context) {
      join(clock, streams_[i].waits_for);
      join(clock, {{i, streams_[i].last}});
    }
  }
  return clock;
}

WorkTracker::Clock WorkTracker::clock_of_event(EventHandle event) const {
  const auto found = events_.find(event);
  return found == events_.end() ? Clock() : found->second;
}

void WorkTracker::record(EventHandle event, ContextHandle context, StreamHandle stream) {
  events_.insert_or_assign(event, clock_of(context, stream));
}

void WorkTracker::remove_event(EventHandle event) { events_.erase(event); }

void WorkTracker::wait(ContextHandle context, StreamHandle stream, EventHandle event) {
  if (const auto found = events_.find(event); found != events_.end()) {
    const std::size_t index = index_of(context, stream);
    join(streams_[index].waits_for, found->second);
  }
}

void WorkTracker::drop_done() {
  std::erase_if(pending_, [this](const PendingWork& work) {
    return work.ticket <= streams_[work.stream].done;
  });
  for (Stream& stream : streams_) {
    std::erase_if(stream.waits_for,
                  [this](const auto& entry) { return entry.second <= streams_[entry.first].done; });
  }
}

void WorkTracker::prove(const Clock& clock) {
  bool is_news = false;
  for (const auto& [stream, ticket] : clock) {
    is_news = is_news || ticket > streams_[stream].done;
    streams_[stream].done = std::max(streams_[stream].done, ticket);
  }
  if (is_news) {
    drop_done();
  }
}

void WorkTracker::forget_context(ContextHandle context) {
  for (Stream& stream : streams_) {
    if (stream.context == context) {
      stream.done = stream.last;
      stream.is_open = false;
    }
  }
  std::erase_if(indices_, [this](const auto& entry) { return !streams_[entry.second].is_open; });
  drop_done();
}

void WorkTracker::forget_all() {
  for (Stream& stream : streams_) {
    stream.done = stream.last;
  }
  drop_done();
}

}  // namespace tessera::validation
