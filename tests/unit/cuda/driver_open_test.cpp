// Opening a driver library, well and badly.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "fake_library.h"
#include "tessera/cuda/cuda_driver.h"

namespace tessera::cuda {
namespace {

TEST(CudaDriverOpen, SaysThatThereIsNoDriver) {
  if (void* libcuda = dlopen(default_library, RTLD_NOW | RTLD_LOCAL); libcuda != nullptr) {
    GTEST_SKIP() << "this machine has " << default_library;
  }
  const auto driver = CudaDriver::open();
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, ErrorCode::no_device);
  EXPECT_EQ(
      to_string(driver.error()),
      "tessera: NO_DEVICE (100) from the library: libcuda.so.1 could not be opened: no NVIDIA "
      "driver here");
}

TEST(CudaDriverOpen, SaysThatALibraryIsMissing) {
  const auto driver = CudaDriver::open_library("/nowhere/libcuda.so");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, ErrorCode::no_device);
  EXPECT_EQ(driver.error().reason, Reason::driver_library_not_opened);
}

TEST(CudaDriverOpen, RefusesALibraryThatIsNoDriver) {
  const auto driver = CudaDriver::open_library("libm.so.6");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, ErrorCode::no_device);
  EXPECT_EQ(driver.error().reason, Reason::not_a_driver_library);
}

TEST(CudaDriverOpen, CallsNothing) {
  const FakeLibrary fake;
  const auto driver = fake.open();
  EXPECT_EQ(fake.take_log(), "");
}

// Drivers before CUDA 11.3 have no cuGetProcAddress: their exports count.
TEST(CudaDriverOpen, FallsBackOnExportedNames) {
  const FakeLibrary fake;
  fake.break_lookup();
  const auto driver = fake.open();
  EXPECT_TRUE(driver->init(0));
  const auto address = driver->mem_alloc(Bytes(4096));
  ASSERT_TRUE(address);
  EXPECT_EQ(*address, DeviceAddress(7001));
  EXPECT_EQ(fake.take_log(), "cuInit(0)\ncuMemAlloc(out, 4096)\n");
  const Status released = driver->mem_release(AllocationHandle(1));
  ASSERT_FALSE(released);
  EXPECT_EQ(released.error().code, ErrorCode::not_supported);
  EXPECT_EQ(released.error().reason, Reason::entry_point_missing);
}

}  // namespace
}  // namespace tessera::cuda
