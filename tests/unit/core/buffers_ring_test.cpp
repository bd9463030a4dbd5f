#include <array>
#include <utility>

#include "support/mock_driver.h"
#include "tessera/buffers/mirrored_ring.h"
#include "unit/core/buffers_support.h"

namespace tessera {
namespace {

using sim::SimMachine;
using test::device_0;
using test::fails_with;
using test::holds_pattern;
using test::is_ok;
using test::must;
using test::write_pattern;

class MirroredRingOn : public testing::TestWithParam<const char*> {
 protected:
  MirroredRingOn() : machine(GetParam()), unit(test::unit_of(sim::profile_named(GetParam()))) {}

  SimMachine machine;
  Bytes unit;
  const sim::Books before = machine->books();
};

TEST_P(MirroredRingOn, AWindowOverTheEndIsOneRange) {
  {
    const Bytes free = machine.free_memory();
    const MirroredRing ring = must(MirroredRing::make(machine.driver(), {.capacity = unit}));
    EXPECT_EQ(ring.capacity(), unit);
    EXPECT_EQ(machine.free_memory(), free - unit);  // one memory
    const std::uint64_t position = unit.value() - 5;
    const AddressRange window = must(ring.window(position, unit));
    write_pattern(machine.driver(), window.begin(), unit, 1);
    // What lies past the end is what lies at the begin.
    std::array<std::byte, 4> begin = {};
    must(machine->memcpy_dtoh({.destination = begin, .source = ring.address()}));
    const std::vector<std::byte> written = test::pattern(9_B, 1);
    EXPECT_TRUE(std::equal(begin.begin(), begin.end(), written.begin() + 5));
    EXPECT_TRUE(holds_pattern(machine.driver(), ring.address_at(position), unit, 1));
  }
  EXPECT_TRUE(machine->books() == before);
}

TEST_P(MirroredRingOn, PositionsRunOnForEver) {
  const MirroredRing ring = must(MirroredRing::make(machine.driver(), {.capacity = unit}));
  EXPECT_EQ(ring.address_at(0), ring.address());
  EXPECT_EQ(ring.address_at(unit.value()), ring.address());
  EXPECT_EQ(ring.address_at(unit.value() * 1'000'003 + 17), ring.address() + 17_B);
  EXPECT_EQ(ring.address_at(~std::uint64_t{0}),
            ring.address() + Bytes(~std::uint64_t{0} % unit.value()));
}

TEST_P(MirroredRingOn, IsOneMemoryWithTwoMappings) {
  const MirroredRing ring = must(MirroredRing::make(machine.driver(), {.capacity = unit}));
  ASSERT_EQ(ring.pieces().size(), 1U);
  EXPECT_EQ(ring.pieces()[0].memory.mapping_count(), 2U);
  EXPECT_EQ(ring.mirror().begin(), ring.address() + unit);
  EXPECT_EQ(ring.mirror().memory_handle(), ring.pieces()[0].memory.handle());
}

INSTANTIATE_TEST_SUITE_P(Profiles, MirroredRingOn, testing::Values("h200", "tiny", "odd"),
                         test::profile_name);

TEST(MirroredRing, RefusesWrongUse) {
  SimMachine machine("h200");
  EXPECT_THAT(MirroredRing::make(machine.driver(), {.capacity = 0_B}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(MirroredRing::make(machine.driver(), {.capacity = test::largest_size}),
              fails_with(ErrorCode::invalid_value));
  // Fits into 64 bits once, not twice.
  EXPECT_THAT(MirroredRing::make(machine.driver(), {.capacity = Bytes(std::uint64_t{1} << 63U)}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(
      MirroredRing::make(machine.driver(),
                         {.capacity = 1_B, .memory = {.location = on_device(DeviceOrdinal(1))}}),
      fails_with(ErrorCode::invalid_device));
  MirroredRing ring = must(MirroredRing::make(machine.driver(), {.capacity = 1_B}));
  EXPECT_EQ(ring.capacity(), 2_MiB);
  const auto refused = ring.window(0, 2_MiB + 1_B);
  EXPECT_THAT(refused, fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(to_string(refused.error()), testing::HasSubstr("2 MiB"));
  EXPECT_THAT(ring.close(Quiescence::none()), fails_with(ErrorCode::not_permitted));
  EXPECT_THAT(ring.close(Quiescence::promised()), is_ok());
  EXPECT_THAT(ring.close(Quiescence::none()), is_ok());
  EXPECT_THAT(ring.window(0, 1_B), fails_with(ErrorCode::illegal_state));
}

TEST(MirroredRing, ItsDestructorWaitsOnce) {
  SimMachine machine("h200");
  testing::NiceMock<test::MockDriver> driver;
  driver.delegate_to(machine.driver());
  {
    MirroredRing ring = must(MirroredRing::make(driver, {.capacity = 2_MiB}));
    EXPECT_CALL(driver, ctx_synchronize()).Times(1);
    must(machine.launch_write(ring.address() + 3_MiB, 1, 1'000'000));
  }
  EXPECT_THAT(machine->ctx_synchronize(), is_ok());
}

TEST(MirroredRing, MovesAsAnObject) {
  SimMachine machine("h200");
  const sim::Books before = machine->books();
  {
    MirroredRing first = must(MirroredRing::make(machine.driver(), {.capacity = 2_MiB}));
    MirroredRing second = must(MirroredRing::make(machine.driver(), {.capacity = 4_MiB}));
    first = std::move(second);
    EXPECT_EQ(first.capacity(), 4_MiB);
    MirroredRing& same = first;
    first = std::move(same);
    EXPECT_EQ(first.capacity(), 4_MiB);
    EXPECT_FALSE(second.is_open());  // NOLINT(bugprone-use-after-move): that is what is tested
    EXPECT_EQ(machine->books().mappings, before.mappings + 2);
    EXPECT_EQ(first.pieces().size(), 1U);
    const AddressRange window = must(first.window((4_MiB - 1_B).value(), 2_B));
    write_pattern(machine.driver(), window.begin(), window.size(), 3);
    EXPECT_TRUE(holds_pattern(machine.driver(), window.begin(), window.size(), 3));
    EXPECT_THAT(first.close(Quiescence::promised()), is_ok());
    EXPECT_TRUE(machine->books() == before);
  }
  EXPECT_TRUE(machine->books() == before);
}

}  // namespace
}  // namespace tessera
