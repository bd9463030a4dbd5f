// Two processes on a real GPU.
#include "gpu_test.h"
#include "support/sharing_peer.h"

namespace tessera::gpu {
namespace {

class SharingOnGpu : public GpuTest, public testing::WithParamInterface<test::SharingCase> {};

TEST_P(SharingOnGpu, Case) { GetParam().run(driver()); }

INSTANTIATE_TEST_SUITE_P(OnGpu, SharingOnGpu, testing::ValuesIn(test::sharing_cases()),
                         [](const auto& test) { return std::string(test.param.name); });

// The other process.
TEST(SharingPeer, DISABLED_Serves) {
  ASSERT_NE(machine().driver, nullptr) << machine().no_gpu;
  ASSERT_TRUE(test::serve_sharing_peer(*machine().driver)) << "run by SharingOnGpu only";
}

}  // namespace
}  // namespace tessera::gpu
