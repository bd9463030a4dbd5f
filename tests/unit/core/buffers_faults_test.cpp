// Each call of each buffer fails in turn, with each of several errors: the first error comes back,
// the buffer is as before, a second try works, and nothing is left.
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/buffers/device_vector.h"
#include "tessera/buffers/growable_buffer.h"
#include "tessera/buffers/mirrored_ring.h"
#include "tessera/buffers/sleepable_buffer.h"
#include "tessera/buffers/striped_buffer.h"
#include "tessera/layers/validating_driver.h"
#include "unit/core/buffers_support.h"

namespace tessera {
namespace {

using test::device_0;
using test::device_1;
using test::FaultRun;
using test::must;
using test::sweep;

// A few bytes in each MiB: whole patterns would take most of the time.
constexpr Bytes mark_size = 64_B;

void write_marks(Driver& driver, DeviceAddress address, Bytes size, std::uint32_t seed) {
  for (Bytes offset; offset < size; offset += 1_MiB) {
    test::write_pattern(driver, address + offset, mark_size, seed++);
  }
}

bool holds_marks(Driver& driver, DeviceAddress address, Bytes size, std::uint32_t seed) {
  for (Bytes offset; offset < size; offset += 1_MiB) {
    if (!test::holds_pattern(driver, address + offset, mark_size, seed++)) {
      return false;
    }
  }
  return true;
}

// Address space may be had at a smaller size, memory only whole.
GrowableBufferOptions exactly(Bytes reserve) {
  return {.access = AccessSet::of_device(device_1),
          .reserve = reserve,
          .growth = GrowthPolicy::exact()};
}

auto look_at(GrowableBuffer& buffer) {
  return [&buffer] {
    const GrowableStatistics now = buffer.statistics();
    return std::tuple(buffer.address(), buffer.size(), buffer.capacity(), buffer.generation(),
                      now.pieces, now.grows, now.moves, now.mapped, now.reserved, now.retired);
  };
}

TEST(BufferFaults, GrowableBuffer) {
  sweep([](FaultRun& run) {
    GrowableBuffer buffer =
        run.retried([&] { return GrowableBuffer::make(run.use(), exactly(4_MiB)); });
    const auto look = look_at(buffer);
    const auto written = [&](auto&& step) {
      return run.retried(step, [&] {
        return std::pair(look(), holds_marks(run.driver().target(), buffer.address(), 2_MiB, 1));
      });
    };
    run.retried([&] { return buffer.grow_to(2_MiB); }, look);
    write_marks(run.driver().target(), buffer.address(), 2_MiB, 1);
    written([&] { return buffer.grow_to(4_MiB); });
    written([&] { return buffer.grow_to(6_MiB); });  // moves, unless addresses lacked before
    written([&] { return buffer.grow_to(8_MiB); });
    EXPECT_TRUE(holds_marks(run.driver().target(), buffer.address(), 2_MiB, 1));
    run.retried([&] { return buffer.grant(AccessSet::of_device(device_1, AccessFlags::read)); },
                look);
    run.retried([&] { return buffer.shrink_to(2_MiB, Quiescence::promised()); });
    EXPECT_EQ(buffer.capacity(), 2_MiB);
    run.retried([&] { return buffer.release_retired(Quiescence::promised()); });
    EXPECT_TRUE(holds_marks(run.driver().target(), buffer.address(), 2_MiB, 1));
    run.retried([&] { return buffer.close(Quiescence::promised()); });
    EXPECT_FALSE(buffer.is_open());
    EXPECT_TRUE(run.sink().failures().empty());
  });
}

TEST(BufferFaults, GrowableBufferDestroyed) {
  sweep([](FaultRun& run) {
    GrowableBuffer buffer =
        run.retried([&] { return GrowableBuffer::make(run.use(), exactly(4_MiB)); });
    for (int i = 1; i <= 3; ++i) {
      run.retried([&] { return buffer.grow_by(2_MiB); }, look_at(buffer));
    }
  });
}

// Reads without a fault, at the end of a run.
std::vector<int> contents_of(FaultRun& run, const DeviceVector<int>& vector) {
  std::vector<int> elements(static_cast<std::size_t>(vector.size()));
  run.driver().disarm();
  must(vector.copy_to_host(elements));
  return elements;
}

TEST(BufferFaults, DeviceVector) {
  sweep([](FaultRun& run) {
    auto vector = run.retried([&] { return DeviceVector<int>::make(run.use(), exactly(2_MiB)); });
    const auto size = [&] { return vector.size(); };
    run.retried([&] { return vector.append(std::array{1, 2, 3}); }, size);
    run.retried([&] { return vector.resize(1'000'000); }, size);  // moves
    run.retried([&] { return vector.set(1, 20); }, size);
    EXPECT_EQ(run.retried([&] { return vector.get(2); }, size), 3);
    run.retried([&] { return vector.resize(3); }, size);
    run.retried([&] { return vector.shrink_to_fit(Quiescence::promised()); }, size);
    EXPECT_EQ(contents_of(run, vector), (std::vector{1, 20, 3}));
  });
}

TEST(BufferFaults, DeviceVectorAssigned) {
  sweep([](FaultRun& run) {
    auto vector = run.retried([&] { return DeviceVector<int>::make(run.use(), exactly(2_MiB)); });
    run.retried([&] { return vector.assign(std::array{1, 2, 3}); });
    run.retried([&] { return vector.assign(std::array{7, 8}); });
    EXPECT_EQ(contents_of(run, vector), (std::vector{7, 8}));
    vector = run.retried([&] { return DeviceVector<int>::make(run.use(), exactly(2_MiB)); });
    EXPECT_TRUE(vector.is_empty());
  });
}

TEST(BufferFaults, StripedBuffer) {
  sweep([](FaultRun& run) {
    StripedBuffer buffer = run.retried([&] {
      return StripedBuffer::make(run.use(), {.size = 8_MiB, .devices = {device_0, device_1}});
    });
    write_marks(run.driver().target(), buffer.address(), 8_MiB, 1);
    EXPECT_TRUE(holds_marks(run.driver().target(), buffer.address(), 8_MiB, 1));
    run.retried([&] { return buffer.close(Quiescence::promised()); });
    EXPECT_TRUE(run.sink().failures().empty());
  });
}

TEST(BufferFaults, StripedBufferDestroyed) {
  sweep([](FaultRun& run) {
    static_cast<void>(run.retried([&] {
      return StripedBuffer::make(run.use(), {.size = 8_MiB, .devices = {device_0, device_1}});
    }));
  });
}

TEST(BufferFaults, MirroredRing) {
  sweep([](FaultRun& run) {
    MirroredRing ring =
        run.retried([&] { return MirroredRing::make(run.use(), {.capacity = 2_MiB}); });
    write_marks(run.driver().target(), ring.address_at(1'000'000), 2_MiB, 1);
    EXPECT_TRUE(holds_marks(run.driver().target(), ring.address_at(1'000'000), 2_MiB, 1));
    run.retried([&] { return ring.close(Quiescence::promised()); });
    EXPECT_TRUE(run.sink().failures().empty());
  });
}

TEST(BufferFaults, MirroredRingDestroyed) {
  sweep([](FaultRun& run) {
    static_cast<void>(
        run.retried([&] { return MirroredRing::make(run.use(), {.capacity = 2_MiB}); }));
  });
}

TEST(BufferFaults, SleepableBuffer) {
  sweep([](FaultRun& run) {
    SleepableBuffer buffer = run.retried(
        [&] { return SleepableBuffer::make(run.use(), {.size = 6_MiB, .piece_size = 2_MiB}); });
    write_marks(run.driver().target(), buffer.address(), 6_MiB, 1);
    run.retried([&] { return buffer.sleep(Quiescence::promised(), Contents::keep_on_host); });
    EXPECT_EQ(buffer.state(), SleepState::asleep);
    run.retried([&] { return buffer.wake(); },
                [&] { return std::pair(buffer.state(), buffer.generation()); });
    EXPECT_EQ(buffer.generation(), 2U);
    EXPECT_TRUE(holds_marks(run.driver().target(), buffer.address(), 6_MiB, 1));
    run.retried([&] { return buffer.sleep(Quiescence::promised()); });
    run.retried([&] { return buffer.wake(); });
    run.retried([&] { return buffer.close(Quiescence::promised()); });
    EXPECT_TRUE(run.sink().failures().empty());
  });
}

TEST(BufferFaults, SleepableBufferDestroyed) {
  sweep([](FaultRun& run) {
    SleepableBuffer buffer = run.retried(
        [&] { return SleepableBuffer::make(run.use(), {.size = 6_MiB, .piece_size = 2_MiB}); });
    run.retried([&] { return buffer.sleep(Quiescence::promised()); });
    run.retried([&] { return buffer.wake(); });
  });
}

// What a failed growth could not undo makes the row a part of a longer one, to which access is set
// mapping by mapping (rule set_access_part_of_run); and all or nothing of it is granted.
TEST(BufferFaults, GrantsBesideWhatAFailedGrowthLeft) {
  sim::SimDriver simulator(*sim::built_in_profile("h200"), {.devices = 2});
  ValidatingDriver validating(&simulator);
  test::FaultyDriver driver(&validating);
  must(driver.init(0));
  CollectingSink sink;
  GrowableBuffer buffer = must(
      GrowableBuffer::make({driver, sink}, {.reserve = 16_MiB, .growth = GrowthPolicy::exact()}));
  must(buffer.grow_to(2_MiB));
  must(buffer.grow_to(4_MiB));
  // mem_create, mem_map, mem_set_access, and mem_unmap to undo.
  driver.arm(2, ErrorCode::unknown, 3);
  EXPECT_FALSE(buffer.grow_to(6_MiB));
  EXPECT_EQ(driver.fired(), Call::mem_set_access);
  EXPECT_EQ(sink.failures().size(), 1U);
  const auto access_at = [&](Bytes offset) {
    return must(validating.mem_get_access({.address = buffer.address() + offset,
                                           .location = {.type = LocationType::device, .id = 1}}));
  };
  bool is_granted = false;
  std::size_t refusals = 0;
  for (std::size_t failing = 0; !is_granted; ++failing) {
    driver.arm(failing, ErrorCode::unknown);
    is_granted = buffer.grant(AccessSet::of_device(device_1)).has_value();
    refusals += driver.fired() == Call::mem_set_access ? 1U : 0U;
    const AccessFlags expected = is_granted ? AccessFlags::read_write : AccessFlags::none;
    EXPECT_EQ(access_at(Bytes()), expected);
    EXPECT_EQ(access_at(2_MiB), expected);
  }
  EXPECT_EQ(refusals, 2U);
  EXPECT_TRUE(validating.findings().empty()) << to_string(validating.findings().front());
  driver.disarm();
  must(sink.retry_all());
  must(buffer.close(Quiescence::promised()));
}

}  // namespace
}  // namespace tessera
