// Mappings, aliases, and what they hold.
#include <memory>
#include <vector>

#include "conformance/suite.h"

namespace tessera::conformance {
namespace {

class Mappings : public Conformance {
 protected:
  Status map(DeviceAddress address, const Memory& memory) {
    return driver().mem_map({.address = address, .size = memory.size(), .handle = memory.handle()});
  }
  Status unmap(DeviceAddress address, Bytes size) {
    return driver().mem_unmap({.address = address, .size = size});
  }
};

TEST_P(Mappings, HoldData) {
  Reservation range(driver(), unit() * 4);
  const Memory memory(driver(), unit() * 2);
  range.map(range.begin() + unit(), memory.size(), memory.handle());
  ASSERT_THAT(set_access(range.begin() + unit(), memory.size()), is_ok());
  EXPECT_THAT(fill(range.begin() + unit(), memory.size(), 9), is_ok());
  expect_byte(range.begin() + unit(), 9);
  expect_byte(range.begin() + unit() * 3 - 1_B, 9);
  expect_usable(range.begin() + unit(), memory.size());
}

TEST_P(Mappings, AliasOneMemory) {
  Reservation range(driver(), unit() * 3);
  const Memory memory(driver(), unit());
  range.map(range.begin(), unit(), memory.handle());
  range.map(range.begin() + unit(), unit(), memory.handle());
  ASSERT_THAT(set_access(range.begin(), unit() * 2), is_ok());
  EXPECT_THAT(put(range.begin() + 77_B, 123), is_ok());
  expect_byte(range.begin() + unit() + 77_B, 123);
  // As in a ring: what crosses the border comes back at the begin.
  EXPECT_THAT(fill(range.begin() + unit() - 8_B, 16_B, 4), is_ok());
  expect_byte(range.begin(), 4);
  expect_byte(range.begin() + 7_B, 4);
  expect_byte(range.begin() + unit() * 2 - 8_B, 4);
  // One alias goes; the other keeps all.
  EXPECT_THAT(range.unmap(range.begin(), unit()), is_ok());
  expect_byte(range.begin() + unit() + 77_B, 123);
}

TEST_P(Mappings, ContentsSurviveARemap) {
  Reservation first(driver(), unit());
  Reservation second(driver(), unit() * 2);
  const Memory memory(driver(), unit());
  first.map(first.begin(), unit(), memory.handle());
  ASSERT_THAT(set_access(first.begin(), unit()), is_ok());
  ASSERT_THAT(fill(first.begin(), unit(), 6), is_ok());
  EXPECT_THAT(first.unmap(first.begin(), unit()), is_ok());
  second.map(second.begin() + unit(), unit(), memory.handle());
  EXPECT_THAT(access(second.begin() + unit()), is_ok_and_holds(AccessFlags::none));
  ASSERT_THAT(set_access(second.begin() + unit(), unit()), is_ok());
  expect_byte(second.begin() + unit(), 6);
  expect_byte(second.begin() + unit() * 2 - 1_B, 6);
}

TEST_P(Mappings, AccessGoesWithTheMapping) {
  Reservation range(driver(), unit());
  const Memory memory(driver(), unit());
  range.map(range.begin(), unit(), memory.handle());
  ASSERT_THAT(set_access(range.begin(), unit()), is_ok());
  EXPECT_THAT(range.unmap(range.begin(), unit()), is_ok());
  EXPECT_THAT(access(range.begin()), fails_with(ErrorCode::invalid_value));
  range.map(range.begin(), unit(), memory.handle());
  EXPECT_THAT(access(range.begin()), is_ok_and_holds(AccessFlags::none));
}

TEST_P(Mappings, GrowInPlace) {
  Reservation range(driver(), unit() * 6);
  std::vector<std::unique_ptr<Memory>> memories;
  for (std::uint8_t i = 0; i < 6; ++i) {
    const DeviceAddress tail = range.begin() + unit() * i;
    memories.push_back(std::make_unique<Memory>(driver(), unit()));
    range.map(tail, unit(), memories.back()->handle());
    ASSERT_THAT(set_access(tail, unit()), is_ok());
    ASSERT_THAT(put(tail, i), is_ok());
    for (std::uint8_t older = 0; older <= i; ++older) {
      expect_byte(range.begin() + unit() * older, older);
    }
  }
}

TEST_P(Mappings, NeedReservedAddresses) {
  const Memory memory(driver(), unit());
  EXPECT_THAT(map(DeviceAddress(), memory), fails_with(ErrorCode::invalid_value));
  const DeviceAddress freed = Reservation(driver(), unit()).begin();
  EXPECT_THAT(map(freed, memory), fails_with(ErrorCode::invalid_value));
}

TEST_P(Mappings, BeginAtMultiplesOfTheGranularity) {
  const Reservation range(driver(), unit() * 2);
  const Memory memory(driver(), unit());
  for (const Bytes off : {1_B, Bytes(4096), unit() - 1_B}) {
    EXPECT_THAT(map(range.begin() + off, memory), fails_with(ErrorCode::invalid_value));
  }
}

TEST_P(Mappings, DoNotOverlap) {
  Reservation range(driver(), unit() * 4);
  const Memory memory(driver(), unit() * 2);
  const Memory other(driver(), unit() * 2);
  range.map(range.begin() + unit(), unit() * 2, memory.handle());
  for (const std::uint64_t place : {0U, 1U, 2U}) {
    EXPECT_THAT(map(range.begin() + unit() * place, other), fails_with(ErrorCode::invalid_value));
  }
  EXPECT_THAT(map(range.begin() + unit(), memory), fails_with(ErrorCode::invalid_value));
}

TEST_P(Mappings, RefuseFlagsAndNoSize) {
  const Reservation range(driver(), unit());
  const Memory memory(driver(), unit());
  EXPECT_THAT(
      driver().mem_map(
          {.address = range.begin(), .size = unit(), .handle = memory.handle(), .flags = 1}),
      fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(
      driver().mem_map({.address = range.begin(), .size = Bytes(0), .handle = memory.handle()}),
      fails_with(ErrorCode::invalid_value));
}

TEST_P(Mappings, AreWholeHandles) {
  Reservation range(driver(), unit() * 8);
  const Memory memory(driver(), unit() * 4);
  const auto map_part = [&](Bytes size, Bytes offset) {
    return driver().mem_map(
        {.address = range.begin(), .size = size, .offset = offset, .handle = memory.handle()});
  };
  if (features().maps_parts) {
    range.map(range.begin(), unit() * 4, memory.handle());
    ASSERT_THAT(set_access(range.begin(), unit() * 4), is_ok());
    ASSERT_THAT(put(range.begin() + unit() * 2 + 5_B, 8), is_ok());
    ASSERT_THAT(range.unmap(range.begin(), unit() * 4), is_ok());
    ASSERT_THAT(map_part(unit(), unit() * 2), is_ok());
    EXPECT_THAT(set_access(range.begin(), unit()), is_ok());
    expect_byte(range.begin() + 5_B, 8);
    EXPECT_THAT(unmap(range.begin(), unit()), is_ok());
    EXPECT_THAT(map_part(unit() * 4, unit()), fails_with(ErrorCode::invalid_value));
    EXPECT_THAT(map_part(unit() * 8, Bytes(0)), fails_with(ErrorCode::invalid_value));
    return;
  }
  EXPECT_THAT(map_part(unit() * 2, Bytes(0)), fails_with(ErrorCode::not_supported));
  EXPECT_THAT(map_part(unit() * 8, Bytes(0)), fails_with(ErrorCode::not_supported));
  EXPECT_THAT(map_part(unit() * 2, unit() * 2), fails_with(ErrorCode::not_supported));
  EXPECT_THAT(map_part(unit() * 4, unit()), fails_with(ErrorCode::not_supported));
}

TEST_P(Mappings, UnmapSeveralAtOnce) {
  Reservation range(driver(), unit() * 3);
  const Memory first(driver(), unit());
  const Memory second(driver(), unit() * 2);
  range.map(range.begin(), unit(), first.handle());
  range.map(range.begin() + unit(), unit() * 2, second.handle());
  EXPECT_THAT(range.unmap(range.begin(), unit() * 3), is_ok());
  EXPECT_THAT(access(range.begin()), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(access(range.begin() + unit()), fails_with(ErrorCode::invalid_value));
  // The addresses stay reserved.
  range.map(range.begin(), unit() * 2, second.handle());
}

TEST_P(Mappings, AreNotCut) {
  Reservation range(driver(), unit() * 4);
  const Memory first(driver(), unit() * 2);
  const Memory second(driver(), unit() * 2);
  range.map(range.begin(), unit() * 2, first.handle());
  range.map(range.begin() + unit() * 2, unit() * 2, second.handle());
  ASSERT_THAT(set_access(range.begin(), unit() * 4), is_ok());
  const auto is_refused = fails_with(ErrorCode::invalid_value);
  EXPECT_THAT(unmap(range.begin(), unit()), is_refused);
  EXPECT_THAT(unmap(range.begin() + unit(), unit()), is_refused);
  EXPECT_THAT(unmap(range.begin(), unit() * 3), is_refused);
  EXPECT_THAT(unmap(range.begin() + unit(), unit() * 3), is_refused);
  EXPECT_THAT(unmap(range.begin(), unit() * 2 - 1_B), is_refused);
  // Nothing has changed.
  expect_usable(range.begin(), unit() * 4);
  EXPECT_THAT(access(range.begin() + unit() * 3), is_ok_and_holds(AccessFlags::read_write));
}

TEST_P(Mappings, UnmapRefusesWhatIsNotReserved) {
  EXPECT_THAT(unmap(DeviceAddress(), unit()), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(unmap(DeviceAddress(), Bytes(0)), fails_with(ErrorCode::invalid_value));
  const DeviceAddress freed = Reservation(driver(), unit()).begin();
  EXPECT_THAT(unmap(freed, unit()), fails_with(ErrorCode::invalid_value));
}

INSTANTIATE_TEST_SUITE_P(All, Mappings, testing::ValuesIn(backends_of_books()), name_of);

}  // namespace
}  // namespace tessera::conformance
