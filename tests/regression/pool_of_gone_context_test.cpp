// The memory of a pool stayed taken when the primary context went with allocations in it; and went
// with contexts that were made, which it outlives: "cuCtxDestroy() will not destroy memory
// allocations by cuMemCreate(), cuMemAllocAsync() [...]".
#include <gtest/gtest.h>

#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

TEST(PoolOfGoneContext, GivesItsMemoryBack) {
  SimDriver driver(profile_named("h200"));
  must(driver.init(0));
  const Bytes before = driver.books().devices[0].free;
  must(driver.ctx_set_current(must(driver.device_primary_ctx_retain(device_0))));
  must(driver.mem_alloc_async({.size = 1000_MiB}));
  must(driver.device_primary_ctx_release(device_0));
  EXPECT_EQ(driver.books().devices[0].free, before);
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
