// The validation layer took an injected error for the driver's word on the program: a copy to
// mapped memory that a fault failed was reported as one to where nothing is mapped.
#include <array>
#include <cstddef>

#include <gtest/gtest.h>

#include "support/sim_machine.h"
#include "tessera/layers/driver_stack.h"

namespace tessera::sim {
namespace {

TEST(InjectedAnswer, IsNoFinding) {
  SimMachine machine("h200");
  const DeviceAddress memory = machine.mapped(1);
  for (const Fault& fault : {Fault::each_of(Call::memcpy_htod, ErrorCode::invalid_value),
                             Fault::each_of(Call::memcpy_htod, ErrorCode::not_initialized)}) {
    const DriverStack stack =
        stack_layers(machine.driver(),
                     {.faults = FaultPlan{.faults = {fault}}, .validation = ValidationOptions{}});
    const std::array bytes = {std::byte{1}};
    EXPECT_FALSE(stack.driver().memcpy_htod({.destination = memory, .source = bytes}));
    EXPECT_EQ(stack.validating()->finding_count(), 0U);
  }
}

}  // namespace
}  // namespace tessera::sim
