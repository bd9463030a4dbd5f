#include "tessera/owners/transaction.h"

#include <utility>

#include "owners_machine.h"

namespace tessera {
namespace {

// Three pieces in one reservation.
Status make_pieces(Transaction& transaction, Bytes unit) {
  TESSERA_TRY_ASSIGN(const Reservation* reservation, transaction.reserve({.size = unit * 3}));
  for (std::uint64_t i = 0; i < 3; ++i) {
    TESSERA_TRY_ASSIGN(const PhysicalAllocation* memory, transaction.create({.size = unit}));
    TESSERA_TRY(transaction.map(*reservation, unit * i, *memory));
  }
  return transaction.grant(reservation->range(), AccessSet::of_device(device_0));
}

TEST(Transaction, HandsOverAllThatWasMade) {
  OwnersMachine machine;
  Transaction transaction(machine.use());
  ASSERT_THAT(make_pieces(transaction, machine.unit()), is_ok());
  Transaction::Made made = transaction.commit();
  EXPECT_EQ(made.reservations.size(), 1U);
  EXPECT_EQ(made.allocations.size(), 3U);
  ASSERT_EQ(made.mappings.size(), 3U);
  EXPECT_EQ(made.mappings[2].access().devices(), std::vector{device_0});
  EXPECT_THAT(machine.machine().put(made.mappings[2].begin(), 1), is_ok());
}

TEST(Transaction, UndoesAllUnlessItIsCommitted) {
  OwnersMachine machine;
  {
    Transaction transaction(machine.use());
    ASSERT_THAT(make_pieces(transaction, machine.unit()), is_ok());
  }
  EXPECT_EQ(machine.books(), machine.books_before());
}

TEST(Transaction, ReturnsTheFirstErrorAndLeavesNothing) {
  OwnersMachine machine;
  FaultInjectingDriver layer = failing_once(machine.driver(), Call::mem_set_access);
  {
    Transaction transaction(machine.use(layer));
    EXPECT_THAT(make_pieces(transaction, machine.unit()), fails_with(ErrorCode::out_of_memory));
    EXPECT_THAT(transaction.rollback(), is_ok());
    EXPECT_EQ(machine.books(), machine.books_before());
    // And a retry works.
    EXPECT_THAT(make_pieces(transaction, machine.unit()), is_ok());
  }
}

TEST(Transaction, UndoesInReverseOrder) {
  OwnersMachine machine;
  std::string order;
  {
    Transaction transaction(machine.use());
    for (const char step : {'a', 'b', 'c'}) {
      transaction.on_rollback([&order, step]() -> Status {
        order += step;
        return {};
      });
    }
  }
  EXPECT_EQ(order, "cba");
}

TEST(Transaction, GoesOnUndoingAfterAnErrorAndReturnsTheFirst) {
  OwnersMachine machine;
  FaultInjectingDriver layer = failing_once(machine.driver(), Call::mem_unmap, ErrorCode::unknown);
  Transaction transaction(machine.use(layer));
  ASSERT_THAT(make_pieces(transaction, machine.unit()), is_ok());
  EXPECT_THAT(transaction.rollback(), fails_with(ErrorCode::unknown));
  // The last mapping's destructor tried once more, and could.
  EXPECT_EQ(machine.books(), machine.books_before());
}

TEST(Transaction, NotesAccessWhereItWasGranted) {
  OwnersMachine machine;
  Transaction transaction(machine.use());
  const Reservation* reservation = must(transaction.reserve({.size = machine.unit() * 2}));
  const PhysicalAllocation* memory = must(transaction.create({.size = machine.unit()}));
  Mapping* left = must(transaction.map(*reservation, Bytes(0), *memory));
  Mapping* right = must(transaction.map(*reservation, machine.unit(), *memory));
  EXPECT_THAT(transaction.grant(reservation->range(), AccessSet()), is_ok());
  EXPECT_THAT(transaction.grant(left->range(), AccessSet::of_device(device_0)), is_ok());
  EXPECT_EQ(left->access(), AccessSet::of_device(device_0));
  EXPECT_TRUE(right->access().is_empty());
}

TEST(Transaction, UndoesNothingOfTheCallersOwnOnceItIsCommitted) {
  OwnersMachine machine;
  bool is_undone = false;
  {
    Transaction transaction(machine.use());
    must(transaction.reserve({.size = machine.unit()}));
    transaction.on_rollback([&]() -> Status {
      is_undone = true;
      return {};
    });
    const Transaction::Made made = transaction.commit();
    EXPECT_EQ(made.reservations.size(), 1U);
    EXPECT_TRUE(made.mappings.empty() && made.allocations.empty());
  }
  EXPECT_FALSE(is_undone);
}

}  // namespace
}  // namespace tessera
