#include "tessera/layers/driver_stack.h"

#include <utility>

#include <gmock/gmock.h>

#include "support/forwarding.h"
#include "support/matchers.h"
#include "tessera/layers/ledger_driver.h"

namespace tessera {
namespace {

using test::fails_with;
using test::MockDriver;
using testing::HasSubstr;
using testing::NiceMock;
using testing::StrictMock;

constexpr auto all_layers = [] {
  return LayerOptions{.count = true, .faults = FaultPlan(), .trace = TraceOptions()};
};

TEST(DriverStack, WithoutLayersIsTheDriverItself) {
  NiceMock<MockDriver> base;
  const DriverStack stack = stack_layers(base, {});
  EXPECT_EQ(&stack.driver(), &base);
  EXPECT_EQ(stack.counting(), nullptr);
  EXPECT_EQ(stack.faults(), nullptr);
  EXPECT_EQ(stack.tracing(), nullptr);
  EXPECT_EQ(stack.validating(), nullptr);
}

TEST(DriverStack, ForwardsEachCallThroughAllLayers) {
  StrictMock<MockDriver> base;
  const DriverStack stack = stack_layers(base, all_layers());
  test::check_every_method(base, stack.driver());
  EXPECT_EQ(stack.counting()->counts().total(), 2 * (call_count - 1));
  EXPECT_EQ(stack.faults()->calls(), 2 * (call_count - 1));
}

TEST(LedgerDriver, ForwardsEachCallOnceUnchanged) {
  StrictMock<MockDriver> target;
  LedgerDriver ledger(&target);
  test::check_every_method(target, ledger);
}

// What a free that failed did not free is in the books.
TEST(LedgerDriver, PutsBackWhatWasNotFreed) {
  NiceMock<MockDriver> target;
  LedgerDriver ledger(&target);
  constexpr DeviceAddress address{0x1000};
  ON_CALL(target, mem_alloc).WillByDefault(testing::Return(address));
  ASSERT_TRUE(ledger.mem_alloc(1_KiB));
  EXPECT_FALSE(ledger.mem_free(address));
  EXPECT_THAT(to_string(ledger.ledger().leak_report()), HasSubstr("allocation at 0x1000, 1 KiB"));
  // Nor is it what the call for host memory is for.
  EXPECT_FALSE(ledger.mem_free_host(reinterpret_cast<std::byte*>(address.value())));
  EXPECT_FALSE(ledger.ledger().leak_report().is_empty());
}

TEST(DriverStack, PutsTracingOverFaultsOverCounting) {
  NiceMock<MockDriver> base;
  const DriverStack stack = stack_layers(base, all_layers());
  EXPECT_EQ(&stack.driver(), stack.tracing());
  EXPECT_EQ(&stack.tracing()->target(), stack.faults());
  EXPECT_EQ(&stack.faults()->target(), stack.counting());
  EXPECT_EQ(&stack.counting()->target(), &base);
}

TEST(DriverStack, CountsWhatReachesTheDriverAndTracesWhatTheProgramWasTold) {
  StrictMock<MockDriver> base;
  LayerOptions options = all_layers();
  options.faults->faults = {Fault::each_of(Call::mem_release, ErrorCode::not_ready)};
  const DriverStack stack = stack_layers(base, options);
  EXPECT_THAT(stack.driver().mem_release(AllocationHandle(5)), fails_with(ErrorCode::not_ready));
  EXPECT_EQ(stack.counting()->counts().total(), 0U);
  EXPECT_THAT(stack.tracing()->text(), HasSubstr("release 0x5 => NOT_READY"));
}

TEST(DriverStack, ValidatesOnTop) {
  NiceMock<MockDriver> base;
  LayerOptions options = all_layers();
  options.validation = ValidationOptions{.mode = ValidationMode::refuse};
  const DriverStack stack = stack_layers(base, options);
  EXPECT_EQ(&stack.driver(), stack.validating());
  EXPECT_EQ(&stack.validating()->target(), stack.tracing());
  // What is refused is not made, so it is in no trace.
  EXPECT_FALSE(stack.driver().mem_release(AllocationHandle()));
  EXPECT_EQ(stack.validating()->findings().size(), 1U);
  EXPECT_THAT(stack.tracing()->text(), testing::Not(HasSubstr("release")));
}

TEST(DriverStack, KeepsItsLayersWhenMoved) {
  NiceMock<MockDriver> base;
  DriverStack first = stack_layers(base, {.count = true});
  Driver* const top = &first.driver();
  DriverStack second = std::move(first);
  EXPECT_EQ(&second.driver(), top);
  EXPECT_FALSE(second.driver().ctx_synchronize());
  EXPECT_EQ(second.counting()->counts().of(Call::ctx_synchronize), 1U);
}

}  // namespace
}  // namespace tessera
