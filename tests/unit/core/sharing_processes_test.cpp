// Two processes on the simulator, whose exports are real descriptors.
#include "support/sharing_peer.h"
#include "support/sharing_support.h"
#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

class SharingProcesses : public testing::TestWithParam<test::SharingCase> {};

TEST_P(SharingProcesses, Case) {
  const std::size_t descriptors = test::open_descriptors();
  SimMachine machine("h200");
  const Books before = machine->books();
  GetParam().run(machine.driver());
  EXPECT_EQ(machine->books(), before);
  EXPECT_EQ(test::open_descriptors(), descriptors);
}

INSTANTIATE_TEST_SUITE_P(OnSimulator, SharingProcesses, testing::ValuesIn(test::sharing_cases()),
                         [](const auto& test) { return std::string(test.param.name); });

// The other process.
TEST(SharingPeer, DISABLED_Serves) {
  SimMachine machine("h200");
  const Books before = machine->books();
  ASSERT_TRUE(test::serve_sharing_peer(machine.driver())) << "run by SharingProcesses only";
  EXPECT_EQ(machine->books(), before);
}

}  // namespace
}  // namespace tessera::sim
