// Who copies memory on the host, the device or the CPU; seen where only one of them has access, and
// where a call waits.
#include <array>
#include <bit>
#include <vector>

#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

constexpr Location on_host = {.type = LocationType::host};

// Two granules, a mapping each: memory on the host that both have access to, and beside it memory
// of which only the device has some.
class Beside : public SimMachine {
 public:
  explicit Beside(const Profile& profile = profile_named("h200")) : SimMachine(profile) {
    map(both_, 1, create(1, {.location = {.type = LocationType::host_numa}}));
    must(allow(both_, 1));
    must(allow_for(both_, 1, on_host, AccessFlags::read_write));
    fill(both_ + unit(), 1);
    must(allow(both_ + unit(), 1));
  }

  [[nodiscard]] DeviceAddress both() const { return both_; }
  // The last byte of the one and what follows.
  [[nodiscard]] DeviceAddress across() { return both_ + (unit() - 1_B); }
  [[nodiscard]] DeviceAddress other() const { return other_; }

  Status copy(DeviceAddress destination, DeviceAddress source, Bytes size,
              StreamHandle stream = {}) {
    return driver().memcpy_dtod_async(
        {.copy = {.destination = destination, .source = source, .size = size}, .stream = stream});
  }
  // A stream of its own with a kernel in it.
  StreamHandle busy() {
    const StreamHandle stream = must(driver().stream_create(StreamFlags::non_blocking));
    must(launch_write(other_, 9, 1'000'000, stream));
    must(driver().event_record({.event = kernel_, .stream = stream}));
    return stream;
  }
  // The last such kernel.
  bool is_done() { return driver().event_query(kernel_).has_value(); }

 private:
  DeviceAddress both_ = reserve(2);
  DeviceAddress other_ = must(driver().mem_alloc(4_MiB));
  EventHandle kernel_ = must(driver().event_create(EventFlags::none));
};

TEST(SimDriverCopies, BetweenWhatTheCpuReachesAreItsOwn) {
  Beside machine;
  std::vector<std::byte> bytes(8);
  std::byte* pinned = must(machine->mem_host_alloc({.size = 64_KiB}));
  const auto pinned_at = DeviceAddress(std::bit_cast<std::uintptr_t>(pinned));
  const auto refused = [] { return fails_with(ErrorCode::invalid_value); };
  EXPECT_THAT(machine->memcpy_dtoh({.destination = bytes, .source = machine.across()}), refused());
  EXPECT_THAT(machine->memcpy_htod({.destination = machine.across(), .source = bytes}), refused());
  EXPECT_THAT(machine.copy(pinned_at, machine.across(), 64_KiB), refused());
  EXPECT_THAT(machine.copy(machine.across(), pinned_at, 64_KiB), refused());
  EXPECT_THAT(machine.copy(machine.both(), machine.across(), 64_KiB), refused());
  // What the device's alone is takes no notice of the CPU.
  EXPECT_THAT(machine.copy(machine.across(), machine.other(), 64_KiB), is_ok());
  EXPECT_THAT(machine.copy(machine.other(), machine.across(), 64_KiB), is_ok());
  EXPECT_THAT(machine->memset_d8({.destination = machine.across(), .value = 1, .size = 8_B}),
              is_ok());
  // The part that the host has access to may be any: here, the last.
  const DeviceAddress range = machine.reserve(2);
  machine.fill(range, 1);
  machine.map(range + machine.unit(), 1,
              machine.create(1, {.location = {.type = LocationType::host_numa}}));
  must(machine.allow(range, 2));
  const DeviceAddress end = range + (machine.unit() - 1_B);
  EXPECT_THAT(machine->memcpy_dtoh({.destination = bytes, .source = end}), is_ok());
  must(machine.allow_for(range + machine.unit(), 1, on_host, AccessFlags::read));
  EXPECT_THAT(machine->memcpy_dtoh({.destination = bytes, .source = end}), refused());
}

