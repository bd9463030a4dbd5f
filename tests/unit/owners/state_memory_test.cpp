// Owners keep the memory of their states for the next ones, thread by thread. What may go wrong
// shows under a sanitizer that looks for leaks, too.
#include <optional>
#include <thread>
#include <vector>

#include "owners_machine.h"

namespace tessera {
namespace {

TEST(StateMemory, OwnersMayEndOnAnotherThread) {
  OwnersMachine machine;
  // More than a thread keeps.
  constexpr std::size_t count = 300;
  for (int round = 0; round < 2; ++round) {
    std::vector<PhysicalAllocation> made;
    std::thread maker([&] {
      for (std::size_t i = 0; i < count; ++i) {
        made.push_back(machine.create(1));
      }
    });
    maker.join();
    EXPECT_EQ(machine.books().allocations, count);
    made.clear();
    EXPECT_EQ(machine.books(), machine.books_before());
  }
}

TEST(StateMemory, AnOwnerMayEndAfterTheMemoryThatItsThreadKept) {
  OwnersMachine machine;
  std::thread user([&] {
    // What is made first ends last: this one ends after what was kept for the thread.
    thread_local std::optional<Reservation> last;
    last.emplace(machine.reserve(1));
    EXPECT_THAT(machine.create(1).close(), is_ok());
    last.emplace(machine.reserve(1));
    EXPECT_EQ(machine.books().reservations, machine.books_before().reservations + 1);
  });
  user.join();
  EXPECT_EQ(machine.books(), machine.books_before());
}

}  // namespace
}  // namespace tessera
