// Virtual time: what calls cost, and when work runs. No clock is read, so figures are exact.
#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

class SimDriverTime : public testing::Test {
 protected:
  // What a call costs, in virtual nanoseconds.
  template <class Operation>
  std::uint64_t cost_of(Operation&& operation) {
    const std::uint64_t before = machine_->now_ns();
    EXPECT_THAT(operation(), is_ok());
    return machine_->now_ns() - before;
  }
  [[nodiscard]] CallCost cost(Call call) const {
    const auto found = profile_.costs.find(call);
    return found != profile_.costs.end() ? found->second : profile_.default_cost;
  }

  const Profile& profile_ = profile_named("h200");
  SimMachine machine_{profile_};
};

TEST_F(SimDriverTime, APrimaryContextTakesAsLongToMakeAsAnother) {
  must(machine_->device_primary_ctx_release(device_0));
  const std::uint64_t made = cost_of([&] { return machine_->device_primary_ctx_retain(device_0); });
  const std::uint64_t again =
      cost_of([&] { return machine_->device_primary_ctx_retain(device_0); });
  EXPECT_EQ(made, again + cost(Call::ctx_create).base_ns);
}

TEST_F(SimDriverTime, CallsCostWhatTheProfileSays) {
  EXPECT_EQ(cost_of([&] { return machine_->device_get_count(); }), profile_.default_cost.base_ns);
  DeviceAddress range;
  AllocationHandle handle;
  EXPECT_EQ(cost_of([&] {
              auto reserved = machine_->mem_address_reserve({.size = 16_MiB});
              range = must(reserved);
              return reserved;
            }),
            1'070U);
  EXPECT_EQ(cost_of([&] {
              auto created = machine_->mem_create({.size = 2_MiB, .properties = {}});
              handle = must(created);
              return created;
            }),
            cost(Call::mem_create).base_ns + cost(Call::mem_create).per_unit_ns * 2);
  for (std::uint64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(
        cost_of([&] {
          return machine_->mem_map({.address = range + 2_MiB * i, .size = 2_MiB, .handle = handle});
        }),
        1'220U);
  }
  // Set access and unmap cost by the mapping.
  EXPECT_EQ(cost_of([&] { return machine_.allow(range, 8); }), 8 * 30'020U);
  EXPECT_EQ(cost_of([&] { return machine_.unmap(range, 8); }), 8 * 20'320U);
  EXPECT_EQ(cost_of([&] { return machine_->mem_release(handle); }),
            cost(Call::mem_release).base_ns + cost(Call::mem_release).per_unit_ns * 2);
}

TEST_F(SimDriverTime, RefusedCallsCostTimeToo) {
  const std::uint64_t before = machine_->now_ns();
  EXPECT_THAT(machine_->mem_release({}), fails_with(ErrorCode::invalid_value));
  EXPECT_GT(machine_->now_ns(), before);
}

TEST_F(SimDriverTime, AdvanceIsExact) {
  const std::uint64_t before = machine_->now_ns();
  machine_->advance(12'345);
  EXPECT_EQ(machine_->now_ns(), before + 12'345);
}

TEST_F(SimDriverTime, ARunRepeats) {
  const auto run = [&] {
    SimMachine machine(profile_);
    const DeviceAddress address = machine.mapped(4);
    must(machine.launch_write(address, 1, 1'000));
    must(machine->ctx_synchronize());
    return std::pair(machine->now_ns(), address);
  };
  EXPECT_EQ(run(), run());
}

TEST_F(SimDriverTime, WorkRunsWhenItIsDue) {
  const DeviceAddress address = machine_.mapped(1);
  must(machine_.put(address, 0));
  std::byte* look = must(machine_->mem_host_alloc({.size = 1_B}));
  const DeviceAddress host(reinterpret_cast<std::uintptr_t>(look));
  constexpr std::uint64_t second = 1'000'000'000;
  must(machine_.launch_write(host, 5, second));
  EXPECT_EQ(*look, std::byte{0});
  machine_->advance(second / 2);
  EXPECT_EQ(*look, std::byte{0});
  machine_->advance(second / 2 + 10'000);
  EXPECT_EQ(*look, std::byte{5}) << "nobody waited for it";
}

TEST_F(SimDriverTime, SynchronizingTakesAsLongAsTheWork) {
  const DeviceAddress address = machine_.mapped(1);
  const std::uint64_t before = machine_->now_ns();
  must(machine_.launch_write(address, 5, 1'000'000));
  EXPECT_LT(machine_->now_ns() - before, 1'000'000U);
  must(machine_->ctx_synchronize());
  EXPECT_GE(machine_->now_ns() - before, 1'000'000U);
  EXPECT_LT(machine_->now_ns() - before, 1'100'000U);
}

TEST_F(SimDriverTime, AnEventIsReadyWhenItsWorkIsDone) {
  const DeviceAddress address = machine_.mapped(1);
  const StreamHandle stream = must(machine_->stream_create(StreamFlags::non_blocking));
  const EventHandle event = must(machine_->event_create(EventFlags::none));
  must(machine_.launch_write(address, 5, 1'000'000, stream));
  must(machine_->event_record({.event = event, .stream = stream}));
  const auto early = machine_->event_query(event);
  ASSERT_THAT(early, fails_with(ErrorCode::not_ready));
  EXPECT_NE(explain(early.error()), "");
  machine_->advance(900'000);
  EXPECT_THAT(machine_->event_query(event), fails_with(ErrorCode::not_ready));
  machine_->advance(100'000);
  EXPECT_THAT(machine_->event_query(event), is_ok());
}

TEST_F(SimDriverTime, StreamsRunSideBySide) {
  const DeviceAddress address = machine_.mapped(1);
  const StreamHandle first = must(machine_->stream_create(StreamFlags::non_blocking));
  const StreamHandle second = must(machine_->stream_create(StreamFlags::non_blocking));
  const std::uint64_t before = machine_->now_ns();
  must(machine_.launch_write(address, 1, 1'000'000, first));
  must(machine_.launch_write(address + 1_B, 2, 1'000'000, second));
  must(machine_->ctx_synchronize());
  EXPECT_LT(machine_->now_ns() - before, 1'500'000U);
}

TEST_F(SimDriverTime, TheDefaultStreamOrdersBlockingOnes) {
  const DeviceAddress address = machine_.mapped(1);
  const StreamHandle first = must(machine_->stream_create(StreamFlags::blocking));
  const StreamHandle second = must(machine_->stream_create(StreamFlags::blocking));
  const StreamHandle aside = must(machine_->stream_create(StreamFlags::non_blocking));
  const EventHandle event = must(machine_->event_create(EventFlags::none));
  must(machine_.launch_write(address, 1, 1'000'000, first));
  must(machine_.launch_write(address, 2, 1'000'000));
  must(machine_.launch_write(address, 3, 1'000'000, second));
  must(machine_.launch_write(address + 1_B, 4, 10'000, aside));
  must(machine_->event_record({.event = event, .stream = aside}));
  machine_->advance(20'000);
  EXPECT_THAT(machine_->event_query(event), is_ok());
  const std::uint64_t before = machine_->now_ns();
  must(machine_->stream_synchronize(second));
  EXPECT_GT(machine_->now_ns() - before, 2'900'000U);
  EXPECT_THAT(machine_.get(address), is_ok_and_holds(3));
}

TEST_F(SimDriverTime, FreeingWaitsForTheDevice) {
  const DeviceAddress used = must(machine_->mem_alloc(4_KiB));
  const DeviceAddress unused = must(machine_->mem_alloc(4_KiB));
  must(machine_.launch_write(used, 1, 200'000'000));
  const std::uint64_t before = machine_->now_ns();
  must(machine_->mem_free(unused));
  EXPECT_GE(machine_->now_ns() - before, 199'000'000U);
  EXPECT_THAT(machine_->ctx_synchronize(), is_ok());
}

TEST_F(SimDriverTime, CopiesTakeTimeByTheirSize) {
  const DeviceAddress address = machine_.mapped(8);
  const auto fill = [&](Bytes size) {
    return cost_of([&] {
      must(machine_->memset_d8({.destination = address, .value = 1, .size = size}));
      return machine_->ctx_synchronize();
    });
  };
  EXPECT_EQ(fill(16_MiB) - fill(1_MiB), 15 * cost(Call::memset_d8).per_unit_ns);
}

// --- Faults ---

TEST_F(SimDriverTime, UnmappingUnderAKernelLosesTheProcess) {
  const DeviceAddress address = machine_.mapped(1);
  const DeviceAddress other = machine_.mapped(1);
  const ContextHandle context = must(machine_->ctx_create({.device = device_0}));
  must(machine_.launch_write(address, 1, 1'000'000));
  EXPECT_THAT(machine_.unmap(address, 1), is_ok());
  // Something else that it has no access to is there at once.
  const AllocationHandle handle = machine_.create(1);
  machine_.map(address, 1, handle);
  const Books before = machine_->books();
  EXPECT_THAT(machine_->ctx_synchronize(), fails_with(ErrorCode::illegal_address));
  EXPECT_THAT(machine_->mem_get_info(), fails_with(ErrorCode::illegal_address));
  EXPECT_THAT(machine_.launch_write(other, 1), fails_with(ErrorCode::illegal_address));
  must(machine_->ctx_set_current(machine_.primary()));
  EXPECT_THAT(machine_.put(other, 2), fails_with(ErrorCode::illegal_address));
  EXPECT_EQ(machine_->books(), before) << "a fault takes nothing away";
  EXPECT_THAT(machine_->ctx_destroy(context), is_ok());
  EXPECT_EQ(machine_->books().contexts, 1U);
  EXPECT_THAT(machine_.unmap(address, 1), is_ok());
  EXPECT_THAT(machine_.unmap(other, 1), is_ok());
  EXPECT_THAT(machine_->mem_release(handle), is_ok());
  EXPECT_EQ(machine_->books().allocations, 0U);
}

TEST_F(SimDriverTime, WorkAfterAFaultIsDropped) {
  std::byte* look = must(machine_->mem_host_alloc({.size = 1_B}));
  const DeviceAddress host(reinterpret_cast<std::uintptr_t>(look));
  const StreamHandle other = must(machine_->stream_create(StreamFlags::non_blocking));
  const DeviceAddress bad = machine_.reserve(1);
  must(machine_.launch_write(bad, 1, 1'000'000));
  must(machine_.launch_write(host, 1));
  must(machine_.launch_write(host, 1, 2'000'000, other));
  EXPECT_THAT(machine_->ctx_synchronize(), fails_with(ErrorCode::illegal_address));
  machine_->advance(10'000'000);
  EXPECT_EQ(*look, std::byte{0});
}

TEST_F(SimDriverTime, AFaultIsOfOneDriver) {
  SimMachine other(profile_);
  must(machine_.launch_write(machine_.reserve(1), 1));
  EXPECT_THAT(machine_->ctx_synchronize(), fails_with(ErrorCode::illegal_address));
  EXPECT_THAT(other->ctx_synchronize(), is_ok());
}

TEST_F(SimDriverTime, ADestroyedContextsWorkIsDoneFirst) {
  const DeviceAddress address = machine_.mapped(1);
  must(machine_.put(address, 0));
  const ContextHandle context = must(machine_->ctx_create({.device = device_0}));
  must(machine_.launch_write(address, 1, 1'000'000));
  must(machine_->ctx_destroy(context));
  EXPECT_THAT(machine_.get(address), is_ok_and_holds(1));
}

TEST_F(SimDriverTime, RemappingTheSameMemoryInTimeIsFine) {
  const DeviceAddress address = machine_.reserve(1);
  const AllocationHandle handle = machine_.create(1);
  machine_.map(address, 1, handle);
  must(machine_.allow(address, 1));
  must(machine_.launch_write(address, 9, 1'000'000'000));
  must(machine_.unmap(address, 1));
  machine_.map(address, 1, handle);
  must(machine_.allow(address, 1));
  // A kernel finds what is there when it touches it [h200].
  EXPECT_THAT(machine_->ctx_synchronize(), is_ok());
  EXPECT_THAT(machine_.get(address), is_ok_and_holds(9));
}

// --- Bad handles: on a real driver these are dangling pointers ---

TEST_F(SimDriverTime, KnowsItsStreamsAndEvents) {
  const StreamHandle stream = must(machine_->stream_create(StreamFlags::blocking));
  const EventHandle event = must(machine_->event_create(EventFlags::none));
  must(machine_->stream_destroy(stream));
  must(machine_->event_destroy(event));
  EXPECT_THAT(machine_->stream_synchronize(stream), fails_with(ErrorCode::invalid_context));
  EXPECT_THAT(machine_->stream_destroy(stream), fails_with(ErrorCode::invalid_context));
  EXPECT_THAT(machine_->event_query(event), fails_with(ErrorCode::context_is_destroyed));
  EXPECT_THAT(machine_->event_destroy(event), fails_with(ErrorCode::context_is_destroyed));
  const EventHandle foreign = must(machine_->event_create(EventFlags::none));
  const ContextHandle context = must(machine_->ctx_create({.device = device_0}));
  EXPECT_THAT(machine_->event_record({.event = foreign}), fails_with(ErrorCode::invalid_handle));
  must(machine_->ctx_destroy(context));
}

}  // namespace
}  // namespace tessera::sim
