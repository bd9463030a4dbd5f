#include "tessera/owners/undo_failure.h"

#include <cerrno>

#include <fcntl.h>

#include "owners_machine.h"

namespace tessera {
namespace {

TEST(UndoFailure, ClosesADescriptorOnce) {
  OwnersMachine machine;
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  const UndoFailure failure = {.error = {.code = ErrorCode::operating_system},
                               .driver = &machine.driver(),
                               .step = UndoFailure::CloseDescriptor{file},
                               .made_at = {}};
  EXPECT_THAT(failure.retry(), is_ok());
  const Status again = failure.retry();
  ASSERT_THAT(again, fails_with(ErrorCode::operating_system));
  EXPECT_EQ(again.error().values[0], std::uint64_t{EBADF});
  // Where what is left over was made, nobody knows.
  EXPECT_THAT(to_string(failure),
              testing::StartsWith("closing file descriptor " + std::to_string(file) + ": "));
}

TEST(CollectingSink, KeepsWhatFailsAgainAndReturnsTheFirstError) {
  sim::SimMachine machine("h200");
  CollectingSink sink;
  const AllocationHandle handle = machine.create(1);
  const auto failed = [&](const UndoFailure::Step& step) {
    sink.undo_failed({.error = {.code = ErrorCode::unknown},
                      .driver = &machine.driver(),
                      .step = step,
                      .made_at = {}});
  };
  failed(UndoFailure::CloseDescriptor{-1});
  failed(handle);
  failed(AllocationHandle(0xdead));
  EXPECT_THAT(sink.retry_all(), fails_with(ErrorCode::operating_system));
  ASSERT_EQ(sink.failures().size(), 2U);
  // With the error of the last try.
  EXPECT_EQ(sink.failures()[1].error.code, ErrorCode::invalid_value);
  EXPECT_EQ(machine->books().handles, 0U);
}

}  // namespace
}  // namespace tessera
