// The memory of a pool went with contexts, first with any, then with primary ones. It is the
// device's, and outlives them all, while what the pool keeps of freed memory is given back.
#include <gtest/gtest.h>

#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

void start_context(SimDriver& driver) {
  must(driver.ctx_set_current(must(driver.device_primary_ctx_retain(device_0))));
}

TEST(PoolOfGoneContext, GivesFreedMemoryBack) {
  SimDriver driver(profile_named("h200"));
  must(driver.init(0));
  const Bytes before = driver.books().devices[0].free;
  start_context(driver);
  must(driver.mem_free_async({.address = must(driver.mem_alloc_async({.size = 1000_MiB}))}));
  must(driver.device_primary_ctx_release(device_0));
  EXPECT_EQ(driver.books().devices[0].free, before);
}

TEST(PoolOfGoneContext, OutlivesThePrimaryOne) {
  SimDriver driver(profile_named("h200"));
  must(driver.init(0));
  start_context(driver);
  const DeviceAddress memory = must(driver.mem_alloc_async({.size = 1_MiB}));
  must(driver.memset_d8({.destination = memory, .value = 3, .size = 1_KiB}));
  must(driver.device_primary_ctx_reset(device_0));
  must(driver.device_primary_ctx_release(device_0));
  start_context(driver);
  std::byte byte = {};
  must(driver.memcpy_dtoh({.destination = std::span(&byte, 1), .source = memory}));
  EXPECT_EQ(byte, std::byte{3});
  EXPECT_THAT(driver.mem_free(memory), is_ok());
  EXPECT_EQ(driver.check_invariants(), "");
}

TEST(PoolOfGoneContext, OutlivesOneThatWasMade) {
  SimMachine machine("h200");
  const ContextHandle context = must(machine->ctx_create({.device = device_0}));
  const StreamHandle stream = must(machine->stream_create(StreamFlags::blocking));
  const DeviceAddress memory = must(machine->mem_alloc_async({.size = 1_MiB, .stream = stream}));
  must(machine->ctx_destroy(context));
  must(machine->memset_d8({.destination = memory, .value = 3, .size = 1_KiB}));
  EXPECT_THAT(machine.get(memory), is_ok_and_holds(3));
  must(machine->mem_free_async({.address = memory}));
  must(machine->ctx_synchronize());
  EXPECT_EQ(machine->check_invariants(), "");
}

}  // namespace
}  // namespace tessera::sim
