// What the tests of Timeline share.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "timeline.h"

namespace tessera::sim {

inline constexpr ContextHandle context1(101);
inline constexpr ContextHandle context2(102);
inline constexpr StreamHandle default_stream;

// Keeps what ran, and when: "a@100 b@200".
class TimelineTest : public testing::Test {
 protected:
  Timeline::Work note(std::string name) {
    return [this, name = std::move(name)] {
      if (!ran_.empty()) ran_ += ' ';
      ran_ += name + '@' + std::to_string(timeline_.now());
    };
  }
  void queue(StreamHandle stream, std::uint64_t duration, const std::string& name,
             ContextHandle context = context1) {
    timeline_.enqueue(context, stream, duration, note(name));
  }
  StreamHandle blocking(ContextHandle context = context1) {
    return timeline_.create_stream(context, StreamFlags::blocking);
  }
  StreamHandle non_blocking(ContextHandle context = context1) {
    return timeline_.create_stream(context, StreamFlags::non_blocking);
  }
  EventHandle recorded(StreamHandle stream, ContextHandle context = context1) {
    const EventHandle event = timeline_.create_event(context);
    timeline_.record_event(event, context, stream);
    return event;
  }

  Timeline timeline_;
  std::string ran_;
};

}  // namespace tessera::sim
