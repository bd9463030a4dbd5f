#include "tessera/layers/fault_injecting_driver.h"

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <unistd.h>

#include "support/forwarding.h"
#include "support/sim_machine.h"
#include "tessera/layers/call_errors.h"

namespace tessera {
namespace {

using sim::SimMachine;
using test::fails_with;
using test::is_ok;
using test::MockDriver;
using test::must;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::NiceMock;
using testing::StrictMock;

constexpr Bytes unit = 2_MiB;

// Numbers of the calls that failed, of `count` fills of nothing.
std::vector<int> failed_of(FaultInjectingDriver& driver, int count) {
  std::vector<int> failed;
  for (int i = 1; i <= count; ++i) {
    if (!driver.memset_d8({.destination = {}, .value = 0, .size = {}})) {
      failed.push_back(i);
    }
  }
  return failed;
}

class FaultInjection : public testing::Test {
 protected:
  Result<AllocationHandle> create(std::uint64_t units = 1) {
    return faults_.mem_create({.size = unit * units, .properties = {}});
  }

  SimMachine machine_{"h200"};
  FaultInjectingDriver faults_{&machine_.driver(), {}};
};

TEST(FaultInjectingDriver, ForwardsEachCallOnceUnchangedWithoutFaults) {
  StrictMock<MockDriver> target;
  FaultInjectingDriver faults(&target, {});
  test::check_every_method(target, faults);
  EXPECT_EQ(faults.calls(), 2 * (call_count - 1));
  EXPECT_EQ(faults.faults(), 0U);
  EXPECT_EQ(faults.first_fault(), std::nullopt);
}

TEST(FaultInjectingDriver, CanFailEachCallWithoutMakingIt) {
  StrictMock<MockDriver> target;
  FaultInjectingDriver faults(&target, {});
  test::expect_error_of_every_method(
      faults,
      [&](Call call) {
        faults.set_plan({.faults = {Fault::each_of(call, ErrorCode::not_ready)}});
        return Error{.code = ErrorCode::not_ready,
                     .call = call,
                     .origin = Origin::injected,
                     .reason = Reason::injected_each,
                     .values = {1, 1, 0}};
      },
      [](Call) {});
}

TEST_F(FaultInjection, FailsTheNthCallOfAll) {
  faults_.set_plan({.faults = {Fault::nth(2, ErrorCode::out_of_memory)}});
  EXPECT_THAT(failed_of(faults_, 5), ElementsAre(2));
  EXPECT_EQ(faults_.calls(), 5U);
  EXPECT_EQ(faults_.faults(), 1U);
}

TEST_F(FaultInjection, FailsTheNthCallOfAKind) {
  faults_.set_plan({.faults = {Fault::nth_of(Call::mem_create, 2, ErrorCode::not_permitted)}});
  EXPECT_THAT(failed_of(faults_, 3), ElementsAre());
  EXPECT_THAT(create(), is_ok());
  const auto second = create();
  ASSERT_THAT(second, fails_with(ErrorCode::not_permitted));
  EXPECT_EQ(to_string(second.error()),
            "mem_create: NOT_PERMITTED (800) from fault injection: the fault plan fails call 2 of "
            "this kind; it is call 5 of all");
  EXPECT_EQ(faults_.first_fault(), second.error());
  EXPECT_THAT(create(), is_ok());
  EXPECT_EQ(machine_->books().allocations, 2U);
}

TEST_F(FaultInjection, FailsEachCallOfAKind) {
  faults_.set_plan({.faults = {Fault::each_of(Call::mem_create, ErrorCode::out_of_memory)}});
  EXPECT_THAT(create(), fails_with(ErrorCode::out_of_memory));
  EXPECT_THAT(create(), fails_with(ErrorCode::out_of_memory));
  EXPECT_THAT(failed_of(faults_, 1), ElementsAre());
  ASSERT_TRUE(faults_.last_fault().has_value());
  EXPECT_THAT(explain(*faults_.last_fault()), HasSubstr("call 2 of all, 2 of its kind"));
}

TEST_F(FaultInjection, TheFirstFaultThatMeetsACallFailsIt) {
  faults_.set_plan({.faults = {Fault::nth(1, ErrorCode::not_ready),
                               Fault::each_of(Call::mem_create, ErrorCode::unknown)}});
  EXPECT_THAT(create(), fails_with(ErrorCode::not_ready));
  EXPECT_THAT(create(), fails_with(ErrorCode::unknown));
}

// The draws are the same with every compiler and every run: these are they.
TEST_F(FaultInjection, DrawsBySeedTheSameFaultsAlways) {
  FaultPlan plan{.faults = {Fault::per_million(200'000)}, .seed = 7};
  plan.faults[0].error = ErrorCode::out_of_memory;
  faults_.set_plan(plan);
  const std::vector<int> drawn = failed_of(faults_, 40);
  EXPECT_THAT(drawn, ElementsAre(2, 9, 16, 18, 29, 33));
  EXPECT_THAT(explain(*faults_.first_fault()), HasSubstr("seed 7 drew call"));
  faults_.set_plan(plan);
  EXPECT_EQ(failed_of(faults_, 40), drawn);
  plan.seed = 8;
  faults_.set_plan(plan);
  EXPECT_NE(failed_of(faults_, 40), drawn);
}

TEST_F(FaultInjection, MeetsTheRatioItWasAsked) {
  faults_.set_plan({.faults = {Fault::per_million(250'000)}, .seed = 1});
  EXPECT_NEAR(static_cast<double>(failed_of(faults_, 4000).size()), 1000, 100);
  faults_.set_plan({.faults = {Fault::per_million(0)}, .seed = 1});
  EXPECT_THAT(failed_of(faults_, 100), ElementsAre());
}

TEST_F(FaultInjection, DrawsErrorsThatTheCallCanGive) {
  faults_.set_plan({.faults = {Fault::per_million(Fault::million)}, .seed = 3});
  std::set<ErrorCode> seen;
  for (int i = 0; i < 200; ++i) {
    seen.insert(create().error().code);
  }
  const auto possible = call_errors(Call::mem_create);
  EXPECT_EQ(seen, std::set(possible.begin(), possible.end()));
}

TEST_F(FaultInjection, AfterTheEffectWhatTheCallGaveIsLost) {
  Fault fault = Fault::nth_of(Call::mem_create, 1, ErrorCode::out_of_memory);
  fault.effect = Effect::after;
  faults_.set_plan({.faults = {fault}});
  const auto created = create();
  ASSERT_THAT(created, fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(created.error().reason, Reason::injected_after);
  EXPECT_THAT(explain(created.error()), HasSubstr("lost on purpose"));
  EXPECT_EQ(machine_->books().allocations, 1U);
  EXPECT_EQ(faults_.live_bytes(), unit);
}

TEST_F(FaultInjection, AfterTheEffectARealErrorStaysAsItIs) {
  Fault fault = Fault::nth(1, ErrorCode::out_of_memory);
  fault.effect = Effect::after;
  faults_.set_plan({.faults = {fault}});
  const auto created = faults_.mem_create({.size = Bytes(1), .properties = {}});
  ASSERT_THAT(created, fails_with(ErrorCode::invalid_value));
  EXPECT_EQ(created.error().origin, Origin::simulator);
  EXPECT_EQ(faults_.faults(), 0U);
}

TEST_F(FaultInjection, NeverFailsWhatTheBoundHas) {
  faults_.set_plan({.faults = {{.error = ErrorCode::unknown}},
                    .capacity = Bytes(0),
                    .never_fails = {Call::mem_create}});
  EXPECT_THAT(create(), is_ok());
  EXPECT_THAT(failed_of(faults_, 1), ElementsAre(1));
}

TEST_F(FaultInjection, RefusesMemoryBeyondTheCapacity) {
  faults_.set_capacity(unit * 3);
  EXPECT_THAT(create(2), is_ok());
  const auto refused = create(2);
  ASSERT_THAT(refused, fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(refused.error().origin, Origin::injected);
  EXPECT_EQ(explain(refused.error()),
            "4 MiB (4194304) wanted; 4 MiB (4194304) are alive, and the fault plan's capacity is "
            "6 MiB (6291456)");
  EXPECT_THAT(create(1), is_ok());
  EXPECT_THAT(faults_.mem_alloc(Bytes(1)), fails_with(ErrorCode::out_of_memory));
  EXPECT_THAT(faults_.mem_alloc_async({.size = Bytes(1)}), fails_with(ErrorCode::out_of_memory));
  EXPECT_THAT(faults_.mem_alloc_pitch({.width = Bytes(1), .height = 1, .element_size = 4}),
              fails_with(ErrorCode::out_of_memory));
  faults_.set_capacity(std::nullopt);
  EXPECT_THAT(create(5), is_ok());
}

TEST_F(FaultInjection, CountsMemoryUntilItsLastReferenceAndMappingAreGone) {
  const DeviceAddress address = machine_.reserve(2);
  const AllocationHandle handle = must(create(1));
  must(faults_.mem_map({.address = address, .size = unit, .handle = handle}));
  must(faults_.mem_map({.address = address + unit, .size = unit, .handle = handle}));
  const AllocationHandle again = must(faults_.mem_retain_allocation_handle(address));
  must(faults_.mem_release(handle));
  must(faults_.mem_release(again));
  must(faults_.mem_unmap({.address = address, .size = unit}));
  EXPECT_EQ(faults_.live_bytes(), unit);
  must(faults_.mem_unmap({.address = address + unit, .size = unit}));
  EXPECT_EQ(faults_.live_bytes(), Bytes(0));
}

TEST_F(FaultInjection, CountsOtherAllocationsUntilTheyAreFreed) {
  const DeviceAddress plain = must(faults_.mem_alloc(1_MiB));
  const DeviceAddress ordered = must(faults_.mem_alloc_async({.size = 1_MiB}));
  const PitchedAllocation rows =
      must(faults_.mem_alloc_pitch({.width = 1_KiB, .height = 4, .element_size = 4}));
  EXPECT_EQ(faults_.live_bytes(), 2_MiB + rows.pitch * 4);
  must(faults_.mem_free(plain));
  must(faults_.mem_free_async({.address = ordered}));
  must(faults_.mem_free(rows.address));
  EXPECT_EQ(faults_.live_bytes(), Bytes(0));
}

TEST_F(FaultInjection, LowersTheCapacityWhileMemoryIsAlive) {
  const AllocationHandle first = must(create(2));
  faults_.set_capacity(unit);
  EXPECT_THAT(create(1), fails_with(ErrorCode::out_of_memory));
  must(faults_.mem_release(first));
  EXPECT_THAT(create(1), is_ok());
}

TEST_F(FaultInjection, RunsOutOfDescriptors) {
  const AllocationHandle handle = must(faults_.mem_create(
      {.size = unit,
       .properties = {.requested_handle_types = HandleTypes::posix_file_descriptor}}));
  faults_.set_descriptors_left(1);
  const ShareableHandle exported = must(faults_.mem_export_to_shareable_handle({.handle = handle}));
  EXPECT_EQ(::close(exported.file_descriptor), 0);
  const auto refused = faults_.mem_export_to_shareable_handle({.handle = handle});
  ASSERT_THAT(refused, fails_with(ErrorCode::operating_system));
  EXPECT_EQ(refused.error().reason, Reason::no_descriptor_left);
  EXPECT_EQ(refused.error().origin, Origin::injected);
  EXPECT_THAT(
      faults_.mem_export_to_shareable_handle({.handle = handle, .type = HandleTypes::win32}),
      fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(faults_.mem_get_handle_for_address_range({.address = {}, .size = unit}),
              fails_with(ErrorCode::operating_system));
}

TEST_F(FaultInjection, CountsNoDescriptorsOfCallsThatNeverFail) {
  faults_.set_plan({.descriptors_left = 0, .never_fails = {Call::mem_export_to_shareable_handle}});
  const AllocationHandle handle = must(faults_.mem_create(
      {.size = unit,
       .properties = {.requested_handle_types = HandleTypes::posix_file_descriptor}}));
  const ShareableHandle exported = must(faults_.mem_export_to_shareable_handle({.handle = handle}));
  EXPECT_EQ(::close(exported.file_descriptor), 0);
}

// Together with what is alive, it is more than 64 bits can say.
TEST_F(FaultInjection, RefusesMemoryBeyond64Bits) {
  faults_.set_capacity(Bytes(~std::uint64_t{0}));
  must(create(1));
  const auto refused = faults_.mem_alloc(Bytes(~std::uint64_t{0}));
  ASSERT_THAT(refused, fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(refused.error().origin, Origin::injected);
}

TEST_F(FaultInjection, FailsACallWithoutErrorsOfItsOwnForWantOfMemory) {
  ASSERT_TRUE(call_errors(Call::driver_get_version).empty());
  faults_.set_plan({.faults = {Fault{.call = Call::driver_get_version}}});
  EXPECT_THAT(faults_.driver_get_version(), fails_with(ErrorCode::out_of_memory));
}

TEST_F(FaultInjection, StartsAnewWithANewPlan) {
  faults_.set_plan({.faults = {Fault::nth(1, ErrorCode::out_of_memory)}});
  EXPECT_THAT(failed_of(faults_, 2), ElementsAre(1));
  faults_.set_plan({.faults = {Fault::nth(1, ErrorCode::out_of_memory)}});
  EXPECT_EQ(faults_.calls(), 0U);
  EXPECT_EQ(faults_.last_fault(), std::nullopt);
  EXPECT_THAT(failed_of(faults_, 2), ElementsAre(1));
}

TEST(FaultInjectingDriver, FailsOneCallOfAllThreads) {
  NiceMock<MockDriver> target;
  EXPECT_CALL(target, mem_release).WillRepeatedly(testing::Return(Status()));
  FaultInjectingDriver faults(&target, {.faults = {Fault::nth(300, ErrorCode::unknown)}});
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int call = 0; call < 100; ++call) {
        failed += faults.mem_release(AllocationHandle(1)) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(faults.calls(), 400U);
}

}  // namespace
}  // namespace tessera