TEST(SimDriverCopies, TheCpuCannotWriteWhatItMayOnlyRead) {
  Beside machine;
  must(machine.allow_for(machine.both(), 1, on_host, AccessFlags::read));
  EXPECT_THAT(machine.put(machine.both(), 1), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(machine.get(machine.both()), is_ok());
  EXPECT_THAT(machine.copy(machine.both(), machine.other(), 8_B), is_ok()) << "by the device";
}

TEST(SimDriverCopies, ALittleIsReadByTheCpuWhereTheStreamIsIdle) {
  Beside machine;
  const auto refused = [] { return fails_with(ErrorCode::invalid_value); };
  EXPECT_THAT(machine.copy(machine.other(), machine.across(), 24_KiB), refused());
  EXPECT_THAT(machine.copy(machine.other(), machine.across(), 24_KiB + 1_B), is_ok());
  const DeviceAddress managed = must(machine->mem_alloc_managed({.size = 1_MiB}));
  EXPECT_THAT(machine.copy(managed, machine.across(), 8_B), is_ok());
  must(machine->ctx_synchronize());
  const StreamHandle stream = machine.busy();
  EXPECT_THAT(machine.copy(machine.other(), machine.across(), 8_B, stream), is_ok());
  must(machine->stream_synchronize(stream));
  EXPECT_THAT(machine.copy(machine.other(), machine.across(), 8_B, stream), refused());
}

// At the very moment at which its work ends: here calls take no time.
TEST(SimDriverCopies, AStreamIsIdleWhenItsWorkHasEnded) {
  Profile profile = profile_named("h200");
  profile.costs.clear();
  profile.default_cost = {};
  Beside machine(profile);
  const StreamHandle stream = machine.busy();
  must(machine->stream_synchronize(stream));
  EXPECT_THAT(machine.copy(machine.other(), machine.across(), 8_B, stream),
              fails_with(ErrorCode::invalid_value));
}

TEST(SimDriverCopies, WaitForWhatTheCpuWrites) {
  Beside machine;
  for (const bool writes : {true, false}) {
    const StreamHandle stream = machine.busy();
    const DeviceAddress to = writes ? machine.both() + 64_KiB : machine.other();
    must(machine.copy(to, machine.both(), 64_KiB, stream));
    EXPECT_EQ(machine.is_done(), writes);
    // Also where it goes to memory of the program's own.
    std::array<std::byte, 4> bytes = {};
    const StreamHandle second = machine.busy();
    must(machine->memcpy_dtoh_async(
        {.copy = {.destination = bytes, .source = writes ? machine.both() : machine.other()},
         .stream = second}));
    EXPECT_EQ(machine.is_done(), writes);
    const StreamHandle third = machine.busy();
    must(machine->memcpy_htod_async(
        {.copy = {.destination = writes ? machine.both() : machine.other(), .source = bytes},
         .stream = third}));
    EXPECT_EQ(machine.is_done(), writes);
  }
}

TEST(SimDriverCopies, WhatTheCpuAloneReadsIsStagedUpToTwoMebibytes) {
  SimMachine machine("h200");
  const DeviceAddress range = machine.reserve(2);
  machine.map(range, 2, machine.create(2, {.location = {.type = LocationType::host_numa}}));
  must(machine.allow_for(range, 2, on_host, AccessFlags::read_write));
  must(machine->host_write(range, std::byte{5}));
  const DeviceAddress other = must(machine->mem_alloc(4_MiB));
  const StreamHandle stream = must(machine->stream_create(StreamFlags::non_blocking));
  const EventHandle kernel = must(machine->event_create(EventFlags::none));
  for (const Bytes size : {2_MiB, 2_MiB + 1_B}) {
    must(machine.launch_write(other, 9, 1'000'000, stream));
    must(machine->event_record({.event = kernel, .stream = stream}));
    must(machine->memcpy_dtod_async(
        {.copy = {.destination = other, .source = range, .size = size}, .stream = stream}));
    EXPECT_EQ(machine->event_query(kernel).has_value(), size != 2_MiB);
    must(machine->stream_synchronize(stream));
    EXPECT_THAT(machine.get(other), is_ok_and_holds(5));
  }
}

// Parts of it begin where the device has access, and not enough: the CPU goes on all the same.
TEST(SimDriverCopies, TheCpuCopiesAllOfWhatItBegan) {
  SimMachine machine("h200");
  const DeviceAddress range = machine.reserve(2);
  for (const std::uint64_t at : {0U, 1U}) {
    machine.map(range + machine.unit() * at, 1,
                machine.create(1, {.location = {.type = LocationType::host_numa}}));
  }
  must(machine.allow_for(range, 2, on_host, AccessFlags::read_write));
  must(machine.allow(range + machine.unit(), 1, device_0, AccessFlags::read));
  const DeviceAddress other = must(machine->mem_alloc(4_MiB));
  must(machine->memset_d8({.destination = other, .value = 6, .size = 4_MiB}));
  EXPECT_THAT(machine->memcpy_dtod({.destination = range, .source = other, .size = 4_MiB}),
              is_ok());
  EXPECT_THAT(machine->host_read(range + (4_MiB - 1_B)), is_ok_and_holds(std::byte{6}));
}

}  // namespace
}  // namespace tessera::sim
