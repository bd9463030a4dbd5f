#include "tessera/owners/reservation.h"

#include <utility>

#include "owners_machine.h"

namespace tessera {
namespace {

TEST(Reservation, RoundsItsSizeUpAndKeepsIt) {
  OwnersMachine machine;
  const Reservation reservation = must(Reservation::make(machine.use(), {.size = Bytes(1)}));
  EXPECT_EQ(reservation.size(), 2_MiB);
  EXPECT_EQ(reservation.granularity(), 2_MiB);
  EXPECT_EQ(machine.books().reserved, 2_MiB);
}

TEST(Reservation, IsGivenBackByItsDestructor) {
  OwnersMachine machine;
  { const Reservation reservation = machine.reserve(3); }
  EXPECT_EQ(machine.books().reservations, 0U);
}

TEST(Reservation, IsGivenBackOnceHoweverOftenItIsClosed) {
  OwnersMachine machine;
  Reservation reservation = machine.reserve(1);
  EXPECT_THAT(reservation.close(), is_ok());
  EXPECT_FALSE(reservation.is_open());
  EXPECT_THAT(reservation.close(), is_ok());
}

TEST(Reservation, MovesAndGivesBackWhatItHeld) {
  OwnersMachine machine;
  Reservation first = machine.reserve(1);
  Reservation second = machine.reserve(2);
  first = std::move(second);
  EXPECT_EQ(first.size(), machine.unit() * 2);
  EXPECT_EQ(machine.books().reservations, 1U);
}

TEST(Reservation, StaysOpenWhenTheDriverRefusesToTakeItBack) {
  OwnersMachine machine;
  FaultInjectingDriver layer =
      failing_once(machine.driver(), Call::mem_address_free, ErrorCode::invalid_value);
  Reservation reservation = must(Reservation::make(machine.use(layer), {.size = machine.unit()}));
  EXPECT_THAT(reservation.close(), fails_with(ErrorCode::invalid_value));
  EXPECT_TRUE(reservation.is_open());
  EXPECT_THAT(reservation.close(), is_ok());
}

TEST(Reservation, TellsTheSinkWhatItsDestructorCouldNotGiveBack) {
  OwnersMachine machine;
  FaultInjectingDriver layer =
      failing_once(machine.driver(), Call::mem_address_free, ErrorCode::invalid_value);
  {
    const Reservation reservation =
        must(Reservation::make(machine.use(layer), {.size = machine.unit()}));
  }
  ASSERT_EQ(machine.sink().failures().size(), 1U);
  const std::string text = to_string(machine.sink().failures().front());
  EXPECT_NE(text.find("mem_address_free of 2 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("reservation_test.cpp"), std::string::npos) << text;
  EXPECT_EQ(machine.books().reservations, 1U);
  EXPECT_THAT(machine.sink().retry_all(), is_ok());
}

TEST(Reservation, NamesAddressSpaceWhenThatRunsOut) {
  OwnersMachine machine;
  const auto refused = Reservation::make(machine.use(), {.size = 1_TiB * 200});
  ASSERT_THAT(refused, fails_with(ErrorCode::out_of_memory));
  EXPECT_NE(to_string(refused.error()).find("address space"), std::string::npos)
      << to_string(refused.error());
}

TEST(Reservation, FallsBackToWhatAddressesThereAre) {
  OwnersMachine machine;
  const Reservation reservation =
      must(Reservation::make_at_most(machine.use(), {.size = 1_TiB * 200}, machine.unit()));
  EXPECT_LT(reservation.size(), 1_TiB * 200);
  EXPECT_GE(reservation.size(), 1_TiB * 25);
}

TEST(Reservation, DoesNotFallBackBelowTheLeast) {
  OwnersMachine machine;
  EXPECT_THAT(Reservation::make_at_most(machine.use(), {.size = 1_TiB * 400}, 1_TiB * 300),
              fails_with(ErrorCode::out_of_memory));
}

TEST(Reservation, RefusesSizesThatNoneHas) {
  OwnersMachine machine;
  EXPECT_THAT(Reservation::make(machine.use(), {.size = Bytes(0)}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(Reservation::make(machine.use(), {.size = Bytes(~std::uint64_t{0})}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(Reservation::make_at_most(machine.use(), {.size = machine.unit()}, Bytes(0)),
              fails_with(ErrorCode::invalid_value));
}

TEST(Reservation, AsksForNoGranularityThatItWasTold) {
  OwnersMachine machine("odd");
  const Bytes granularity = must(granularity_of(machine.driver(), {}));
  const Reservation reservation = must(Reservation::make(
      machine.use(), {.size = granularity + Bytes(1), .granularity = granularity}));
  EXPECT_EQ(reservation.size(), granularity * 2);
}

}  // namespace
}  // namespace tessera
