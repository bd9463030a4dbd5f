// Copies and fills.
#include <memory>
#include <vector>

#include "conformance/suite.h"

namespace tessera::conformance {
namespace {

// Two mappings next to each other, with what is between them on every border.
class Data : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped()) {
      return;
    }
    range_ = std::make_unique<Reservation>(driver(), unit() * 3);
    for (std::unique_ptr<Memory>* memory : {&first_, &second_}) {
      *memory = std::make_unique<Memory>(driver(), unit());
    }
    range_->map(range_->begin(), unit(), first_->handle());
    range_->map(range_->begin() + unit(), unit(), second_->handle());
    must(set_access(range_->begin(), unit() * 2));
    must(fill(range_->begin(), unit() * 2, 0));
    begin_ = range_->begin();
    border_ = begin_ + unit();
  }
  void TearDown() override {
    range_.reset();
    first_.reset();
    second_.reset();
    Conformance::TearDown();
  }

  static std::vector<std::byte> pattern(std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) {
      bytes[i] = static_cast<std::byte>(i * 7 + 1);
    }
    return bytes;
  }
  std::vector<std::byte> read(DeviceAddress address, std::size_t size) {
    std::vector<std::byte> bytes(size, std::byte{0xee});
    EXPECT_THAT(driver().memcpy_dtoh({.destination = bytes, .source = address}), is_ok());
    return bytes;
  }

  DeviceAddress begin_;
  DeviceAddress border_;

 private:
  std::unique_ptr<Reservation> range_;
  std::unique_ptr<Memory> first_;
  std::unique_ptr<Memory> second_;
};

TEST_P(Data, RoundTripsAcrossMappings) {
  const std::vector<std::byte> source = pattern(10'001);
  const DeviceAddress place = border_ - 5'003_B;
  ASSERT_THAT(driver().memcpy_htod({.destination = place, .source = source}), is_ok());
  EXPECT_EQ(read(place, source.size()), source);
  expect_byte(place - 1_B, 0);
  expect_byte(place + Bytes(source.size()), 0);
}

TEST_P(Data, CopiesOnTheDeviceAcrossMappings) {
  const std::vector<std::byte> source = pattern(3'000);
  ASSERT_THAT(driver().memcpy_htod({.destination = begin_ + 3_B, .source = source}), is_ok());
  const DeviceAddress target = border_ - 1'000_B;
  EXPECT_THAT(driver().memcpy_dtod(
                  {.destination = target, .source = begin_ + 3_B, .size = Bytes(source.size())}),
              is_ok());
  EXPECT_EQ(read(target, source.size()), source);
}

TEST_P(Data, CopiesBetweenKindsOfMemory) {
  const std::vector<std::byte> source = pattern(500);
  const DeviceAddress legacy = must(driver().mem_alloc(Bytes(4096)));
  EXPECT_THAT(driver().memcpy_htod({.destination = legacy, .source = source}), is_ok());
  EXPECT_THAT(
      driver().memcpy_dtod({.destination = border_ - 250_B, .source = legacy, .size = Bytes(500)}),
      is_ok());
  EXPECT_EQ(read(border_ - 250_B, source.size()), source);
  EXPECT_THAT(driver().mem_free(legacy), is_ok());
}

TEST_P(Data, FillsAcrossMappings) {
  EXPECT_THAT(fill(border_ - 3_B, 5_B, 9), is_ok());
  expect_byte(border_ - 4_B, 0);
  expect_byte(border_ - 3_B, 9);
  expect_byte(border_ + 1_B, 9);
  expect_byte(border_ + 2_B, 0);
}

TEST_P(Data, NoBytesAreNothing) {
  EXPECT_THAT(driver().memcpy_htod({.destination = begin_, .source = {}}), is_ok());
  EXPECT_THAT(driver().memcpy_dtoh({.destination = {}, .source = begin_}), is_ok());
  EXPECT_THAT(driver().memcpy_dtod({.destination = begin_, .source = border_, .size = Bytes(0)}),
              is_ok());
  EXPECT_THAT(driver().memset_d8({.destination = begin_, .value = 1, .size = Bytes(0)}), is_ok());
  expect_byte(begin_, 0);
}

TEST_P(Data, StopsAtTheEndOfWhatIsMapped) {
  if (!features().copies_check_access) {
    return;  // such copies fault: Faults.ACopyWithoutAccess
  }
  const DeviceAddress near_end = begin_ + unit() * 2 - 8_B;
  const std::vector<std::byte> source = pattern(16);
  std::vector<std::byte> target(16, std::byte{0xee});
  EXPECT_THAT(driver().memcpy_htod({.destination = near_end, .source = source}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver().memcpy_dtoh({.destination = target, .source = near_end}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver().memcpy_dtod({.destination = near_end, .source = begin_, .size = 16_B}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(fill(near_end, 16_B, 3), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(target, testing::Each(std::byte{0xee}));
  expect_byte(near_end, 0);
}

TEST_P(Data, NothingIsAtNull) {
  if (!features().copies_check_access) {
    return;  // such copies fault: Faults.ACopyWithoutAccess
  }
  EXPECT_THAT(put(DeviceAddress(), 1), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(get(DeviceAddress()), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(fill(DeviceAddress(), 1_B, 1), fails_with(ErrorCode::invalid_value));
}

TEST_P(Data, AsynchronousFormsFollowTheStream) {
  const StreamHandle stream = must(driver().stream_create(StreamFlags::non_blocking));
  const std::vector<std::byte> source = pattern(4'000);
  std::vector<std::byte> target(4'000);
  const DeviceAddress place = border_ - 2'000_B;
  EXPECT_THAT(driver().memcpy_htod_async(
                  {.copy = {.destination = begin_, .source = source}, .stream = stream}),
              is_ok());
  EXPECT_THAT(driver().memcpy_dtod_async(
                  {.copy = {.destination = place, .source = begin_, .size = Bytes(4'000)},
                   .stream = stream}),
              is_ok());
  EXPECT_THAT(driver().memset_d8_async(
                  {.set = {.destination = border_, .value = 4, .size = 1_B}, .stream = stream}),
              is_ok());
  EXPECT_THAT(driver().memcpy_dtoh_async(
                  {.copy = {.destination = target, .source = place}, .stream = stream}),
              is_ok());
  EXPECT_THAT(driver().stream_synchronize(stream), is_ok());
  std::vector<std::byte> expected = source;
  expected[2'000] = std::byte{4};
  EXPECT_EQ(target, expected);
  EXPECT_THAT(driver().stream_destroy(stream), is_ok());
}

INSTANTIATE_TEST_SUITE_P(All, Data, testing::ValuesIn(backends()), name_of);

}  // namespace
}  // namespace tessera::conformance
