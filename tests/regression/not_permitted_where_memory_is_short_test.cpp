// Memory of a handle type that is not permitted was refused so, however little memory there was;
// the driver takes the memory first.
#include <gtest/gtest.h>

#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

TEST(NotPermittedWhereMemoryIsShort, IsOutOfMemory) {
  SimMachine machine("h200");
  const auto create_fabric = [&](Bytes size) {
    return machine->mem_create(
        {.size = size, .properties = {.requested_handle_types = HandleTypes::fabric}});
  };
  const Bytes before = machine.free_memory();
  EXPECT_THAT(create_fabric(60_GiB), fails_with(ErrorCode::not_permitted));
  EXPECT_EQ(machine.free_memory(), before);
  must(machine->mem_create({.size = 100_GiB}));
  EXPECT_THAT(create_fabric(60_GiB), fails_with(ErrorCode::out_of_memory));
  EXPECT_THAT(create_fabric(machine.unit()), fails_with(ErrorCode::not_permitted));
}

}  // namespace
}  // namespace tessera::sim
