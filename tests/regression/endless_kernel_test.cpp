// A kernel's duration near the largest number wrapped around, and it took no time.
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

TEST(EndlessKernel, IsNotDoneAtOnce) {
  SimMachine machine("h200");
  Driver& driver = machine.driver();
  const DeviceAddress memory = must(driver.mem_alloc(8_B));
  const EventHandle event = must(driver.event_create(EventFlags::none));
  must(driver.launch_touch({.address = memory,
                            .touch = Touch::write,
                            .duration_ns = std::numeric_limits<std::uint64_t>::max()}));
  must(driver.event_record({.event = event}));
  EXPECT_THAT(driver.event_query(event), fails_with(ErrorCode::not_ready));
}

}  // namespace
}  // namespace tessera::sim
