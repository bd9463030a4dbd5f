// Contexts, and what needs one.
#include <thread>

#include "conformance/every_call.h"
#include "conformance/suite.h"

namespace tessera::conformance {
namespace {

class Contexts : public Conformance {};

TEST_P(Contexts, PrimaryIsOneADevice) {
  EXPECT_THAT(driver().device_primary_ctx_retain(first_device), is_ok_and_holds(primary()));
  EXPECT_THAT(driver().device_primary_ctx_release(first_device), is_ok());
  EXPECT_THAT(driver().ctx_get_current(), is_ok_and_holds(primary()));
  EXPECT_THAT(driver().ctx_synchronize(), is_ok());
}

TEST_P(Contexts, PrimaryGoesWithItsLastReference) {
  EXPECT_THAT(driver().device_primary_ctx_release(first_device), is_ok());
  EXPECT_THAT(driver().device_primary_ctx_release(first_device),
              fails_with(ErrorCode::invalid_context));
  EXPECT_THAT(driver().ctx_synchronize(), fails_with(ErrorCode::context_is_destroyed));
  const auto again = driver().device_primary_ctx_retain(first_device);
  ASSERT_THAT(again, is_ok());
  EXPECT_THAT(driver().ctx_set_current(*again), is_ok());
  EXPECT_THAT(driver().ctx_synchronize(), is_ok());
}

TEST_P(Contexts, CreatedOnesAreCurrentUntilDestroyed) {
  const auto outer = driver().ctx_create({.device = first_device});
  ASSERT_THAT(outer, is_ok());
  EXPECT_NE(*outer, primary());
  EXPECT_THAT(driver().ctx_get_current(), is_ok_and_holds(*outer));
  const auto inner = driver().ctx_create({.device = first_device});
  ASSERT_THAT(inner, is_ok());
  EXPECT_THAT(driver().ctx_get_current(), is_ok_and_holds(*inner));
  EXPECT_THAT(driver().ctx_destroy(*inner), is_ok());
  EXPECT_THAT(driver().ctx_get_current(), is_ok_and_holds(*outer));
  EXPECT_THAT(driver().ctx_destroy(*outer), is_ok());
  EXPECT_THAT(driver().ctx_get_current(), is_ok_and_holds(primary()));
}

TEST_P(Contexts, AreDestroyedOnce) {
  const ContextHandle context = must(driver().ctx_create({.device = first_device}));
  EXPECT_THAT(driver().ctx_destroy(context), is_ok());
  // A real driver looks into memory that it freed: one run said this, another that.
  EXPECT_THAT(driver().ctx_destroy(context),
              testing::AnyOf(fails_with(ErrorCode::context_is_destroyed),
                             fails_with(ErrorCode::invalid_context)));
  EXPECT_THAT(driver().ctx_destroy(ContextHandle()), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver().ctx_destroy(primary()), fails_with(ErrorCode::invalid_context));
}

TEST_P(Contexts, SetCurrentReplacesTheTop) {
  const ContextHandle context = must(driver().ctx_create({.device = first_device}));
  const Cleanup destroy([&] { EXPECT_THAT(driver().ctx_destroy(context), is_ok()); });
  EXPECT_THAT(driver().ctx_set_current(primary()), is_ok());
  EXPECT_THAT(driver().ctx_get_current(), is_ok_and_holds(primary()));
  EXPECT_THAT(driver().ctx_set_current(ContextHandle()), is_ok());
  // What was below the created one is on top again.
  EXPECT_THAT(driver().ctx_get_current(), is_ok_and_holds(primary()));
}

TEST_P(Contexts, CurrentBelongsToTheThread) {
  std::thread([this] {
    EXPECT_THAT(driver().ctx_get_current(), is_ok_and_holds(ContextHandle()));
    EXPECT_THAT(driver().ctx_synchronize(), fails_with(ErrorCode::invalid_context));
    EXPECT_THAT(driver().ctx_set_current(primary()), is_ok());
    EXPECT_THAT(driver().ctx_synchronize(), is_ok());
    EXPECT_THAT(driver().ctx_set_current(ContextHandle()), is_ok());
  }).join();
  EXPECT_THAT(driver().ctx_get_current(), is_ok_and_holds(primary()));
}

TEST_P(Contexts, AreNeededByWhatIsNotVirtualMemory) {
  std::thread([this] {
    EXPECT_THAT(calls_that_differ(driver(), Need::context, ErrorCode::invalid_context),
                testing::IsEmpty());
  }).join();
}

TEST_P(Contexts, AreNotNeededByVirtualMemory) {
  std::thread([this] {
    const Reservation range(driver(), unit() * 2);
    const Memory memory(driver(), unit());
    EXPECT_THAT(
        driver().mem_map({.address = range.begin(), .size = unit(), .handle = memory.handle()}),
        is_ok());
    EXPECT_THAT(set_access(range.begin(), unit()), is_ok());
    EXPECT_THAT(access(range.begin()), is_ok_and_holds(AccessFlags::read_write));
    const auto retained = driver().mem_retain_allocation_handle(range.begin());
    ASSERT_THAT(retained, is_ok());
    EXPECT_THAT(driver().mem_release(*retained), is_ok());
    EXPECT_THAT(attribute(PointerAttribute::range_size, range.begin()),
                is_ok_and_holds(range.size().value()));
    EXPECT_THAT(driver().mem_unmap({.address = range.begin(), .size = unit()}), is_ok());
  }).join();
}

TEST_P(Contexts, TakeMemoryAndGiveItBack) {
  const Bytes before = free_memory();
  const ContextHandle context = must(driver().ctx_create({.device = first_device}));
  const Bytes with = free_memory();
  EXPECT_LT(with, before);
  EXPECT_THAT(driver().ctx_destroy(context), is_ok());
  EXPECT_EQ(free_memory(), before);
}

TEST_P(Contexts, OnlyMemAllocGoesWithThem) {
  Reservation range(driver(), unit());
  const Memory memory(driver(), unit());
  range.map(range.begin(), unit(), memory.handle());
  ASSERT_THAT(set_access(range.begin(), unit()), is_ok());
  ASSERT_THAT(put(range.begin(), 5), is_ok());
  const ContextHandle context = must(driver().ctx_create({.device = first_device}));
  const auto allocated = driver().mem_alloc(Bytes(4096));
  EXPECT_THAT(allocated, is_ok());
  expect_byte(range.begin(), 5);
  EXPECT_THAT(driver().ctx_destroy(context), is_ok());
  expect_byte(range.begin(), 5);
  if (allocated) {
    EXPECT_THAT(driver().mem_free(*allocated), fails_with(ErrorCode::invalid_value));
  }
}

TEST_P(Contexts, AResetKeepsMappings) {
  Reservation range(driver(), unit());
  const Memory memory(driver(), unit());
  range.map(range.begin(), unit(), memory.handle());
  ASSERT_THAT(set_access(range.begin(), unit()), is_ok());
  ASSERT_THAT(put(range.begin(), 5), is_ok());
  const DeviceAddress allocated = must(driver().mem_alloc(Bytes(4096)));
  EXPECT_THAT(driver().device_primary_ctx_reset(first_device), is_ok());
  EXPECT_THAT(driver().ctx_synchronize(), fails_with(ErrorCode::context_is_destroyed));
  EXPECT_THAT(access(range.begin()), is_ok_and_holds(AccessFlags::read_write));
  // The fixture's reference went with the reset's context; it gives this one back.
  const ContextHandle again = must(driver().device_primary_ctx_retain(first_device));
  const Cleanup release(
      [this] { EXPECT_THAT(driver().device_primary_ctx_release(first_device), is_ok()); });
  ASSERT_THAT(driver().ctx_set_current(again), is_ok());
  expect_byte(range.begin(), 5);
  EXPECT_THAT(driver().mem_free(allocated), fails_with(ErrorCode::invalid_value));
}

TEST_P(Contexts, HaveLimits) {
  const ContextHandle context = must(driver().ctx_create({.device = first_device}));
  const Cleanup destroy([&] { EXPECT_THAT(driver().ctx_destroy(context), is_ok()); });
  for (const ContextLimit limit :
       {ContextLimit::stack_size, ContextLimit::malloc_heap_size, ContextLimit::printf_fifo_size}) {
    SCOPED_TRACE(static_cast<unsigned>(limit));
    const auto standard = driver().ctx_get_limit(limit);
    ASSERT_THAT(standard, is_ok_and_holds(testing::Gt(Bytes(0))));
    EXPECT_THAT(driver().ctx_set_limit({.limit = limit, .value = *standard * 2}), is_ok());
    EXPECT_THAT(driver().ctx_get_limit(limit), is_ok_and_holds(testing::Ge(*standard * 2)));
  }
  // Limits are each context's own.
  EXPECT_THAT(driver().ctx_set_current(primary()), is_ok());
  const Bytes of_primary = must(driver().ctx_get_limit(ContextLimit::printf_fifo_size));
  EXPECT_THAT(driver().ctx_set_current(context), is_ok());
  EXPECT_THAT(driver().ctx_get_limit(ContextLimit::printf_fifo_size),
              is_ok_and_holds(testing::Gt(of_primary)));
}

TEST_P(Contexts, RefuseUnknownLimits) {
  const auto unknown = static_cast<ContextLimit>(999);
  EXPECT_THAT(driver().ctx_get_limit(unknown), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver().ctx_set_limit({.limit = unknown, .value = Bytes(4096)}),
              fails_with(ErrorCode::invalid_value));
}

TEST_P(Contexts, RefuseUnknownFlags) {
  EXPECT_THAT(driver().ctx_create({.device = first_device, .flags = 0x8000'0000}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver().ctx_get_current(), is_ok_and_holds(primary()));
}

INSTANTIATE_TEST_SUITE_P(All, Contexts, testing::ValuesIn(backends_of_books()), name_of);

}  // namespace
}  // namespace tessera::conformance
