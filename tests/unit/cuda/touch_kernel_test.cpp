// launch_touch loads its kernel once a context, and again when the context was not the same.
#include <string>

#include <gtest/gtest.h>

#include "fake_library.h"
#include "tessera/cuda/cuda_driver.h"

namespace tessera::cuda {
namespace {

constexpr ContextHandle context{50};
constexpr LaunchTouchRequest touch = {.address = DeviceAddress(4096), .touch = Touch::read};

class TouchKernel : public testing::Test {
 protected:
  TouchKernel() : driver_(fake_.open()) { make_current(context, 1, 0); }

  void make_current(ContextHandle current, std::uint64_t id, int device) const {
    fake_.answer("cuCtxGetCurrent", current.value());
    fake_.answer("cuCtxGetId", id);
    fake_.answer("cuCtxGetDevice", static_cast<std::uint64_t>(device));
    fake_.answer("cuDeviceGet", static_cast<std::uint64_t>(device));
  }

  // Launches, and says whether the kernel was loaded for it.
  [[nodiscard]] bool launch_loads() const {
    static_cast<void>(fake_.take_log());
    EXPECT_TRUE(driver_->launch_touch(touch));
    const std::string log = fake_.take_log();
    EXPECT_NE(log.find("cuLaunchKernel"), std::string::npos);
    return log.find("cuModuleLoadData") != std::string::npos;
  }

  FakeLibrary fake_;
  std::unique_ptr<CudaDriver> driver_;
};

TEST_F(TouchKernel, IsLoadedOnceAContext) {
  EXPECT_TRUE(launch_loads());
  EXPECT_FALSE(launch_loads());
  make_current(ContextHandle(51), 2, 0);
  EXPECT_TRUE(launch_loads());
  make_current(context, 1, 0);
  EXPECT_FALSE(launch_loads());
}

TEST_F(TouchKernel, IsLoadedAgainWhenAnotherContextHasTheAddress) {
  EXPECT_TRUE(launch_loads());
  make_current(context, 2, 0);
  EXPECT_TRUE(launch_loads());
}

TEST_F(TouchKernel, IsForgottenWithADestroyedContext) {
  fake_.hide("cuCtxGetId");  // as in drivers before CUDA 12: only the address tells contexts apart
  driver_ = fake_.open();
  EXPECT_TRUE(launch_loads());
  EXPECT_FALSE(launch_loads());
  ASSERT_TRUE(driver_->ctx_destroy(context));
  EXPECT_TRUE(launch_loads());
}

TEST_F(TouchKernel, IsForgottenWithAResetContext) {
  EXPECT_TRUE(launch_loads());
  ASSERT_TRUE(driver_->device_primary_ctx_reset(DeviceOrdinal(0)));
  EXPECT_TRUE(launch_loads());
  fake_.answer("cuDeviceGet", 1);
  ASSERT_TRUE(driver_->device_primary_ctx_reset(DeviceOrdinal(1)));
  EXPECT_FALSE(launch_loads());
}

TEST_F(TouchKernel, IsForgottenWithTheLastReleaseOnly) {
  EXPECT_TRUE(launch_loads());
  fake_.answer("cuDevicePrimaryCtxGetState", 1);
  ASSERT_TRUE(driver_->device_primary_ctx_release(DeviceOrdinal(0)));
  EXPECT_FALSE(launch_loads());
  fake_.answer("cuDevicePrimaryCtxGetState", 0);
  ASSERT_TRUE(driver_->device_primary_ctx_release(DeviceOrdinal(0)));
  EXPECT_TRUE(launch_loads());
}

TEST_F(TouchKernel, NeedsAContext) {
  make_current(ContextHandle(), 0, 0);
  const Status launched = driver_->launch_touch(touch);
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().code, ErrorCode::invalid_context);
  EXPECT_EQ(launched.error().call, Call::launch_touch);
}

TEST_F(TouchKernel, IsNotLaunchedForWhatIsNeitherReadNorWrite) {
  const Status launched =
      driver_->launch_touch({.address = DeviceAddress(64), .touch = static_cast<Touch>(11)});
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().code, ErrorCode::invalid_value);
  EXPECT_EQ(launched.error().values[0], 11U);
}

// Whatever refuses on the way, the answer is that of launch_touch.
TEST_F(TouchKernel, ReportsEachStep) {
  for (const char* step : {"cuCtxGetCurrent", "cuCtxGetId", "cuCtxGetDevice", "cuModuleLoadData",
                           "cuModuleGetFunction", "cuLaunchKernel"}) {
    fake_.reset();
    driver_ = fake_.open();
    fake_.fail(step, 700);
    const Status launched = driver_->launch_touch(touch);
    ASSERT_FALSE(launched) << step;
    EXPECT_EQ(launched.error().code, ErrorCode::illegal_address) << step;
    EXPECT_EQ(launched.error().call, Call::launch_touch) << step;
  }
}

}  // namespace
}  // namespace tessera::cuda
