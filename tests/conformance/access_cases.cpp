// Who may do what with a mapping.
#include <memory>

#include "conformance/suite.h"

namespace tessera::conformance {
namespace {

class Access : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (!IsSkipped()) {
      range_ = std::make_unique<Reservation>(driver(), unit() * 4);
      memory_ = std::make_unique<Memory>(driver(), unit());
      begin_ = range_->begin();
      range_->map(begin_, unit(), memory_->handle());
    }
  }
  void TearDown() override {
    range_.reset();
    memory_.reset();
    Conformance::TearDown();
  }
  Status set(std::span<const AccessDescriptor> descriptors) {
    return driver().mem_set_access({.address = begin_, .size = unit(), .descriptors = descriptors});
  }
  [[nodiscard]] Reservation& range() { return *range_; }

  static constexpr Location device = on_device(first_device);
  DeviceAddress begin_;

 private:
  std::unique_ptr<Reservation> range_;
  std::unique_ptr<Memory> memory_;
};

TEST_P(Access, IsNobodysAtFirst) {
  for (std::int32_t i = 0; i < device_count(); ++i) {
    EXPECT_THAT(access(begin_, DeviceOrdinal(i)), is_ok_and_holds(AccessFlags::none));
  }
}

TEST_P(Access, IsWhatWasSetLast) {
  for (const AccessFlags flags : {AccessFlags::read_write, AccessFlags::read, AccessFlags::none,
                                  AccessFlags::read, AccessFlags::read_write}) {
    EXPECT_THAT(set_access(begin_, unit(), flags), is_ok());
    EXPECT_THAT(access(begin_), is_ok_and_holds(flags));
    EXPECT_THAT(access(begin_ + unit() - 1_B), is_ok_and_holds(flags));
  }
}

TEST_P(Access, WritingTakesMoreThanReading) {
  ASSERT_THAT(set_access(begin_, unit()), is_ok());
  ASSERT_THAT(put(begin_, 3), is_ok());
  ASSERT_THAT(set_access(begin_, unit(), AccessFlags::read), is_ok());
  expect_byte(begin_, 3);
  if (features().copies_check_access) {
    EXPECT_THAT(put(begin_, 4), fails_with(ErrorCode::invalid_value));
    EXPECT_THAT(fill(begin_, 16_B, 4), fails_with(ErrorCode::invalid_value));
    expect_byte(begin_, 3);
  }
  const DeviceAddress result = must(driver().mem_alloc(Bytes(4096)));
  EXPECT_THAT(driver().launch_touch({.address = begin_, .touch = Touch::read, .result = result}),
              is_ok());
  EXPECT_THAT(driver().ctx_synchronize(), is_ok());
  expect_byte(result, 3);
  EXPECT_THAT(driver().mem_free(result), is_ok());
}

TEST_P(Access, CopiesWithoutItAreRefused) {
  if (!features().copies_check_access) {
    return;  // they fault: Faults.ACopyWithoutAccess
  }
  EXPECT_THAT(put(begin_, 1), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(get(begin_), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(fill(begin_, 16_B, 1), fails_with(ErrorCode::invalid_value));
  const DeviceAddress other = must(driver().mem_alloc(Bytes(4096)));
  EXPECT_THAT(driver().memcpy_dtod({.destination = begin_, .source = other, .size = 16_B}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver().memcpy_dtod({.destination = other, .source = begin_, .size = 16_B}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver().mem_free(other), is_ok());
}

TEST_P(Access, RefusesUnknownFlags) {
  ASSERT_THAT(set_access(begin_, unit(), AccessFlags::read), is_ok());
  for (const std::uint32_t flags : {2U, 4U, 7U, 0xffff'ffffU}) {
    EXPECT_THAT(set_access(begin_, unit(), static_cast<AccessFlags>(flags)),
                fails_with(ErrorCode::invalid_value))
        << flags;
  }
  EXPECT_THAT(access(begin_), is_ok_and_holds(AccessFlags::read));
}

TEST_P(Access, RefusesUnknownLocations) {
  for (const Location location : {Location{.type = LocationType::device, .id = device_count()},
                                  Location{.type = LocationType::device, .id = -1},
                                  Location{.type = static_cast<LocationType>(7), .id = 0}}) {
    EXPECT_THAT(set_access_of(begin_, unit(), location, AccessFlags::read_write),
                fails_with(ErrorCode::invalid_value));
    EXPECT_THAT(driver().mem_get_access({.address = begin_, .location = location}),
                fails_with(ErrorCode::invalid_device));
  }
}

TEST_P(Access, OneBadDescriptorChangesNothing) {
  const std::array descriptors = {
      AccessDescriptor{.location = device, .flags = AccessFlags::read_write},
      AccessDescriptor{.location = on_device(DeviceOrdinal(no_such_ordinal)),
                       .flags = AccessFlags::read_write}};
  EXPECT_THAT(set(descriptors), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(access(begin_), is_ok_and_holds(AccessFlags::none));
}

TEST_P(Access, TheLastDescriptorOfADeviceWins) {
  const AccessDescriptor read{.location = device, .flags = AccessFlags::read};
  const AccessDescriptor write{.location = device, .flags = AccessFlags::read_write};
  EXPECT_THAT(set(std::array{read, write}), is_ok());
  EXPECT_THAT(access(begin_), is_ok_and_holds(AccessFlags::read_write));
  EXPECT_THAT(set(std::array{write, read}), is_ok());
  EXPECT_THAT(access(begin_), is_ok_and_holds(AccessFlags::read));
}

TEST_P(Access, RefusesNoDescriptorsAndNoSize) {
  EXPECT_THAT(set({}), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(set_access(begin_, Bytes(0)), fails_with(ErrorCode::invalid_value));
}

TEST_P(Access, IsSetForWholeMappings) {
  const Memory large(driver(), unit() * 2);
  range().map(begin_ + unit(), unit() * 2, large.handle());
  const auto is_refused = fails_with(ErrorCode::invalid_value);
  EXPECT_THAT(set_access(begin_, unit() * 2), is_refused);
  EXPECT_THAT(set_access(begin_ + unit() * 2, unit()), is_refused);
  EXPECT_THAT(set_access(begin_ + unit(), unit() * 2 - 1_B), is_refused);
  EXPECT_THAT(access(begin_), is_ok_and_holds(AccessFlags::none));
  EXPECT_THAT(access(begin_ + unit() * 2), is_ok_and_holds(AccessFlags::none));
  EXPECT_THAT(set_access(begin_, unit() * 3), is_ok());
  EXPECT_THAT(access(begin_), is_ok_and_holds(AccessFlags::read_write));
  EXPECT_THAT(access(begin_ + unit() * 3 - 1_B), is_ok_and_holds(AccessFlags::read_write));
  expect_usable(begin_, unit() * 3);
  EXPECT_THAT(range().unmap(begin_ + unit(), unit() * 2), is_ok());
}

TEST_P(Access, NeedsAMapping) {
  EXPECT_THAT(set_access(begin_ + unit(), unit()), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(set_access(begin_, unit() * 2), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(set_access(DeviceAddress(), unit()), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(access(begin_ + unit()), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(access(DeviceAddress()), fails_with(ErrorCode::invalid_value));
}

TEST_P(Access, RefusesNullPointers) {
  for (const NullPointers null : {NullPointers::output, NullPointers::properties}) {
    EXPECT_THAT(driver().mem_get_access({.address = begin_, .null_pointers = null}),
                fails_with(ErrorCode::invalid_value));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Access, testing::ValuesIn(backends_of_books()), name_of);

}  // namespace
}  // namespace tessera::conformance
