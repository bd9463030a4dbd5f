// Granularity and reserved addresses.
#include <memory>
#include <vector>

#include "conformance/suite.h"

namespace tessera::conformance {
namespace {

class Addresses : public Conformance {
 protected:
  // Expects that no such reservation can be made.
  void expect_refused(const ReserveRequest& request) {
    const auto reserved = driver().mem_address_reserve(request);
    EXPECT_THAT(reserved, fails_with(ErrorCode::invalid_value))
        << "size " << request.size.value() << ", alignment " << request.alignment.value()
        << ", hint " << request.hint.value();
    if (reserved) {
      EXPECT_THAT(driver().mem_address_free({.address = *reserved, .size = request.size}), is_ok());
    }
  }
};

TEST_P(Addresses, GranularityIsAPositiveSize) {
  const auto minimum = driver().mem_get_allocation_granularity({.properties = {}});
  const auto recommended = driver().mem_get_allocation_granularity(
      {.properties = {}, .option = GranularityOption::recommended});
  ASSERT_THAT(minimum, is_ok_and_holds(testing::Gt(Bytes(0))));
  ASSERT_THAT(recommended, is_ok_and_holds(testing::Ge(*minimum)));
  EXPECT_TRUE(is_aligned(*recommended, *minimum));
}

TEST_P(Addresses, GranularityRefusesBadRequests) {
  const auto granularity = [this](const GranularityRequest& request) {
    return driver().mem_get_allocation_granularity(request);
  };
  EXPECT_THAT(granularity({.properties = {}, .option = static_cast<GranularityOption>(2)}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(granularity({.properties = {}, .null_pointers = NullPointers::output}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(granularity({.properties = {}, .null_pointers = NullPointers::properties}),
              fails_with(ErrorCode::invalid_value));
}

TEST_P(Addresses, ReservationsAreAlignedAndDisjoint) {
  std::vector<std::unique_ptr<Reservation>> reservations;
  std::vector<AddressRange> ranges;
  for (const std::uint64_t units : {1U, 3U, 1U, 8U, 2U}) {
    reservations.push_back(std::make_unique<Reservation>(driver(), unit() * units));
    const AddressRange range(reservations.back()->begin(), reservations.back()->size());
    EXPECT_FALSE(range.begin().is_null());
    EXPECT_TRUE(is_aligned(range.begin(), features().reservation_granularity));
    for (const AddressRange& other : ranges) {
      EXPECT_FALSE(range.intersects(other));
    }
    ranges.push_back(range);
  }
}

TEST_P(Addresses, ReservationsCanBeMappedFromTheirBegin) {
  for (const std::uint64_t units : {1U, 3U, 8U}) {
    Reservation range(driver(), unit() * units);
    const Memory memory(driver(), unit());
    EXPECT_NO_THROW(range.map(range.begin(), unit(), memory.handle()));
  }
}

TEST_P(Addresses, AlignmentIsKept) {
  for (Bytes alignment(4096); alignment <= Bytes(1U << 20U); alignment = alignment * 4) {
    const Reservation range(driver(), unit(), alignment);
    EXPECT_TRUE(is_aligned(range.begin(), alignment)) << alignment.value();
  }
}

TEST_P(Addresses, RefusesBadSizes) {
  for (const Bytes size : {Bytes(0), Bytes(1), unit() - 1_B, unit() + 1_B, Bytes(~std::uint64_t{0}),
                           Bytes((std::uint64_t{1} << 63U) + 1)}) {
    expect_refused({.size = size});
  }
}

TEST_P(Addresses, RefusesBadAlignments) {
  for (const Bytes alignment :
       {Bytes(3), unit() * 3, Bytes(std::uint64_t{1} << 62U), Bytes(~std::uint64_t{0})}) {
    expect_refused({.size = unit(), .alignment = alignment});
  }
}

TEST_P(Addresses, RefusesBadHintsAndFlags) {
  expect_refused({.size = unit(), .hint = DeviceAddress(1)});
  expect_refused({.size = unit(), .hint = DeviceAddress(unit().value() + 1)});
  expect_refused({.size = unit(), .flags = 1});
  expect_refused({.size = unit(), .null_pointers = NullPointers::output});
}

TEST_P(Addresses, AHintIsOnlyAWish) {
  const Reservation first(driver(), unit() * 2);
  // Taken, free and next to it, far away: any answer is right that overlaps nothing.
  for (const DeviceAddress hint :
       {first.begin(), first.begin() + first.size(), DeviceAddress(unit().value() * 1024)}) {
    const auto second = driver().mem_address_reserve({.size = unit(), .hint = hint});
    ASSERT_THAT(second, is_ok());
    EXPECT_FALSE(AddressRange(*second, unit()).intersects({first.begin(), first.size()}));
    EXPECT_THAT(driver().mem_address_free({.address = *second, .size = unit()}), is_ok());
  }
}

TEST_P(Addresses, RunOutBeforeTheirSizeDoes) {
  const Bytes more_than_any(std::uint64_t{1} << 52U);
  EXPECT_THAT(driver().mem_address_reserve({.size = more_than_any}),
              fails_with(ErrorCode::out_of_memory));
  const Reservation small(driver(), unit());
}

TEST_P(Addresses, TakeNoMemory) {
  const Bytes before = free_memory();
  const Reservation range(driver(), unit() * 16);
  EXPECT_EQ(free_memory(), before);
}

TEST_P(Addresses, AreReusedOnceFreed) {
  for (int round = 0; round < 300; ++round) {
    const Reservation range(driver(), unit() * 8);
  }
}

TEST_P(Addresses, AreFreedWholeAndOnce) {
  Reservation range(driver(), unit() * 4);
  const DeviceAddress begin = range.begin();
  const auto free = [this](DeviceAddress address, Bytes size) {
    return driver().mem_address_free({.address = address, .size = size});
  };
  const auto is_refused = fails_with(ErrorCode::invalid_value);
  EXPECT_THAT(free(begin, unit() * 2), is_refused);
  EXPECT_THAT(free(begin, unit() * 8), is_refused);
  EXPECT_THAT(free(begin, Bytes(0)), is_refused);
  EXPECT_THAT(free(begin + unit(), unit() * 3), is_refused);
  EXPECT_THAT(free(begin + 1_B, unit() * 4), is_refused);
  EXPECT_THAT(free(DeviceAddress(), unit() * 4), is_refused);
  EXPECT_THAT(free(begin, unit() * 4), is_ok());
  range.forget();
  EXPECT_THAT(free(begin, unit() * 4), is_refused);
}

TEST_P(Addresses, TwoReservationsAreNotFreedTogether) {
  const Reservation first(driver(), unit());
  const Reservation second(driver(), unit());
  const Reservation& low = first.begin() < second.begin() ? first : second;
  EXPECT_THAT(driver().mem_address_free({.address = low.begin(), .size = unit() * 2}),
              fails_with(ErrorCode::invalid_value));
}

// Freeing addresses that are mapped is against the rules. Drivers refuse it, or unmap; memory that
// a handle still names is unharmed either way.
TEST_P(Addresses, FreeingMappedOnesHarmsNoMemory) {
  Reservation range(driver(), unit() * 2);
  const Memory memory(driver(), unit());
  range.map(range.begin(), unit(), memory.handle());
  ASSERT_THAT(set_access(range.begin(), unit()), is_ok());
  ASSERT_THAT(put(range.begin(), 7), is_ok());
  const Status freed = driver().mem_address_free({.address = range.begin(), .size = range.size()});
  if (!freed) {
    EXPECT_THAT(freed, fails_with(ErrorCode::invalid_value));
    expect_byte(range.begin(), 7);
    return;
  }
  range.forget_mappings();
  range.forget();
  Reservation other(driver(), unit());
  other.map(other.begin(), unit(), memory.handle());
  ASSERT_THAT(set_access(other.begin(), unit()), is_ok());
  expect_byte(other.begin(), 7);
}

INSTANTIATE_TEST_SUITE_P(All, Addresses, testing::ValuesIn(backends_of_books()), name_of);

}  // namespace
}  // namespace tessera::conformance
