// Two devices that reach each other.
#include <memory>

#include "conformance/suite.h"

namespace tessera::conformance {
namespace {

class Peers : public Conformance {
 protected:
  [[nodiscard]] std::int32_t devices_needed() const override { return 2; }

  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped()) {
      return;
    }
    const bool are_peers =
        must(driver().device_can_access_peer({.device = first_device, .peer = second_device})) &&
        must(driver().device_can_access_peer({.device = second_device, .peer = first_device}));
    if (!are_peers) {
      GTEST_SKIP() << "devices 0 and 1 are no peers here";
    }
    range_ = std::make_unique<Reservation>(driver(), unit() * 2);
    begin_ = range_->begin();
    memory_ = std::make_unique<Memory>(driver(), unit(),
                                       AllocationProperties{.location = on_device(second_device)});
    range_->map(begin_, unit(), memory_->handle());
    second_context_ = must(driver().device_primary_ctx_retain(second_device));
  }
  void TearDown() override {
    range_.reset();
    memory_.reset();
    if (!second_context_.is_null()) {
      EXPECT_THAT(driver().device_primary_ctx_release(second_device), is_ok());
    }
    Conformance::TearDown();
  }
  void use_second() { EXPECT_THAT(driver().ctx_set_current(second_context_), is_ok()); }
  void use_first() { EXPECT_THAT(driver().ctx_set_current(primary()), is_ok()); }

  DeviceAddress begin_;
  ContextHandle second_context_;
  std::unique_ptr<Reservation> range_;

 private:
  std::unique_ptr<Memory> memory_;
};

TEST_P(Peers, AccessIsEachDevicesOwn) {
  EXPECT_THAT(set_access(begin_, unit(), AccessFlags::read_write, second_device), is_ok());
  EXPECT_THAT(access(begin_, first_device), is_ok_and_holds(AccessFlags::none));
  EXPECT_THAT(access(begin_, second_device), is_ok_and_holds(AccessFlags::read_write));
  if (features().copies_check_access) {
    EXPECT_THAT(fill(begin_, 16_B, 3), fails_with(ErrorCode::invalid_value));
  }
  use_second();
  EXPECT_THAT(fill(begin_, 16_B, 3), is_ok());
  expect_byte(begin_, 3);
  use_first();
}

TEST_P(Peers, APeerNeedsNoAccessOfTheOwner) {
  EXPECT_THAT(set_access(begin_, unit(), AccessFlags::read_write, first_device), is_ok());
  EXPECT_THAT(access(begin_, second_device), is_ok_and_holds(AccessFlags::none));
  EXPECT_THAT(fill(begin_, 16_B, 3), is_ok());
  EXPECT_THAT(launch_write(begin_, 7), is_ok());
  EXPECT_THAT(driver().ctx_synchronize(), is_ok());
  expect_byte(begin_, 7);
  expect_byte(begin_ + 1_B, 3);
}

TEST_P(Peers, BothSeeTheSameBytes) {
  const std::array both = {
      AccessDescriptor{.location = on_device(first_device), .flags = AccessFlags::read},
      AccessDescriptor{.location = on_device(second_device), .flags = AccessFlags::read_write}};
  EXPECT_THAT(driver().mem_set_access({.address = begin_, .size = unit(), .descriptors = both}),
              is_ok());
  EXPECT_THAT(attribute(PointerAttribute::access_flags, begin_), is_ok_and_holds(1U));
  use_second();
  EXPECT_THAT(attribute(PointerAttribute::access_flags, begin_), is_ok_and_holds(3U));
  EXPECT_THAT(fill(begin_, 16_B, 44), is_ok());
  use_first();
  expect_byte(begin_, 44);
  EXPECT_THAT(attribute(PointerAttribute::device_ordinal, begin_), is_ok_and_holds(1U));
}

TEST_P(Peers, MemoryIsChargedToItsDevice) {
  use_second();
  const Bytes second_free = free_memory();
  use_first();
  const Bytes first_free = free_memory();
  const Memory more(driver(), unit(), {.location = on_device(second_device)});
  EXPECT_EQ(free_memory(), first_free);
  use_second();
  EXPECT_EQ(free_memory(), second_free - unit());
  use_first();
}

TEST_P(Peers, RangesMayMixDevices) {
  const Memory own(driver(), unit());
  range_->map(begin_ + unit(), unit(), own.handle());
  EXPECT_THAT(set_access(begin_, unit() * 2), is_ok());
  EXPECT_THAT(fill(begin_, unit() * 2, 5), is_ok());
  expect_byte(begin_ + unit() - 1_B, 5);
  expect_byte(begin_ + unit(), 5);
  EXPECT_THAT(driver().memcpy_dtod({.destination = begin_, .source = begin_ + unit(), .size = 8_B}),
              is_ok());
  EXPECT_THAT(driver().ctx_synchronize(), is_ok());
  EXPECT_THAT(attribute(PointerAttribute::device_ordinal, begin_ + unit()), is_ok_and_holds(0U));
  EXPECT_THAT(range_->unmap(begin_ + unit(), unit()), is_ok());
}

TEST_P(Peers, EnablingGrantsNoMappings) {
  EXPECT_THAT(driver().ctx_enable_peer_access({.peer = second_context_}), is_ok());
  EXPECT_THAT(access(begin_, first_device), is_ok_and_holds(AccessFlags::none));
  EXPECT_THAT(driver().ctx_enable_peer_access({.peer = second_context_}),
              fails_with(ErrorCode::peer_access_already_enabled));
}

TEST_P(Peers, EnablingRefusesBadRequests) {
  EXPECT_THAT(driver().ctx_enable_peer_access({.peer = second_context_, .flags = 1}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver().ctx_enable_peer_access({.peer = primary()}),
              fails_with(ErrorCode::peer_access_unsupported));
  EXPECT_THAT(driver().ctx_enable_peer_access({.peer = ContextHandle()}),
              fails_with(ErrorCode::invalid_context));
}

TEST_P(Peers, EnablingGivesMemAllocs) {
  use_second();
  const DeviceAddress theirs = must(driver().mem_alloc(Bytes(4096)));
  EXPECT_THAT(put(theirs, 12), is_ok());
  use_first();
  EXPECT_THAT(driver().ctx_enable_peer_access({.peer = second_context_}), is_ok());
  EXPECT_THAT(launch_write(theirs + 1_B, 13), is_ok());
  EXPECT_THAT(driver().ctx_synchronize(), is_ok());
  expect_byte(theirs, 12);
  expect_byte(theirs + 1_B, 13);
  use_second();
  EXPECT_THAT(driver().mem_free(theirs), is_ok());
  use_first();
}

TEST_P(Peers, CopiesNeedNoPeerAccessToMemAllocs) {
  use_second();
  const DeviceAddress theirs = must(driver().mem_alloc(Bytes(4096)));
  EXPECT_THAT(put(theirs, 12), is_ok());
  use_first();
  const DeviceAddress ours = must(driver().mem_alloc(Bytes(4096)));
  EXPECT_THAT(driver().memcpy_dtod({.destination = ours, .source = theirs, .size = 1_B}), is_ok());
  EXPECT_THAT(driver().ctx_synchronize(), is_ok());
  expect_byte(ours, 12);
  EXPECT_THAT(driver().mem_free(ours), is_ok());
  use_second();
  EXPECT_THAT(driver().mem_free(theirs), is_ok());
  use_first();
}

INSTANTIATE_TEST_SUITE_P(All, Peers, testing::ValuesIn(backends_of_books()), name_of);

}  // namespace
}  // namespace tessera::conformance
