// Null host pointers with a size were followed.
#include <cstddef>
#include <span>

#include <gtest/gtest.h>

#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

TEST(NullHostPointer, IsRefused) {
  SimMachine machine("h200");
  Driver& driver = machine.driver();
  const DeviceAddress memory = must(driver.mem_alloc(16_B));
  std::byte* const null = nullptr;
  const std::span<std::byte> nowhere(null, 16);
  EXPECT_THAT(driver.memcpy_htod({.destination = memory, .source = nowhere}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver.memcpy_dtoh({.destination = nowhere, .source = memory}),
              fails_with(ErrorCode::invalid_value));
  const AccessDescriptor* const no_descriptors = nullptr;
  EXPECT_THAT(driver.mem_set_access(
                  {.address = memory, .size = 2_MiB, .descriptors = std::span(no_descriptors, 2)}),
              fails_with(ErrorCode::invalid_value));
}

}  // namespace
}  // namespace tessera::sim
