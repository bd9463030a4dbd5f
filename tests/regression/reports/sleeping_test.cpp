// Memory given back and taken again at the same addresses, in the wrong state.
#include "report_machine.h"
#include "tessera/buffers/sleepable_buffer.h"

namespace tessera::reports {
namespace {

// vllm 36651: sleeping twice, waking twice, freeing while asleep.
TEST(Vllm36651, BareCallsReleaseTwiceAndUnmapNothing) {
  ReportMachine m;
  const DeviceAddress address = m.reserve(1);
  const AllocationHandle handle = m.create(1);
  must(m.map(address, 1, handle));
  for (int sleeps = 0; sleeps < 2; ++sleeps) {
    static_cast<void>(m.unmap(address, 1));
    static_cast<void>(m->mem_release(handle));
  }
  EXPECT_THAT(m.broken(), Contains(RuleId::unmap_twice));
  EXPECT_THAT(m.broken(), Contains(RuleId::release_too_often));
  const AllocationHandle again = m.create(1);
  for (int wakes = 0; wakes < 2; ++wakes) {
    static_cast<void>(m.map(address, 1, again));
  }
  EXPECT_THAT(m.broken(), Contains(RuleId::map_over_mapping));
}

TEST(Vllm36651, SleepingAndWakingTwiceIsNothing) {
  ReportMachine m;
  SleepableBuffer buffer = must(SleepableBuffer::make(m.use(), {.size = unit}));
  for (int sleeps = 0; sleeps < 2; ++sleeps) {
    EXPECT_THAT(buffer.sleep(Quiescence::promised()), is_ok());
    EXPECT_EQ(buffer.state(), SleepState::asleep);
  }
  for (int wakes = 0; wakes < 2; ++wakes) {
    EXPECT_THAT(buffer.wake(), is_ok());
    EXPECT_EQ(buffer.state(), SleepState::awake);
  }
  must(buffer.sleep(Quiescence::promised()));
  EXPECT_EQ(m.simulator().books().allocations, 0U);
  EXPECT_THAT(buffer.close(Quiescence::none()), is_ok());
  EXPECT_THAT(m.end(), IsEmpty()) << m.text();
}

// vllm 12981: waking goes on after memory could not be made.
TEST(Vllm12981, BareCallsMapGarbageAndUseIt) {
  ReportMachine m({.faults = {Fault::each_of(Call::mem_create, ErrorCode::out_of_memory)}});
  const DeviceAddress address = m.reserve(1);
  const AllocationHandle handle = m->mem_create({.size = unit}).value_or(AllocationHandle());
  EXPECT_FALSE(m.map(address, 1, handle));
  EXPECT_FALSE(m.allow(address, 1));
  EXPECT_FALSE(m->memset_d8({.destination = address, .value = 0, .size = unit}));
  EXPECT_EQ(m.broken(), (std::vector{RuleId::null_handle, RuleId::set_access_not_mapped,
                                     RuleId::copy_not_mapped}));
}

TEST(Vllm12981, WakingStopsAtTheFirstErrorAndWorksLater) {
  ReportMachine m;
  SleepableBuffer buffer =
      must(SleepableBuffer::make(m.use(), {.size = unit * 3, .piece_size = unit}));
  must(m->memset_d8({.destination = buffer.address(), .value = 7, .size = buffer.size()}));
  must(buffer.sleep(Quiescence::promised(), Contents::keep_on_host));
  m.set_faults({.faults = {Fault::nth_of(Call::mem_create, 2, ErrorCode::out_of_memory)}});
  EXPECT_THAT(buffer.wake(), fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(buffer.state(), SleepState::asleep);
  EXPECT_EQ(m.simulator().books().allocations, 0U);
  EXPECT_THAT(buffer.wake(), is_ok());
  std::array<std::byte, 1> last = {};
  must(m->memcpy_dtoh({.destination = last, .source = buffer.address() + unit * 3 - Bytes(1)}));
  EXPECT_EQ(last[0], std::byte{7});
  must(buffer.close(Quiescence::promised()));
  EXPECT_THAT(m.end(), IsEmpty()) << m.text();
}

}  // namespace
}  // namespace tessera::reports
