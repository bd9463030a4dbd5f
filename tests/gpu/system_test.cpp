#include "gpu_test.h"

namespace tessera::gpu {
namespace {

constexpr std::int32_t virtual_memory_supported = 102;
constexpr std::int32_t no_such_attribute = 1'000'000;

using System = GpuTest;

TEST_F(System, DescribesItself) {
  EXPECT_GE(must(driver().driver_get_version()), 10020);
  EXPECT_EQ(must(driver().device_get_count()), machine().devices);
  EXPECT_NE(must(driver().device_get_name(device)), "");
  EXPECT_GT(must(driver().device_total_mem(device)), Bytes(0));
  EXPECT_EQ(must(driver().device_get_attribute(
                {.attribute = virtual_memory_supported, .device = device})),
            1);
  RecordProperty("device", must(driver().device_get_name(device)));
}

TEST_F(System, RefusesWhatDoesNotExist) {
  const DeviceOrdinal missing(99);
  EXPECT_EQ(answer(driver().device_get_name(missing)), "INVALID_DEVICE");
  EXPECT_EQ(answer(driver().device_total_mem(missing)), "INVALID_DEVICE");
  EXPECT_EQ(answer(driver().device_get_attribute(
                {.attribute = virtual_memory_supported, .device = missing})),
            "INVALID_DEVICE");
  EXPECT_EQ(
      answer(driver().device_get_attribute({.attribute = no_such_attribute, .device = device})),
      "INVALID_VALUE");
  EXPECT_EQ(answer(driver().device_can_access_peer({.device = device, .peer = missing})),
            "INVALID_DEVICE");
}

TEST_F(System, IsNotItsOwnPeer) {
  EXPECT_FALSE(must(driver().device_can_access_peer({.device = device, .peer = device})));
}

TEST_F(System, StartsTwice) { EXPECT_EQ(answer(driver().init(0)), "OK"); }

TEST_F(System, KeepsTheDriversErrorAsItIs) {
  const auto count = driver().device_get_name(DeviceOrdinal(-1));
  ASSERT_FALSE(count);
  EXPECT_EQ(count.error().origin, Origin::driver);
  EXPECT_EQ(count.error().call, Call::device_get_name);
}

}  // namespace
}  // namespace tessera::gpu
