#include "gpu_test.h"

namespace tessera::gpu {
namespace {

using Contexts = GpuTest;

TEST_F(Contexts, CreatedOnesAreCurrentUntilDestroyed) {
  const ContextHandle primary = must(driver().ctx_get_current());
  const ContextHandle created = must(driver().ctx_create({.device = device}));
  EXPECT_NE(created, primary);
  EXPECT_EQ(must(driver().ctx_get_current()), created);
  EXPECT_EQ(answer(driver().ctx_synchronize()), "OK");
  EXPECT_EQ(answer(driver().ctx_destroy(created)), "OK");
  EXPECT_EQ(must(driver().ctx_get_current()), primary);
}

TEST_F(Contexts, NoneIsAContextThatCannotCopy) {
  const ContextHandle primary = must(driver().ctx_get_current());
  must(driver().ctx_set_current(ContextHandle()));
  EXPECT_TRUE(must(driver().ctx_get_current()).is_null());
  EXPECT_EQ(answer(driver().mem_get_info()), "INVALID_CONTEXT");
  EXPECT_EQ(answer(driver().mem_alloc(granule())), "INVALID_CONTEXT");
  EXPECT_EQ(answer(driver().launch_touch({.address = DeviceAddress(1), .touch = Touch::read})),
            "INVALID_CONTEXT");
  must(driver().ctx_set_current(primary));
}

TEST_F(Contexts, HaveLimits) {
  const ContextHandle created = must(driver().ctx_create({.device = device}));
  EXPECT_EQ(
      answer(driver().ctx_set_limit({.limit = ContextLimit::stack_size, .value = Bytes(4096)})),
      "OK");
  EXPECT_GE(must(driver().ctx_get_limit(ContextLimit::stack_size)), Bytes(4096));
  EXPECT_GT(must(driver().ctx_get_limit(ContextLimit::malloc_heap_size)), Bytes(0));
  EXPECT_NE(answer(driver().ctx_get_limit(static_cast<ContextLimit>(999))), "OK");
  must(driver().ctx_destroy(created));
}

TEST_F(Contexts, EachRunsTheKernel) {
  for (std::uint8_t round = 1; round <= 3; ++round) {
    const ContextHandle created = must(driver().ctx_create({.device = device}));
    const DeviceAddress memory = must(driver().mem_alloc(Bytes(4096)));
    must(driver().launch_touch({.address = memory, .touch = Touch::write, .value = round}));
    must(driver().ctx_synchronize());
    EXPECT_EQ(byte_at(memory), round);
    must(driver().mem_free(memory));
    must(driver().ctx_destroy(created));
  }
}

// A reset takes the loaded kernel away from a context whose address stays.
TEST_F(Contexts, RunTheKernelAfterAReset) {
  for (std::uint8_t round = 1; round <= 2; ++round) {
    const DeviceAddress memory = must(driver().mem_alloc(Bytes(4096)));
    must(driver().launch_touch({.address = memory, .touch = Touch::write, .value = round}));
    must(driver().ctx_synchronize());
    EXPECT_EQ(byte_at(memory), round);
    must(driver().device_primary_ctx_reset(device));
    must(driver().ctx_set_current(must(driver().device_primary_ctx_retain(device))));
  }
}

TEST_F(Contexts, LastReleaseEndsThePrimaryContext) {
  for (std::uint8_t round = 1; round <= 2; ++round) {
    const DeviceAddress memory = must(driver().mem_alloc(Bytes(4096)));
    must(driver().launch_touch({.address = memory, .touch = Touch::write, .value = round}));
    must(driver().ctx_synchronize());
    must(driver().ctx_set_current(ContextHandle()));
    must(driver().device_primary_ctx_release(device));
    must(driver().ctx_set_current(must(driver().device_primary_ctx_retain(device))));
  }
}

}  // namespace
}  // namespace tessera::gpu
