#include <utility>

#include "tessera/buffers/striped_buffer.h"
#include "unit/core/buffers_support.h"

namespace tessera {
namespace {

using sim::SimMachine;
using test::device_0;
using test::device_1;
using test::fails_with;
using test::holds_pattern;
using test::is_ok;
using test::is_ok_and_holds;
using test::must;
using test::write_pattern;

class StripedBufferOn : public testing::TestWithParam<const char*> {
 protected:
  StripedBufferOn()
      : machine(GetParam(), {.devices = 2}), unit(test::unit_of(sim::profile_named(GetParam()))) {}

  SimMachine machine;
  Bytes unit;
  const sim::Books before = machine->books();
};

TEST_P(StripedBufferOn, LiesOnAllDevicesUnderOneAddress) {
  const Bytes free_0 = machine.free_memory(device_0);
  const Bytes free_1 = machine.free_memory(device_1);
  {
    const StripedBuffer buffer = must(
        StripedBuffer::make(machine.driver(), {.size = unit * 4, .devices = {device_0, device_1}}));
    EXPECT_EQ(buffer.capacity(), unit * 4);
    EXPECT_EQ(buffer.stripe_count(), 2U);
    EXPECT_EQ(buffer.stripe_size(), unit * 2);
    EXPECT_EQ(buffer.stripe(1), AddressRange(buffer.address() + unit * 2, unit * 2));
    EXPECT_EQ(machine.free_memory(device_0), free_0 - unit * 2);
    EXPECT_EQ(machine.free_memory(device_1), free_1 - unit * 2);
    write_pattern(machine.driver(), buffer.address(), unit * 4, 1);
    // Device 1 reaches both stripes, too.
    must(machine->ctx_set_current(must(machine->device_primary_ctx_retain(device_1))));
    EXPECT_TRUE(holds_pattern(machine.driver(), buffer.address(), unit * 4, 1));
    must(machine->device_primary_ctx_release(device_1));
    must(machine->ctx_set_current(machine.primary()));
  }
  EXPECT_EQ(machine->books().mappings, before.mappings);
  EXPECT_EQ(machine.free_memory(device_1), free_1);
}

TEST_P(StripedBufferOn, RoundsUpToWholeStripes) {
  const StripedBuffer buffer = must(StripedBuffer::make(
      machine.driver(), {.size = unit * 2 + 1_B, .devices = {device_0, device_1}}));
  EXPECT_EQ(buffer.size(), unit * 2 + 1_B);
  EXPECT_EQ(buffer.range().size(), buffer.size());
  EXPECT_EQ(buffer.capacity() % (machine.unit() * 2), 0_B);
  EXPECT_LT(buffer.capacity() - buffer.size(), machine.unit() * 2);
}

TEST_P(StripedBufferOn, KnowsWhoseMemoryIsWhere) {
  const StripedBuffer buffer = must(
      StripedBuffer::make(machine.driver(), {.size = unit * 4, .devices = {device_1, device_0}}));
  const DeviceAddress begin = buffer.address();
  EXPECT_THAT(buffer.device_at(begin), is_ok_and_holds(device_1));
  EXPECT_THAT(buffer.device_at(begin + unit * 2 - 1_B), is_ok_and_holds(device_1));
  EXPECT_THAT(buffer.device_at(begin + unit * 2), is_ok_and_holds(device_0));
  EXPECT_THAT(buffer.device_at(begin + unit * 4), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(buffer.device_at(DeviceAddress()), fails_with(ErrorCode::invalid_value));
  for (const Piece& piece : buffer.pieces()) {
    EXPECT_EQ(buffer.device_at(piece.range().begin()).value().value(),
              piece.memory.asked().location.id);
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, StripedBufferOn, testing::Values("h200", "tiny", "odd"),
                         test::profile_name);

TEST(StripedBuffer, NamesThePairThatCannotReach) {
  SimMachine machine("odd", {.devices = 4});
  const sim::Books before = machine->books();
  const auto refused = StripedBuffer::make(
      machine.driver(), {.size = 1_MiB, .devices = {device_0, DeviceOrdinal(2)}});
  EXPECT_THAT(refused, fails_with(ErrorCode::peer_access_unsupported));
  EXPECT_THAT(to_string(refused.error()), testing::HasSubstr("cannot reach memory of device"));
  EXPECT_TRUE(machine->books() == before);
}

TEST(StripedBuffer, RefusesWrongUse) {
  SimMachine machine("h200", {.devices = 2});
  const auto make = [&](Bytes size, std::vector<DeviceOrdinal> devices) {
    return StripedBuffer::make(machine.driver(), {.size = size, .devices = std::move(devices)});
  };
  EXPECT_THAT(make(2_MiB, {}), fails_with(ErrorCode::invalid_value));
  EXPECT_EQ(make(2_MiB, {}).error().reason, Reason::no_devices);
  EXPECT_THAT(make(2_MiB, {device_0, DeviceOrdinal(2)}), fails_with(ErrorCode::invalid_device));
  EXPECT_THAT(make(2_MiB, {DeviceOrdinal(-1)}), fails_with(ErrorCode::invalid_device));
  EXPECT_THAT(make(0_B, {device_0}), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(make(test::largest_size, {device_0, device_1}), fails_with(ErrorCode::invalid_value));
}

TEST(StripedBuffer, WantsProofForAllItsDevices) {
  SimMachine machine("h200", {.devices = 2});
  const sim::Books before = machine->books();
  StripedBuffer buffer =
      must(StripedBuffer::make(machine.driver(), {.size = 8_MiB, .devices = {device_0, device_1}}));
  const Status closed = buffer.close(must(Quiescence::after_device(machine.driver(), device_0)));
  EXPECT_THAT(closed, fails_with(ErrorCode::not_permitted));
  EXPECT_THAT(to_string(closed.error()), testing::HasSubstr("device 1"));
  EXPECT_THAT(buffer.close(Quiescence::promised()), is_ok());
  EXPECT_THAT(buffer.close(Quiescence::none()), is_ok());
  EXPECT_TRUE(machine->books() == before);
  EXPECT_THAT(buffer.device_at(DeviceAddress(1)), fails_with(ErrorCode::illegal_state));
}

TEST(StripedBuffer, MovesAsAnObject) {
  SimMachine machine("h200", {.devices = 2});
  const sim::Books before = machine->books();
  {
    StripedBuffer first =
        must(StripedBuffer::make(machine.driver(), {.size = 8_MiB, .devices = {device_0}}));
    StripedBuffer second =
        must(StripedBuffer::make(machine.driver(), {.size = 4_MiB, .devices = {device_1}}));
    const DeviceAddress address = second.address();
    first = std::move(second);
    EXPECT_EQ(first.address(), address);
    EXPECT_EQ(machine->books().mappings, before.mappings + 1);
  }
  EXPECT_EQ(machine->books().reservations, before.reservations);
}

}  // namespace
}  // namespace tessera
