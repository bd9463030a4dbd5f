// Streams, events and kernels: what comes after what. Nothing here is timed; kernels that wait keep
// a stream busy while the calls after them are made.
#include "conformance/suite.h"

namespace tessera::conformance {
namespace {

class Order : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped()) {
      return;
    }
    memory_ = must(driver().mem_alloc(Bytes(4096)));
    blocking_ = must(driver().stream_create(StreamFlags::blocking));
    stream_ = must(driver().stream_create(StreamFlags::non_blocking));
    other_ = must(driver().stream_create(StreamFlags::non_blocking));
    event_ = must(driver().event_create(EventFlags::disable_timing));
    must(fill(memory_, Bytes(4096), 0));
    // The first launch may wait while the kernel is loaded.
    must(launch_write(memory_ + 4095_B, 1, stream_));
    must(driver().ctx_synchronize());
  }
  void TearDown() override {
    if (!event_.is_null()) {
      EXPECT_THAT(driver().ctx_synchronize(), is_ok());
      EXPECT_THAT(driver().event_destroy(event_), is_ok());
      for (const StreamHandle stream : {blocking_, stream_, other_}) {
        EXPECT_THAT(driver().stream_destroy(stream), is_ok());
      }
      EXPECT_THAT(driver().mem_free(memory_), is_ok());
    }
    Conformance::TearDown();
  }

  // Copies the byte at `memory_` to `memory_ + place`, in a stream's order.
  void launch_look(Bytes place, StreamHandle stream) {
    EXPECT_THAT(driver().launch_touch({.address = memory_,
                                       .touch = Touch::read,
                                       .result = memory_ + place,
                                       .stream = stream}),
                is_ok());
  }

  DeviceAddress memory_;
  StreamHandle blocking_;
  StreamHandle stream_;
  StreamHandle other_;
  EventHandle event_;
};

TEST_P(Order, KernelsReadAndWrite) {
  EXPECT_THAT(launch_write(memory_, 77), is_ok());
  launch_look(1_B, {});
  EXPECT_THAT(driver().ctx_synchronize(), is_ok());
  expect_byte(memory_, 77);
  expect_byte(memory_ + 1_B, 77);
}

TEST_P(Order, AStreamIsInOrder) {
  EXPECT_THAT(launch_write(memory_, 1, stream_, long_ns), is_ok());
  EXPECT_THAT(launch_write(memory_, 2, stream_), is_ok());
  launch_look(1_B, stream_);
  EXPECT_THAT(driver().stream_synchronize(stream_), is_ok());
  expect_byte(memory_, 2);
  expect_byte(memory_ + 1_B, 2);
}

TEST_P(Order, ADestroyedStreamsWorkIsDone) {
  const StreamHandle stream = must(driver().stream_create(StreamFlags::non_blocking));
  EXPECT_THAT(launch_write(memory_, 9, stream, long_ns), is_ok());
  EXPECT_THAT(driver().stream_destroy(stream), is_ok());
  EXPECT_THAT(driver().ctx_synchronize(), is_ok());
  expect_byte(memory_, 9);
}

TEST_P(Order, AnEventIsDoneWithTheWorkBeforeIt) {
  EXPECT_THAT(driver().event_query(event_), is_ok()) << "never recorded: nothing to wait for";
  EXPECT_THAT(driver().event_synchronize(event_), is_ok());
  EXPECT_THAT(launch_write(memory_, 5, stream_, long_ns), is_ok());
  EXPECT_THAT(driver().event_record({.event = event_, .stream = stream_}), is_ok());
  EXPECT_THAT(driver().event_query(event_), fails_with(ErrorCode::not_ready));
  EXPECT_THAT(driver().event_synchronize(event_), is_ok());
  EXPECT_THAT(driver().event_query(event_), is_ok());
  expect_byte(memory_, 5);
}

TEST_P(Order, AStreamWaitsForAnEvent) {
  EXPECT_THAT(launch_write(memory_, 6, stream_, long_ns), is_ok());
  EXPECT_THAT(driver().event_record({.event = event_, .stream = stream_}), is_ok());
  EXPECT_THAT(driver().stream_wait_event({.stream = other_, .event = event_}), is_ok());
  launch_look(1_B, other_);
  EXPECT_THAT(driver().stream_synchronize(other_), is_ok());
  expect_byte(memory_ + 1_B, 6);
}

