// Life cycle and devices.
#include "conformance/every_call.h"
#include "conformance/suite.h"

namespace tessera::conformance {
namespace {

class BeforeInit : public FreshMachine {};
class System : public Conformance {};

TEST_P(BeforeInit, TellsItsVersion) {
  isolated(
      [this] { EXPECT_THAT(driver().driver_get_version(), is_ok_and_holds(testing::Ge(9000))); });
}

TEST_P(BeforeInit, RefusesEveryOtherCall) {
  isolated([this] {
    EXPECT_THAT(calls_that_differ(driver(), Need::init, ErrorCode::not_initialized),
                testing::IsEmpty());
    EXPECT_THAT(calls_that_differ(driver(), Need::context, ErrorCode::not_initialized),
                testing::IsEmpty());
  });
}

TEST_P(BeforeInit, AFailedInitIsNone) {
  isolated([this] {
    EXPECT_THAT(driver().init(1), fails_with(ErrorCode::invalid_value));
    EXPECT_THAT(driver().device_get_count(), fails_with(ErrorCode::not_initialized));
    EXPECT_THAT(driver().init(0), is_ok());
    EXPECT_THAT(driver().device_get_count(), is_ok());
  });
}

TEST_P(System, InitAgainIsHarmless) {
  const Memory memory(driver(), unit());
  EXPECT_THAT(driver().init(0), is_ok());
  EXPECT_THAT(driver().ctx_get_current(), is_ok_and_holds(primary()));
  EXPECT_THAT(driver().mem_get_allocation_properties_from_handle({.handle = memory.handle()}),
              is_ok());
}

TEST_P(System, DescribesItsDevices) {
  ASSERT_GE(device_count(), 1);
  for (std::int32_t i = 0; i < device_count(); ++i) {
    const DeviceOrdinal device(i);
    EXPECT_THAT(driver().device_get_name(device),
                is_ok_and_holds(testing::Not(testing::IsEmpty())));
    EXPECT_THAT(driver().device_total_mem(device), is_ok_and_holds(testing::Gt(unit())));
    constexpr std::int32_t virtual_memory_supported = 102;
    EXPECT_THAT(
        driver().device_get_attribute({.attribute = virtual_memory_supported, .device = device}),
        is_ok_and_holds(1));
    EXPECT_THAT(driver().device_can_access_peer({.device = device, .peer = device}),
                is_ok_and_holds(false));
  }
}

TEST_P(System, RefusesUnknownDeviceAttributes) {
  for (const std::int32_t attribute : {0, -1, 100'000}) {
    EXPECT_THAT(driver().device_get_attribute({.attribute = attribute, .device = first_device}),
                fails_with(ErrorCode::invalid_value))
        << attribute;
  }
}

TEST_P(System, RefusesDevicesThatAreNotThere) {
  for (const std::int32_t ordinal : {device_count(), no_such_ordinal, -1}) {
    SCOPED_TRACE(ordinal);
    const DeviceOrdinal device(ordinal);
    const auto is_refused = fails_with(ErrorCode::invalid_device);
    EXPECT_THAT(driver().device_get_name(device), is_refused);
    EXPECT_THAT(driver().device_total_mem(device), is_refused);
    EXPECT_THAT(driver().device_get_attribute({.attribute = 102, .device = device}), is_refused);
    EXPECT_THAT(driver().device_can_access_peer({.device = first_device, .peer = device}),
                is_refused);
    EXPECT_THAT(driver().device_can_access_peer({.device = device, .peer = first_device}),
                is_refused);
    EXPECT_THAT(driver().device_primary_ctx_retain(device), is_refused);
    EXPECT_THAT(driver().device_primary_ctx_release(device), is_refused);
    EXPECT_THAT(driver().device_primary_ctx_reset(device), is_refused);
    EXPECT_THAT(driver().ctx_create({.device = device}), is_refused);
  }
}

INSTANTIATE_TEST_SUITE_P(All, BeforeInit, testing::ValuesIn(backends_of_books()), name_of);
INSTANTIATE_TEST_SUITE_P(All, System, testing::ValuesIn(backends_of_books()), name_of);

}  // namespace
}  // namespace tessera::conformance
