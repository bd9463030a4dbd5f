#include "gpu_test.h"

namespace tessera::gpu {
namespace {

class Peers : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    if (machine().devices < 2) {
      GTEST_SKIP() << "one device only";
    }
    if (!must(driver().device_can_access_peer({.device = device, .peer = peer}))) {
      GTEST_SKIP() << "device 0 cannot access device 1";
    }
  }

  static constexpr DeviceOrdinal peer{1};
};

TEST_F(Peers, ReachEachOthersMappings) {
  const ReservedRange range(driver(), granule());
  const Memory memory(driver(), granule(), {.location = on_device(peer)});
  map(driver(), range.begin(), memory);
  give_access(driver(), range.begin(), granule(), device);
  EXPECT_EQ(must(driver().mem_get_access({.address = range.begin(), .location = on_device(peer)})),
            AccessFlags::none);
  must(driver().launch_touch({.address = range.begin(), .touch = Touch::write, .value = 17}));
  must(driver().ctx_synchronize());
  EXPECT_EQ(byte_at(range.begin()), 17);
}

TEST_F(Peers, ReachEachOthersAllocationsOnceEnabled) {
  const ContextHandle there = must(driver().ctx_create({.device = peer}));
  const DeviceAddress memory = must(driver().mem_alloc(Bytes(4096)));
  const ContextHandle here = must(driver().ctx_create({.device = device}));
  EXPECT_EQ(answer(driver().ctx_enable_peer_access({.peer = there})), "OK");
  EXPECT_EQ(answer(driver().ctx_enable_peer_access({.peer = there})),
            "PEER_ACCESS_ALREADY_ENABLED");
  must(driver().launch_touch({.address = memory, .touch = Touch::write, .value = 18}));
  must(driver().ctx_synchronize());
  EXPECT_EQ(byte_at(memory), 18);
  must(driver().ctx_destroy(here));
  must(driver().mem_free(memory));
  must(driver().ctx_destroy(there));
}

TEST_F(Peers, AreThemselvesRefused) {
  const ContextHandle current = must(driver().ctx_get_current());
  EXPECT_EQ(answer(driver().ctx_enable_peer_access({.peer = current})), "PEER_ACCESS_UNSUPPORTED");
}

}  // namespace
}  // namespace tessera::gpu
