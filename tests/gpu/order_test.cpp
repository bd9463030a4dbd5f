#include <chrono>

#include "gpu_test.h"

namespace tessera::gpu {
namespace {

constexpr std::uint64_t long_ns = 50'000'000;

class Order : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped()) {
      memory_ = must(driver().mem_alloc(Bytes(4096)));
      must(driver().memset_d8({.destination = memory_, .value = 0, .size = Bytes(4096)}));
      stream_ = must(driver().stream_create(StreamFlags::non_blocking));
      event_ = must(driver().event_create(EventFlags::disable_timing));
      must(driver().ctx_synchronize());
    }
  }
  void TearDown() override {
    if (!memory_.is_null()) {
      EXPECT_EQ(answer(driver().event_destroy(event_)), "OK");
      EXPECT_EQ(answer(driver().stream_destroy(stream_)), "OK");
      EXPECT_EQ(answer(driver().mem_free(memory_)), "OK");
    }
    GpuTest::TearDown();
  }

  // Writes one after a while.
  void launch_slow_write(DeviceAddress address, StreamHandle stream) const {
    must(driver().launch_touch({.address = address,
                                .touch = Touch::write,
                                .value = 1,
                                .duration_ns = long_ns,
                                .stream = stream}));
  }

  DeviceAddress memory_;
  StreamHandle stream_;
  EventHandle event_;
};

TEST_F(Order, KernelsTakeTheirTime) {
  must(driver().launch_touch({.address = memory_, .touch = Touch::read, .stream = stream_}));
  must(driver().stream_synchronize(stream_));
  const auto start = std::chrono::steady_clock::now();
  launch_slow_write(memory_, stream_);
  must(driver().stream_synchronize(stream_));
  const auto taken = std::chrono::steady_clock::now() - start;
  EXPECT_GE(taken, std::chrono::nanoseconds(long_ns * 9 / 10));
  EXPECT_LT(taken, std::chrono::nanoseconds(long_ns * 40));
  EXPECT_EQ(byte_at(memory_), 1);
}

TEST_F(Order, EventsSayWhenWorkIsDone) {
  EXPECT_EQ(answer(driver().event_query(event_)), "OK") << "never recorded: nothing to wait for";
  launch_slow_write(memory_, stream_);
  must(driver().event_record({.event = event_, .stream = stream_}));
  EXPECT_EQ(answer(driver().event_query(event_)), "NOT_READY");
  EXPECT_EQ(answer(driver().event_synchronize(event_)), "OK");
  EXPECT_EQ(answer(driver().event_query(event_)), "OK");
  EXPECT_EQ(byte_at(memory_), 1);
}

TEST_F(Order, StreamsWaitForEvents) {
  const StreamHandle other = must(driver().stream_create(StreamFlags::non_blocking));
  launch_slow_write(memory_, stream_);
  must(driver().event_record({.event = event_, .stream = stream_}));
  must(driver().stream_wait_event({.stream = other, .event = event_}));
  must(driver().launch_touch(
      {.address = memory_, .touch = Touch::read, .result = memory_ + Bytes(1), .stream = other}));
  must(driver().stream_synchronize(other));
  EXPECT_EQ(byte_at(memory_ + Bytes(1)), 1) << "the read came before the write";
  must(driver().stream_destroy(other));
}

TEST_F(Order, CopiesFollowTheStream) {
  const std::array source = {std::byte{8}, std::byte{9}};
  std::array<std::byte, 2> target = {};
  must(driver().memcpy_htod_async(
      {.copy = {.destination = memory_, .source = source}, .stream = stream_}));
  must(driver().memcpy_dtod_async(
      {.copy = {.destination = memory_ + Bytes(64), .source = memory_, .size = Bytes(2)},
       .stream = stream_}));
  must(driver().memset_d8_async(
      {.set = {.destination = memory_ + Bytes(64), .value = 4, .size = Bytes(1)},
       .stream = stream_}));
  must(driver().memcpy_dtoh_async(
      {.copy = {.destination = target, .source = memory_ + Bytes(64)}, .stream = stream_}));
  must(driver().stream_synchronize(stream_));
  EXPECT_EQ(target[0], std::byte{4});
  EXPECT_EQ(target[1], std::byte{9});
}

TEST_F(Order, RefusesUnknownFlags) {
  EXPECT_EQ(answer(driver().stream_create(static_cast<StreamFlags>(0x4000))), "INVALID_VALUE");
  EXPECT_EQ(answer(driver().event_create(static_cast<EventFlags>(0x4000))), "INVALID_VALUE");
}

}  // namespace
}  // namespace tessera::gpu
