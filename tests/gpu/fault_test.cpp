// What a fault and a fork leave behind: each in a process of its own.
#include <cstdio>
#include <cstdlib>

#include <sys/wait.h>
#include <unistd.h>

#include "gpu_test.h"

namespace tessera::gpu {
namespace {

class Faults : public GpuTest {
 protected:
  void SetUp() override {
    // The child starts from scratch: a forked one could not use the driver.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    GpuTest::SetUp();
  }

  // Exits with 0 if all answers are as given, else prints the difference.
  static void expect(const std::string& got, const std::string& wanted) {
    if (got != wanted) {
      std::fprintf(stderr, "got %s, wanted %s\n", got.c_str(), wanted.c_str());
      std::_Exit(1);
    }
  }

  void touch_without_access(Touch touch) const {
    const DeviceAddress address = must(driver().mem_address_reserve({.size = granule()}));
    expect(answer(driver().launch_touch({.address = address, .touch = touch})), "OK");
    expect(answer(driver().ctx_synchronize()), "ILLEGAL_ADDRESS");
    // The context is lost, but virtual memory calls go on.
    expect(answer(driver().mem_get_info()), "ILLEGAL_ADDRESS");
    expect(answer(driver().launch_touch({.address = address, .touch = touch})), "ILLEGAL_ADDRESS");
    const AllocationHandle memory =
        must(driver().mem_create({.size = granule(), .properties = {}}));
    expect(answer(driver().mem_release(memory)), "OK");
    std::_Exit(0);
  }
};

TEST_F(Faults, AReadLosesTheContext) {
  EXPECT_EXIT(touch_without_access(Touch::read), testing::ExitedWithCode(0), "");
}

TEST_F(Faults, AWriteLosesTheContext) {
  EXPECT_EXIT(touch_without_access(Touch::write), testing::ExitedWithCode(0), "");
}

TEST_F(Faults, LoseThePrimaryContextForGood) {
  const auto fault_and_reset = [this] {
    const DeviceAddress address = must(driver().mem_address_reserve({.size = granule()}));
    must(driver().launch_touch({.address = address, .touch = Touch::read}));
    expect(answer(driver().ctx_synchronize()), "ILLEGAL_ADDRESS");
    expect(answer(driver().device_primary_ctx_reset(device)), "OK");
    expect(answer(driver().device_primary_ctx_retain(device)), "ILLEGAL_ADDRESS");
    expect(answer(driver().ctx_synchronize()), "CONTEXT_IS_DESTROYED");
    // Virtual memory goes on.
    expect(answer(driver().mem_address_free({.address = address, .size = granule()})), "OK");
    std::_Exit(0);
  };
  EXPECT_EXIT(fault_and_reset(), testing::ExitedWithCode(0), "");
}

TEST_F(Faults, AForkedChildHasNoDriver) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto reserved = driver().mem_address_reserve({.size = granule()});
    const bool is_refused = !reserved && reserved.error().code == ErrorCode::not_initialized;
    std::_Exit(is_refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace tessera::gpu
