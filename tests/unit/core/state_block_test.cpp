// What a thread keeps for the states of owners to come. (owners/state_memory_test.cpp: through
// owners.)
#include <gtest/gtest.h>

#include "owners/state_memory.h"
#include "support/exhausted_host.h"

namespace tessera::detail {
namespace {

// However often: where one was taken from what is kept there is room for one again.
TEST(StateBlock, IsKeptForTheNextState) {
  if (!test::ExhaustedHost::is_possible) {
    GTEST_SKIP() << "the thread sanitizer brings its own memory";
  }
  for (int i = 0; i < 1000; ++i) {
    keep_state_block(take_state_block());
  }
  void* block = nullptr;
  {
    const test::ExhaustedHost exhausted;
    block = take_state_block();
  }
  EXPECT_NE(block, nullptr);
  keep_state_block(block);
}

}  // namespace
}  // namespace tessera::detail
