// RetireQueue: mappings that are to go as soon as the work that uses them is done. Retiring never
// blocks: the unmap is queued behind an event.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <vector>

#include "tessera/owners/mapping.h"

namespace tessera {

// An event recorded on a stream of `device`, after all of that device's work that uses the range.
struct DeviceEvent {
  DeviceOrdinal device;
  EventHandle event;
};

class RetireQueue {
 public:
  explicit RetireQueue(Driver& driver) noexcept : driver_(&driver) {}
  RetireQueue(const RetireQueue&) = delete;
  RetireQueue& operator=(const RetireQueue&) = delete;
  // Waits for what is left (drain), then unmaps it; failures go to the mappings' sinks.
  ~RetireQueue();

  // Takes over the mapping, with an event for each device that has access to it. The events stay
  // the caller's and live until the mapping was collected. ERRORS: not_permitted (a device with
  // access has no event here); the mapping is then still the caller's.
  Status retire(Mapping& mapping, std::span<const DeviceEvent> events);
  Status retire(Mapping& mapping, std::initializer_list<DeviceEvent> events);

  // Unmaps whatever is due, without waiting: how many. ERRORS: the first; what failed stays queued.
  Result<std::size_t> collect();
  // Waits for all that is queued, and unmaps it. ERRORS: the first; what failed stays queued.
  Status drain();

  [[nodiscard]] std::size_t size() const noexcept { return retired_.size(); }
  [[nodiscard]] Bytes bytes() const noexcept;

 private:
  struct Retired {
    Mapping mapping;
    std::vector<DeviceEvent> events;
  };

  // Unmaps all whose events `prove` proves.
  template <class Prove>
  Result<std::size_t> collect_proven(const Prove& prove);

  Driver* driver_;
  std::vector<Retired> retired_;
};

}  // namespace tessera
