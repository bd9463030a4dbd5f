// WorkTracker: work that was queued and that nobody has seen to be done.
//
// Each piece has a ticket, larger than all before. What a host may conclude is kept as clocks: for
// some streams, the ticket up to which their work is done. A stream's clock has what its later work
// waits for (events of other streams; the default stream and the blocking ones wait for each
// other), an event's clock is that of its stream when it was recorded. A synchronize, or an event
// seen complete, proves a clock. That a stream waits for an event proves nothing to the host.
//
// Not thread-safe: the ledger's lock guards it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/live_objects.h"

namespace tessera::validation {

struct PendingWork {
  AddressRange range;
  std::size_t stream = 0;
  std::uint64_t ticket = 0;
  MadeBy queued;
  bool is_allocation = false;  // mem_alloc_async: the memory is there from then on
};

class WorkTracker {
 public:
  // Stream -> ticket up to which its work is done, wherever the clock is proven.
  using Clock = std::vector<std::pair<std::size_t, std::uint64_t>>;

  void add_stream(StreamHandle stream, ContextHandle context, bool is_blocking);
  // Its work goes on.
  void remove_stream(StreamHandle stream);
  void enqueue(ContextHandle context, StreamHandle stream, AddressRange range,
               const MadeBy& queued);
  // The range is new memory: what was queued for it before used other memory.
  void renew(AddressRange range);
  // New memory that the stream's later work may use.
  void allocate(ContextHandle context, StreamHandle stream, AddressRange range,
                const MadeBy& queued);

  // What is known to be done once a stream, or all of a context, was synchronized; to be taken
  // before that call is made.
  [[nodiscard]] Clock clock_of(ContextHandle context, StreamHandle stream);
  [[nodiscard]] Clock clock_of_context(ContextHandle context) const;
  [[nodiscard]] Clock clock_of_event(EventHandle event) const;
  void record(EventHandle event, ContextHandle context, StreamHandle stream);
  void remove_event(EventHandle event);
  void wait(ContextHandle context, StreamHandle stream, EventHandle event);
  void prove(const Clock& clock);
  void forget_context(ContextHandle context);  // destroyed: its work has ended
  void forget_all();                           // a fault has ended everything

  // What touches the range, or allocated it, and that later work of the stream does not wait for;
  // null if there is none.
  [[nodiscard]] const PendingWork* unordered(ContextHandle context, StreamHandle stream,
                                             AddressRange range) const;

  // All that may still run, in the order in which it was queued.
  [[nodiscard]] std::span<const PendingWork> pending() const noexcept { return pending_; }
  [[nodiscard]] ContextHandle context_of(const PendingWork& work) const {
    return streams_[work.stream].context;
  }
  // Work that may still run and touches the range; null if there is none.
  [[nodiscard]] const PendingWork* in_flight(AddressRange range) const {
    return in_flight(range, [](ContextHandle) { return true; });
  }
  // The same of streams of such contexts as `is_meant` says.
  template <class IsMeant>
  [[nodiscard]] const PendingWork* in_flight(AddressRange range, const IsMeant& is_meant) const {
    for (const PendingWork& work : pending_) {
      if (!work.is_allocation && work.range.intersects(range) && is_meant(context_of(work))) {
        return &work;
      }
    }
    return nullptr;
  }

 private:
  struct Stream {
    ContextHandle context;
    bool is_open = false;
    bool is_default = false;   // the legacy default stream
    bool is_blocking = false;  // waits for the default stream, and it for this
    std::uint64_t last = 0;
    std::uint64_t done = 0;
    Clock waits_for = {};
  };
  using Key = std::pair<ContextHandle, StreamHandle>;

  static Key key_of(ContextHandle context, StreamHandle stream) noexcept;
  // One that the books have not seen made.
  [[nodiscard]] Stream first_seen(ContextHandle context, StreamHandle stream) const;
  std::size_t index_of(ContextHandle context, StreamHandle stream);
  std::size_t new_stream(const Stream& stream);
  void join(Clock& clock, const Clock& other) const;
  void join_neighbours(Clock& clock, const Stream& stream) const;
  // What work that is queued in the stream now waits for.
  [[nodiscard]] Clock order_of(ContextHandle context, StreamHandle stream) const;
  void add(PendingWork work);
  void drop_done();

  std::vector<Stream> streams_;
  std::map<Key, std::size_t> indices_;  // created streams under no context
  std::unordered_map<EventHandle, Clock> events_;
  std::vector<PendingWork> pending_;
  std::uint64_t last_ticket_ = 0;
};

}  // namespace tessera::validation
