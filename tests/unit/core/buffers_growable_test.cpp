// GrowableBuffer while its addresses last.
#include <array>
#include <utility>

#include "support/mock_driver.h"
#include "tessera/buffers/growable_buffer.h"
#include "unit/core/buffers_support.h"

namespace tessera {
namespace {

using sim::SimMachine;
using test::device_0;
using test::device_1;
using test::fails_with;
using test::holds_pattern;
using test::is_ok;
using test::must;
using test::write_pattern;
using testing::_;

class GrowableBufferOn : public testing::TestWithParam<const char*> {
 protected:
  GrowableBufferOn() : machine(GetParam()), unit(test::unit_of(sim::profile_named(GetParam()))) {}

  GrowableBuffer make(GrowthPolicy growth = GrowthPolicy::exact(), std::uint64_t units = 32) {
    return must(
        GrowableBuffer::make(machine.driver(), {.reserve = unit * units, .growth = growth}));
  }

  SimMachine machine;
  Bytes unit;
  const sim::Books before = machine->books();
};

TEST_P(GrowableBufferOn, KeepsItsAddressAndItsContents) {
  {
    GrowableBuffer buffer = make();
    EXPECT_EQ(buffer.capacity(), 0_B);
    const DeviceAddress address = buffer.address();
    for (std::uint32_t i = 0; i < 5; ++i) {
      const Growth growth = must(buffer.grow_by(unit));
      EXPECT_FALSE(growth.moved);
      write_pattern(machine.driver(), address + unit * i, unit, i);
    }
    EXPECT_EQ(buffer.address(), address);
    EXPECT_EQ(buffer.generation(), 1U);
    EXPECT_EQ(buffer.size(), unit * 5);
    EXPECT_EQ(buffer.range(), AddressRange(address, unit * 5));
    for (std::uint32_t i = 0; i < 5; ++i) {
      EXPECT_TRUE(holds_pattern(machine.driver(), address + unit * i, unit, i));
    }
  }
  EXPECT_TRUE(machine->books() == before);
}

TEST_P(GrowableBufferOn, GrowsWithNoMemoryWhereThereIsCapacity) {
  GrowableBuffer buffer = make(GrowthPolicy::chunks(unit * 4));
  must(buffer.grow_to(1_B));
  EXPECT_EQ(buffer.size(), 1_B);
  EXPECT_EQ(buffer.capacity(), unit * 4);
  must(buffer.grow_to(unit * 4));
  must(buffer.grow_to(unit));  // less than there is
  must(buffer.grow_by(0_B));
  EXPECT_EQ(buffer.size(), unit * 4);
  EXPECT_EQ(buffer.statistics().grows, 1U);
  EXPECT_EQ(buffer.statistics().pieces, 1U);
}

TEST_P(GrowableBufferOn, ShrinksByWholePieces) {
  GrowableBuffer buffer = make();
  for (int i = 0; i < 3; ++i) {
    must(buffer.grow_by(unit * 2));
  }
  write_pattern(machine.driver(), buffer.address(), unit * 3, 7);
  must(buffer.shrink_to(unit * 3, Quiescence::promised()));
  EXPECT_EQ(buffer.size(), unit * 3);
  EXPECT_EQ(buffer.capacity(), unit * 4);
  EXPECT_TRUE(holds_pattern(machine.driver(), buffer.address(), unit * 3, 7));
  EXPECT_EQ(machine->books().mappings, before.mappings + 2);
  must(buffer.shrink_to(0_B, Quiescence::promised()));
  EXPECT_EQ(buffer.capacity(), 0_B);
  EXPECT_EQ(machine->books().devices, before.devices);
  must(buffer.grow_to(unit));
  EXPECT_EQ(buffer.statistics().shrinks, 2U);
  must(buffer.close(Quiescence::promised()));
  EXPECT_TRUE(machine->books() == before);
}

TEST_P(GrowableBufferOn, PiecesAreInAddressOrderWithoutHoles) {
  GrowableBuffer buffer = make();
  must(buffer.grow_by(unit));
  must(buffer.grow_by(unit * 2));
  must(buffer.grow_by(unit));
  DeviceAddress next = buffer.address();
  Bytes total;
  for (const Piece& piece : buffer.pieces()) {
    EXPECT_EQ(piece.range().begin(), next);
    EXPECT_EQ(piece.memory.size(), piece.range().size());
    EXPECT_EQ(piece.memory.handle(), piece.mapping.memory_handle());
    next = piece.range().end();
    total += piece.memory.size();
  }
  EXPECT_EQ(total, unit * 4);
}

TEST_P(GrowableBufferOn, MovesAsAnObject) {
  GrowableBuffer first = make();
  must(first.grow_by(unit));
  const DeviceAddress address = first.address();
  GrowableBuffer second = std::move(first);
  EXPECT_FALSE(first.is_open());  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_THAT(first.grow_to(unit), fails_with(ErrorCode::illegal_state));
  EXPECT_EQ(second.address(), address);
  GrowableBuffer third = make();
  must(third.grow_by(unit * 2));
  third = std::move(second);
  EXPECT_EQ(third.address(), address);
  GrowableBuffer& same = third;
  third = std::move(same);
  EXPECT_EQ(third.address(), address);
  EXPECT_EQ(third.size(), unit);
  EXPECT_EQ(machine->books().mappings, before.mappings + 1);
}

INSTANTIATE_TEST_SUITE_P(Profiles, GrowableBufferOn, testing::Values("h200", "tiny", "odd"),
                         test::profile_name);

TEST(GrowableBuffer, AGrowthIsCreateMapAndSetAccessOfTheTail) {
  SimMachine machine("h200", {.devices = 2});
  // Strict: any call beside these is a failure.
  testing::StrictMock<test::MockDriver> driver;
  driver.delegate_to(machine.driver());
  GrowableBuffer buffer = [&] {
    EXPECT_CALL(driver, device_get_count()).Times(testing::AnyNumber());
    EXPECT_CALL(driver, device_can_access_peer(_)).Times(testing::AnyNumber());
    EXPECT_CALL(driver, mem_get_allocation_granularity(_)).Times(1);
    EXPECT_CALL(driver, mem_address_reserve(_)).Times(1);
    return must(
        GrowableBuffer::make(driver, {.access = AccessSet::of_device(device_1), .reserve = 1_GiB}));
  }();
  EXPECT_CALL(driver, mem_create(_));
  EXPECT_CALL(driver, mem_map(_));
  EXPECT_CALL(driver, mem_set_access(_));
  must(buffer.grow_to(4_MiB));
  testing::Mock::VerifyAndClearExpectations(&driver);
  {
    testing::InSequence sequence;
    const DeviceAddress tail = buffer.address() + 4_MiB;
    EXPECT_CALL(driver, mem_create(testing::Field(&CreateRequest::size, 12_MiB)));
    EXPECT_CALL(driver, mem_map(testing::AllOf(testing::Field(&MapRequest::address, tail),
                                               testing::Field(&MapRequest::size, 12_MiB))));
    EXPECT_CALL(driver, mem_set_access(testing::Truly([tail](const SetAccessRequest& request) {
                  return request.address == tail && request.size == 12_MiB &&
                         request.descriptors.size() == 2;
                })));
  }
  must(buffer.grow_to(15_MiB));
  testing::Mock::VerifyAndClearExpectations(&driver);
  // Unmapping goes mapping by mapping, last first, each release after its unmapping.
  {
    testing::InSequence sequence;
    EXPECT_CALL(driver, mem_unmap(testing::Field(&UnmapRequest::size, 12_MiB)));
    EXPECT_CALL(driver, mem_release(_));
    EXPECT_CALL(driver, mem_unmap(testing::Field(&UnmapRequest::size, 4_MiB)));
    EXPECT_CALL(driver, mem_release(_));
    EXPECT_CALL(driver, mem_address_free(testing::Field(&AddressFreeRequest::size, 1_GiB)));
  }
  must(buffer.close(Quiescence::promised()));
}

TEST(GrowableBuffer, FallsBackToTheNeedWhereMemoryLacks) {
  SimMachine machine("tiny");
  const Bytes free = align_down(machine.free_memory(), machine.unit());
  GrowableBuffer buffer = must(GrowableBuffer::make(
      machine.driver(), {.reserve = 4_MiB, .growth = GrowthPolicy::factor(2)}));
  const Bytes most = free - machine.unit();
  must(buffer.grow_to(most));
  must(buffer.grow_to(free));  // twice as much is not there
  EXPECT_EQ(buffer.capacity(), free);
  EXPECT_EQ(buffer.statistics().fallbacks, 1U);
  const auto refused = buffer.grow_by(1_B);
  EXPECT_THAT(refused, fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(refused.error().reason, Reason::out_of_device_memory);
  EXPECT_EQ(buffer.size(), free);
}

TEST(GrowableBuffer, DoesNotFallBackUnlessMemoryLacks) {
  SimMachine machine("h200");
  test::FaultyDriver driver(&machine.driver());
  GrowableBuffer buffer = must(
      GrowableBuffer::make(driver, {.reserve = 64_MiB, .growth = GrowthPolicy::chunks(8_MiB)}));
  driver.arm(0, ErrorCode::not_supported);
  EXPECT_THAT(buffer.grow_to(2_MiB), fails_with(ErrorCode::not_supported));
  EXPECT_EQ(driver.calls(), 1U);
  driver.arm(0, ErrorCode::out_of_memory);
  EXPECT_THAT(buffer.grow_to(2_MiB), is_ok());
  EXPECT_EQ(buffer.capacity(), 2_MiB);
}

TEST(GrowableBuffer, ReservesWhatThereIs) {
  // tiny has 4 MiB and 2 MiB of addresses.
  SimMachine machine("tiny");
  const GrowableBuffer buffer = must(GrowableBuffer::make(machine.driver(), {.reserve = 16_MiB}));
  EXPECT_EQ(buffer.reserved_range().size(), 4_MiB);
  SimMachine large("h200");
  const GrowableBuffer whole = must(GrowableBuffer::make(large.driver()));
  EXPECT_GE(whole.reserved_range().size(), must(large->device_total_mem(device_0)));
  SimMachine odd("odd");
  EXPECT_THAT(GrowableBuffer::make(odd.driver()), is_ok());
  EXPECT_THAT(GrowableBuffer::make(odd.driver(), {.memory = {.location = on_host()}}), is_ok());
}

TEST(GrowableBuffer, GrantsWhatThereIsAndWhatComes) {
  SimMachine machine("h200", {.devices = 2});
  GrowableBuffer buffer = must(
      GrowableBuffer::make(machine.driver(), {.reserve = 64_MiB, .growth = GrowthPolicy::exact()}));
  const auto access_at = [&](Bytes offset) {
    return must(machine->mem_get_access(
        {.address = buffer.address() + offset, .location = on_device(device_1)}));
  };
  must(buffer.grow_by(2_MiB));
  must(buffer.grow_by(2_MiB));
  EXPECT_EQ(access_at(0_B), AccessFlags::none);
  must(buffer.grant(AccessSet()));
  EXPECT_EQ(buffer.access(), AccessSet::of_device(device_0));
  must(buffer.grant(std::array{device_1}));
  must(buffer.grow_by(2_MiB));
  for (const Bytes offset : {0_MiB, 2_MiB, 4_MiB}) {
    EXPECT_EQ(access_at(offset), AccessFlags::read_write);
  }
  EXPECT_EQ(buffer.access(), AccessSet::of_devices({device_0, device_1}));
}

// The memory of a piece is kept until it can be released; the mapping that cannot go stays.
TEST(GrowableBuffer, ShrinksAsFarAsItCan) {
  SimMachine machine("h200");
  test::FaultyDriver driver(&machine.driver());
  GrowableBuffer buffer =
      must(GrowableBuffer::make(driver, {.reserve = 64_MiB, .growth = GrowthPolicy::exact()}));
  for (int i = 0; i < 3; ++i) {
    must(buffer.grow_by(2_MiB));
  }
  driver.arm(1, ErrorCode::unknown, 2);  // a release, and the unmap after it
  const Status shrunk = buffer.shrink_to(0_B, Quiescence::promised());
  ASSERT_THAT(shrunk, fails_with(ErrorCode::unknown));
  EXPECT_EQ(shrunk.error().call, Call::mem_release) << "the first error";
  EXPECT_EQ(buffer.size(), 4_MiB);
  driver.disarm();
  must(buffer.shrink_to(0_B, Quiescence::promised()));
  EXPECT_EQ(machine->books().allocations, 0U);
}

TEST(GrowableBuffer, AGrantThatFailsChangesNothing) {
  SimMachine machine("h200", {.devices = 2});
  test::FaultyDriver driver(&machine.driver());
  GrowableBuffer buffer = must(GrowableBuffer::make(driver, {.reserve = 64_MiB}));
  must(buffer.grow_by(2_MiB));
  driver.arm(1, ErrorCode::out_of_memory);  // the first asks whether the device reaches it
  EXPECT_THAT(buffer.grant(std::array{device_1}), fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(driver.fired(), Call::mem_set_access);
  EXPECT_EQ(buffer.access(), AccessSet::of_device(device_0));
  must(buffer.grow_by(4_MiB));
  EXPECT_EQ(must(machine->mem_get_access(
                {.address = buffer.address() + 2_MiB, .location = on_device(device_1)})),
            AccessFlags::none);
}

TEST(GrowableBuffer, NamesThePairThatCannotReach) {
  SimMachine machine("odd", {.devices = 4});
  const MemoryOptions on_3 = {.location = on_device(DeviceOrdinal(3))};
  const auto refused = GrowableBuffer::make(
      machine.driver(), {.memory = on_3, .access = AccessSet::of_device(device_1)});
  EXPECT_THAT(refused, fails_with(ErrorCode::peer_access_unsupported));
  EXPECT_THAT(to_string(refused.error()),
              testing::HasSubstr("device 1 cannot reach memory of device 3"));
  GrowableBuffer buffer = must(GrowableBuffer::make(machine.driver(), {.memory = on_3}));
  EXPECT_THAT(buffer.grant(std::array{device_0}), fails_with(ErrorCode::peer_access_unsupported));
}

TEST(GrowableBuffer, WantsProofForTheDevicesWithAccess) {
  SimMachine machine("h200", {.devices = 2});
  GrowableBuffer buffer = must(GrowableBuffer::make(
      machine.driver(), {.access = AccessSet::of_device(device_1), .reserve = 64_MiB}));
  must(buffer.grow_to(2_MiB));
  const auto of_device_0 = [&] {
    return must(Quiescence::after_device(machine.driver(), device_0));
  };
  const Status shrunk = buffer.shrink_to(0_B, of_device_0());
  EXPECT_THAT(shrunk, fails_with(ErrorCode::not_permitted));
  EXPECT_THAT(to_string(shrunk.error()), testing::HasSubstr("device 1"));
  EXPECT_THAT(buffer.close(of_device_0()), fails_with(ErrorCode::not_permitted));
  EXPECT_EQ(buffer.size(), 2_MiB);
  Quiescence both = of_device_0();
  both.join(must(Quiescence::after_device(machine.driver(), device_1)));
  EXPECT_THAT(buffer.close(std::move(both)), is_ok());
  EXPECT_THAT(buffer.close(Quiescence::none()), is_ok());
}

TEST(GrowableBuffer, NothingMappedNeedsNoProof) {
  SimMachine machine("h200");
  GrowableBuffer buffer = must(GrowableBuffer::make(machine.driver(), {.reserve = 64_MiB}));
  EXPECT_THAT(buffer.shrink_to(0_B, Quiescence::none()), is_ok());
  EXPECT_THAT(buffer.release_retired(Quiescence::none()), is_ok());
  EXPECT_THAT(buffer.close(Quiescence::none()), is_ok());
}

TEST(GrowableBuffer, ItsDestructorWaitsForWorkInFlight) {
  SimMachine machine("h200");
  {
    GrowableBuffer buffer = must(GrowableBuffer::make(machine.driver(), {.reserve = 64_MiB}));
    must(buffer.grow_to(2_MiB));
    must(buffer.grow_to(8_MiB));
    must(machine.launch_write(buffer.address() + 5_MiB, 1, 1'000'000));
  }
  // The work found its memory: the contexts are not lost.
  EXPECT_THAT(machine->ctx_synchronize(), is_ok());
}

TEST(GrowableBuffer, ItsDestructorWaitsOnceForAll) {
  SimMachine machine("h200");
  testing::NiceMock<test::MockDriver> driver;
  driver.delegate_to(machine.driver());
  {
    GrowableBuffer buffer =
        must(GrowableBuffer::make(driver, {.reserve = 4_MiB, .growth = GrowthPolicy::exact()}));
    for (int i = 0; i < 4; ++i) {
      must(buffer.grow_by(2_MiB));
    }
    ASSERT_EQ(buffer.statistics().moves, 1U);
    EXPECT_CALL(driver, ctx_synchronize()).Times(1);
  }
}

TEST(GrowableBuffer, RefusesWrongUseInWords) {
  SimMachine machine("h200");
  const auto text = [](const auto& result) { return to_string(result.error()); };
  EXPECT_THAT(
      GrowableBuffer::make(machine.driver(), {.memory = {.location = on_device(DeviceOrdinal(7))}}),
      fails_with(ErrorCode::invalid_device));
  EXPECT_THAT(GrowableBuffer::make(machine.driver(),
                                   {.memory = {.location = on_device(DeviceOrdinal(-1))}}),
              fails_with(ErrorCode::invalid_device));
  GrowableBuffer buffer = must(GrowableBuffer::make(machine.driver(), {.reserve = 64_MiB}));
  EXPECT_THAT(buffer.grant(std::array{DeviceOrdinal(99)}), fails_with(ErrorCode::invalid_device));
  must(buffer.grow_to(2_MiB));
  EXPECT_THAT(buffer.grow_to(test::largest_size), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(buffer.grow_by(test::largest_size), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(text(buffer.grow_by(test::largest_size)), testing::HasSubstr("more than any memory"));
  const Status more = buffer.shrink_to(4_MiB, Quiescence::promised());
  EXPECT_THAT(more, fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(text(more), testing::HasSubstr("grow_to"));
  EXPECT_EQ(buffer.size(), 2_MiB);

  must(buffer.close(Quiescence::promised()));
  EXPECT_FALSE(buffer.is_open());
  EXPECT_EQ(buffer.size(), 0_B);
  EXPECT_EQ(buffer.statistics().mapped, 0_B);
  EXPECT_THAT(buffer.grow_to(2_MiB), fails_with(ErrorCode::illegal_state));
  EXPECT_THAT(buffer.shrink_to(0_B, Quiescence::promised()), fails_with(ErrorCode::illegal_state));
  EXPECT_THAT(buffer.grant(AccessSet::of_device(device_0)), fails_with(ErrorCode::illegal_state));
  EXPECT_THAT(text(buffer.grow_to(2_MiB)), testing::HasSubstr("closed"));
}

}  // namespace
}  // namespace tessera