TEST_P(Order, ARecordReplacesTheOneBefore) {
  EXPECT_THAT(driver().event_record({.event = event_, .stream = other_}), is_ok());
  EXPECT_THAT(launch_write(memory_, 4, stream_, long_ns), is_ok());
  EXPECT_THAT(driver().event_record({.event = event_, .stream = stream_}), is_ok());
  EXPECT_THAT(driver().event_query(event_), fails_with(ErrorCode::not_ready));
  EXPECT_THAT(driver().event_synchronize(event_), is_ok());
  expect_byte(memory_, 4);
}

TEST_P(Order, AWaitForNoRecordIsNone) {
  EXPECT_THAT(launch_write(memory_, 3, stream_, long_ns), is_ok());
  EXPECT_THAT(driver().stream_wait_event({.stream = other_, .event = event_}), is_ok());
  launch_look(1_B, other_);
  EXPECT_THAT(driver().stream_synchronize(other_), is_ok());
  expect_byte(memory_ + 1_B, 0);
}

TEST_P(Order, TheDefaultStreamWaitsForBlockingOnes) {
  EXPECT_THAT(launch_write(memory_, 7, blocking_, long_ns), is_ok());
  launch_look(1_B, {});
  EXPECT_THAT(driver().stream_synchronize({}), is_ok());
  expect_byte(memory_ + 1_B, 7);
}

TEST_P(Order, BlockingStreamsWaitForTheDefaultOne) {
  EXPECT_THAT(launch_write(memory_, 8, {}, long_ns), is_ok());
  launch_look(1_B, blocking_);
  EXPECT_THAT(driver().stream_synchronize(blocking_), is_ok());
  expect_byte(memory_ + 1_B, 8);
}

TEST_P(Order, NonBlockingStreamsStayOutOfIt) {
  EXPECT_THAT(launch_write(memory_, 8, {}, long_ns), is_ok());
  launch_look(1_B, stream_);
  EXPECT_THAT(driver().stream_synchronize(stream_), is_ok());
  expect_byte(memory_ + 1_B, 0);
}

TEST_P(Order, FreeingWaitsForTheWork) {
  const DeviceAddress used = must(driver().mem_alloc(Bytes(4096)));
  EXPECT_THAT(launch_write(used, 1, stream_, long_ns), is_ok());
  EXPECT_THAT(driver().event_record({.event = event_, .stream = stream_}), is_ok());
  EXPECT_THAT(driver().mem_free(used), is_ok());
  EXPECT_THAT(driver().event_query(event_), is_ok());
  EXPECT_THAT(driver().ctx_synchronize(), is_ok());
}

TEST_P(Order, VirtualMemoryCallsDoNotWait) {
  Reservation range(driver(), unit() * 2);
  const Memory used(driver(), unit());
  const Memory unused(driver(), unit());
  range.map(range.begin(), unit(), used.handle());
  range.map(range.begin() + unit(), unit(), unused.handle());
  ASSERT_THAT(set_access(range.begin(), unit() * 2), is_ok());
  EXPECT_THAT(launch_write(range.begin(), 1, stream_, long_ns), is_ok());
  EXPECT_THAT(driver().event_record({.event = event_, .stream = stream_}), is_ok());
  EXPECT_THAT(range.unmap(range.begin() + unit(), unit()), is_ok());
  range.map(range.begin() + unit(), unit(), unused.handle());
  EXPECT_THAT(set_access(range.begin() + unit(), unit()), is_ok());
  EXPECT_THAT(driver().event_query(event_), fails_with(ErrorCode::not_ready));
  EXPECT_THAT(driver().ctx_synchronize(), is_ok());
  expect_byte(range.begin(), 1);
}

TEST_P(Order, StreamsAndEventsKnowTheirContext) {
  EXPECT_THAT(launch_write(memory_, 5, stream_, long_ns), is_ok());
  ASSERT_THAT(driver().ctx_set_current(ContextHandle()), is_ok());
  EXPECT_THAT(driver().event_record({.event = event_, .stream = stream_}), is_ok());
  EXPECT_THAT(driver().stream_wait_event({.stream = other_, .event = event_}), is_ok());
  EXPECT_THAT(driver().event_query(event_), fails_with(ErrorCode::not_ready));
  EXPECT_THAT(driver().event_synchronize(event_), is_ok());
  EXPECT_THAT(driver().stream_synchronize(other_), is_ok());
  // The default stream is the current context's, and there is none.
  EXPECT_THAT(driver().event_record({.event = event_}), fails_with(ErrorCode::invalid_context));
  EXPECT_THAT(driver().ctx_set_current(primary()), is_ok());
  expect_byte(memory_, 5);
}

