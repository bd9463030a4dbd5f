#include "tessera/layers/counting_driver.h"

#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "support/forwarding.h"
#include "support/matchers.h"

namespace tessera {
namespace {

using test::MockDriver;
using testing::NiceMock;
using testing::StrictMock;

TEST(CountingDriver, ForwardsEachCallOnceUnchangedAndCountsIt) {
  StrictMock<MockDriver> target;
  CountingDriver counting(&target);
  test::check_every_method(target, counting);
  CallCounts each_twice;
#define TESSERA_CALL(method, cuda_name)                         \
  each_twice.calls[static_cast<std::size_t>(Call::method)] = 2; \
  each_twice.failures[static_cast<std::size_t>(Call::method)] = 1;
#include "tessera/calls.def"
#undef TESSERA_CALL
  EXPECT_EQ(counting.counts(), each_twice);
  EXPECT_EQ(counting.counts().total(), 2 * (call_count - 1));
  EXPECT_EQ(counting.counts().total_failures(), call_count - 1);
}

TEST(CountingDriver, StartsAnewAfterReset) {
  NiceMock<MockDriver> target;
  CountingDriver counting(&target);
  EXPECT_FALSE(counting.mem_alloc(Bytes(5)));
  EXPECT_EQ(counting.counts().failures_of(Call::mem_alloc), 1U);
  counting.reset();
  EXPECT_EQ(counting.counts(), CallCounts());
}

TEST(CountingDriver, PrintsWhatWasCalled) {
  NiceMock<MockDriver> target;
  CountingDriver counting(&target);
  EXPECT_CALL(target, mem_free).WillRepeatedly(testing::Return(Status()));
  EXPECT_THAT(counting.mem_free(DeviceAddress(1)), test::is_ok());
  EXPECT_THAT(counting.mem_free(DeviceAddress(2)), test::is_ok());
  EXPECT_FALSE(counting.mem_alloc(Bytes(5)));
  EXPECT_EQ(to_string(counting.counts()), "mem_alloc: 1, 1 failed\nmem_free: 2\n");
}

TEST(CountingDriver, CountsTheCallsOfAllThreads) {
  NiceMock<MockDriver> target;
  CountingDriver counting(&target);
  constexpr int threads_count = 4;
  constexpr int calls_each = 200;
  std::vector<std::thread> threads;
  for (int i = 0; i < threads_count; ++i) {
    threads.emplace_back([&counting] {
      for (int call = 0; call < calls_each; ++call) {
        EXPECT_FALSE(counting.ctx_synchronize());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(counting.counts().of(Call::ctx_synchronize), threads_count * calls_each);
  EXPECT_EQ(counting.counts().failures_of(Call::ctx_synchronize), threads_count * calls_each);
}

}  // namespace
}  // namespace tessera
