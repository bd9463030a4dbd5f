// GrowableBuffer whose reservation is full.

#include "tessera/buffers/growable_buffer.h"
#include "unit/core/buffers_support.h"

namespace tessera {
namespace {

using sim::SimMachine;
using test::fails_with;
using test::holds_pattern;
using test::is_ok;
using test::must;
using test::write_pattern;

class MovingBufferOn : public testing::TestWithParam<const char*> {
 protected:
  MovingBufferOn() : machine(GetParam()), unit(test::unit_of(sim::profile_named(GetParam()))) {}

  SimMachine machine;
  Bytes unit;
  const sim::Books before = machine->books();
  // Two pieces of one unit fill its reservation.
  GrowableBuffer buffer = [this] {
    GrowableBuffer made = must(GrowableBuffer::make(
        machine.driver(), {.reserve = unit * 2, .growth = GrowthPolicy::exact()}));
    must(made.grow_by(unit));
    must(made.grow_by(unit));
    write_pattern(machine.driver(), made.address(), unit * 2, 1);
    return made;
  }();
};

TEST_P(MovingBufferOn, MapsTheSameMemoryAnew) {
  const AddressRange old = buffer.range();
  const Bytes free = machine.free_memory();
  const Growth growth = must(buffer.grow_by(unit));
  EXPECT_TRUE(growth.moved);
  EXPECT_EQ(growth.old_range, old);
  EXPECT_NE(buffer.address(), old.begin());
  EXPECT_EQ(buffer.generation(), 2U);
  EXPECT_EQ(buffer.statistics().moves, 1U);
  EXPECT_EQ(buffer.statistics().retired, unit * 2);
  EXPECT_GE(buffer.reserved_range().size(), unit * 6);
  // Nothing was copied, and no memory made but for the increment.
  EXPECT_EQ(machine.free_memory(), free - unit);
  EXPECT_TRUE(holds_pattern(machine.driver(), buffer.address(), unit * 2, 1));
  // The old addresses are aliases: work queued with them goes on.
  write_pattern(machine.driver(), old.begin(), unit * 2, 2);
  EXPECT_TRUE(holds_pattern(machine.driver(), buffer.address(), unit * 2, 2));
  // There is room now.
  EXPECT_FALSE(must(buffer.grow_by(unit)).moved);
}

TEST_P(MovingBufferOn, KeepsOldAddressesUntilTheyAreReleased) {
  const AddressRange old = buffer.range();
  must(buffer.grow_by(unit));
  EXPECT_THAT(buffer.release_retired(Quiescence::none()), fails_with(ErrorCode::not_permitted));
  EXPECT_EQ(machine->books().reservations, before.reservations + 2);
  EXPECT_THAT(buffer.release_retired(Quiescence::promised()), is_ok());
  EXPECT_EQ(machine->books().reservations, before.reservations + 1);
  EXPECT_EQ(buffer.statistics().retired, 0_B);
  EXPECT_THAT(machine->mem_get_access({.address = old.begin()}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_TRUE(holds_pattern(machine.driver(), buffer.address(), unit * 2, 1));
  must(buffer.close(Quiescence::promised()));
  EXPECT_TRUE(machine->books() == before);
}

TEST_P(MovingBufferOn, GivesMemoryBackWithTheLastOfItsMappings) {
  must(buffer.grow_by(unit));
  must(buffer.shrink_to(0_B, Quiescence::promised()));
  // The two old pieces are still mapped at the old place.
  EXPECT_EQ(machine->books().allocations, before.allocations + 2);
  must(buffer.release_retired(Quiescence::promised()));
  EXPECT_EQ(machine->books().devices, before.devices);
}

TEST_P(MovingBufferOn, CloseGivesBackOldAddressesToo) {
  must(buffer.grow_by(unit));
  must(buffer.close(Quiescence::promised()));
  EXPECT_TRUE(machine->books() == before);
}

TEST_P(MovingBufferOn, AnEmptyOneMovesWithoutOldPieces) {
  must(buffer.shrink_to(0_B, Quiescence::promised()));
  const Growth growth = must(buffer.grow_to(unit * 3));
  EXPECT_TRUE(growth.moved);
  EXPECT_TRUE(growth.old_range.is_empty());
  EXPECT_EQ(machine->books().mappings, before.mappings + 1);
}

INSTANTIATE_TEST_SUITE_P(Profiles, MovingBufferOn, testing::Values("h200", "tiny", "odd"),
                         test::profile_name);

TEST(MovingBuffer, SaysThatAddressesLackNotMemory) {
  SimMachine machine("tiny");
  GrowableBuffer buffer = must(GrowableBuffer::make(
      machine.driver(), {.reserve = 256_KiB, .growth = GrowthPolicy::exact()}));
  must(buffer.grow_to(256_KiB));
  write_pattern(machine.driver(), buffer.address(), 256_KiB, 3);
  const sim::Books before = machine->books();
  const auto refused = buffer.grow_to(64_MiB);
  EXPECT_THAT(refused, fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(refused.error().call, Call::mem_address_reserve);
  EXPECT_THAT(to_string(refused.error()), testing::HasSubstr("memory is another budget"));
  EXPECT_TRUE(machine->books() == before);
  EXPECT_TRUE(holds_pattern(machine.driver(), buffer.address(), 256_KiB, 3));
}

TEST(MovingBuffer, TheNewMappingsMayExceedThePageTables) {
  // tiny allows 16 mappings with access: 9 old ones, 10 new ones are too many (bug 1).
  SimMachine machine("tiny");
  GrowableBuffer buffer = must(GrowableBuffer::make(
      machine.driver(), {.reserve = 576_KiB, .growth = GrowthPolicy::exact()}));
  for (int i = 0; i < 9; ++i) {
    must(buffer.grow_by(64_KiB));
  }
  write_pattern(machine.driver(), buffer.address(), 576_KiB, 4);
  const sim::Books before = machine->books();
  const auto refused = buffer.grow_by(64_KiB);
  EXPECT_THAT(refused, fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(refused.error().call, Call::mem_set_access);
  EXPECT_TRUE(machine->books() == before);
  EXPECT_EQ(buffer.generation(), 1U);
  EXPECT_TRUE(holds_pattern(machine.driver(), buffer.address(), 576_KiB, 4));
  // With fewer pieces it works.
  must(buffer.shrink_to(128_KiB, Quiescence::promised()));
  EXPECT_TRUE(must(buffer.grow_to(1_MiB)).moved);
  EXPECT_TRUE(holds_pattern(machine.driver(), buffer.address(), 128_KiB, 4));
}

}  // namespace
}  // namespace tessera
