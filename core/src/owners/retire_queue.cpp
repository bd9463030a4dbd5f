#include "tessera/owners/retire_queue.h"

#include <algorithm>
#include <utility>

namespace tessera {
RetireQueue::~RetireQueue() { static_cast<void>(drain()); }

Status RetireQueue::retire(Mapping& mapping, std::span<const DeviceEvent> events) {
  if (!mapping.is_open()) {
    return {};
  }
  for (const DeviceOrdinal device : mapping.access().devices()) {
    const bool has_event = std::any_of(events.begin(), events.end(), [&](const DeviceEvent& event) {
      return event.device == device;
    });
    if (!has_event) {
      return Error{.code = ErrorCode::not_permitted,
                   .reason = Reason::no_event_of_device,
                   .values = {static_cast<std::uint64_t>(device.value()), mapping.begin().value()}};
    }
  }
  retired_.push_back(
      {.mapping = std::move(mapping), .events = std::vector(events.begin(), events.end())});
  return {};
}

Status RetireQueue::retire(Mapping& mapping, std::initializer_list<DeviceEvent> events) {
  return retire(mapping, std::span(events.begin(), events.size()));
}

template <class Prove>
Result<std::size_t> RetireQueue::collect_proven(const Prove& prove) {
  Status first;
  std::size_t collected = 0;
  const auto is_done = [&](Retired& retired) {
    Quiescence proof = Quiescence::none();
    for (const DeviceEvent& event : retired.events) {
      auto one = prove(event);
      if (!one) {
        if (first && one.error().code != ErrorCode::not_ready) {
          first = one.error();
        }
        return false;
      }
      proof.join(std::move(*one));
    }
    const Status closed = retired.mapping.close(std::move(proof));
    if (first) {
      first = closed;
    }
    collected += closed ? 1U : 0U;
    return closed.has_value();
  };
  retired_.erase(std::remove_if(retired_.begin(), retired_.end(), is_done), retired_.end());
  if (!first) {
    return first.error();
  }
  return collected;
}

Result<std::size_t> RetireQueue::collect() {
  return collect_proven([&](const DeviceEvent& event) {
    return Quiescence::of_event(*driver_, event.device, event.event);
  });
}

Status RetireQueue::drain() {
  TESSERA_TRY(collect_proven([&](const DeviceEvent& event) {
    return Quiescence::after_event(*driver_, event.device, event.event);
  }));
  return {};
}

Bytes RetireQueue::bytes() const noexcept {
  Bytes total;
  for (const Retired& retired : retired_) {
    total += retired.mapping.size();
  }
  return total;
}

}  // namespace tessera