TEST_P(Order, DataCallsOfAStreamNeedNoContext) {
  std::array<std::byte, 4> bytes = {std::byte{6}, std::byte{6}, std::byte{6}, std::byte{6}};
  const Bytes size(bytes.size());
  const DeviceAddress next = memory_ + size;
  ASSERT_THAT(driver().ctx_set_current(ContextHandle()), is_ok());
  EXPECT_THAT(driver().memcpy_htod_async(
                  {.copy = {.destination = memory_, .source = bytes}, .stream = stream_}),
              is_ok());
  EXPECT_THAT(
      driver().memcpy_dtod_async(
          {.copy = {.destination = next, .source = memory_, .size = size}, .stream = stream_}),
      is_ok());
  EXPECT_THAT(driver().memset_d8_async(
                  {.set = {.destination = memory_, .value = 7, .size = size}, .stream = stream_}),
              is_ok());
  EXPECT_THAT(driver().memcpy_dtoh_async(
                  {.copy = {.destination = bytes, .source = memory_}, .stream = stream_}),
              is_ok());
  EXPECT_THAT(driver().stream_synchronize(stream_), is_ok());
  if (features().bytes) {
    EXPECT_THAT(bytes, testing::Each(std::byte{7}));
  }
  // The default stream is the current context's, and there is none.
  EXPECT_THAT(driver().memset_d8_async({.set = {.destination = memory_, .value = 8, .size = size}}),
              fails_with(ErrorCode::invalid_context));
  EXPECT_THAT(driver().ctx_set_current(primary()), is_ok());
  expect_byte(memory_, 7);
  expect_byte(next, 6);
}

TEST_P(Order, KernelsRunInStreamsOfTheCurrentContext) {
  ASSERT_THAT(driver().ctx_set_current(ContextHandle()), is_ok());
  EXPECT_THAT(launch_write(memory_, 9, stream_), fails_with(ErrorCode::invalid_context));
  EXPECT_THAT(driver().ctx_set_current(primary()), is_ok());
  const auto other = driver().ctx_create({.device = DeviceOrdinal(0)});
  ASSERT_THAT(other, is_ok());
  EXPECT_THAT(launch_write(memory_, 9, stream_), fails_with(ErrorCode::invalid_handle));
  EXPECT_THAT(driver().ctx_destroy(*other), is_ok());
  EXPECT_THAT(launch_write(memory_, 9, stream_), is_ok());
  EXPECT_THAT(driver().stream_synchronize(stream_), is_ok());
  expect_byte(memory_, 9);
}

TEST_P(Order, NoEventIsNoHandle) {
  const auto is_refused = fails_with(ErrorCode::invalid_handle);
  EXPECT_THAT(driver().event_query({}), is_refused);
  EXPECT_THAT(driver().event_synchronize({}), is_refused);
  EXPECT_THAT(driver().event_destroy({}), is_refused);
  EXPECT_THAT(driver().event_record({.event = {}}), is_refused);
  EXPECT_THAT(driver().stream_wait_event({.event = {}}), is_refused);
}

TEST_P(Order, RefusesUnknownFlags) {
  EXPECT_THAT(driver().stream_create(static_cast<StreamFlags>(0x4000)),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver().event_create(static_cast<EventFlags>(0x4000)),
              fails_with(ErrorCode::invalid_value));
}

TEST_P(Order, ImplicitStreamsAreNotDestroyed) {
  for (const std::uint64_t implicit : {0U, 1U, 2U}) {
    EXPECT_THAT(driver().stream_destroy(StreamHandle(implicit)),
                fails_with(ErrorCode::invalid_handle));
  }
  EXPECT_THAT(launch_write(memory_, 2), is_ok());
  EXPECT_THAT(driver().stream_synchronize({}), is_ok());
}

INSTANTIATE_TEST_SUITE_P(All, Order, testing::ValuesIn(backends_of_books()), name_of);

}  // namespace
}  // namespace tessera::conformance
