// A machine of more devices than its profile's peers matrix has rows was made, and failed later.
#include <gtest/gtest.h>

#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

TEST(MoreDevicesThanPeers, AreNoMachine) {
  const Profile& odd = profile_named("odd");
  EXPECT_EQ(check_machine(odd, {.devices = 4}), "");
  EXPECT_EQ(check_machine(odd, {.devices = 5}),
            "5 devices were asked for; profile odd can have 1 to 4, the rows of its peers matrix");
  EXPECT_EQ(check_machine(profile_named("h200"), {.devices = 65}),
            "65 devices were asked for; profile h200 can have 1 to 64");
  EXPECT_NE(check_machine(odd, {.devices = 0}), "");
}

}  // namespace
}  // namespace tessera::sim
