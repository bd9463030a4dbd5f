#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "support/matchers.h"
#include "support/must.h"
#include "support/sharing_support.h"

namespace tessera {
namespace {

using test::fails_with;
using test::is_ok;
using test::must;

FileDescriptor some_descriptor() {
  return FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }

TEST(FileDescriptor, ClosesWhatItOwns) {
  int number = -1;
  {
    const FileDescriptor owner = some_descriptor();
    number = owner.get();
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(FileDescriptor, MovesAndGivesUp) {
  FileDescriptor first = some_descriptor();
  const int number = first.get();
  FileDescriptor second = std::move(first);
  EXPECT_FALSE(first.is_open());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(second.get(), number);
  FileDescriptor third = some_descriptor();
  const int closed = third.get();
  third = std::move(second);
  EXPECT_FALSE(is_open(closed));
  EXPECT_EQ(third.get(), number);
  FileDescriptor& same = third;
  third = std::move(same);
  EXPECT_EQ(third.get(), number);
  EXPECT_EQ(third.release(), number);
  EXPECT_FALSE(third.is_open());
  EXPECT_TRUE(is_open(number));
  ::close(number);
}

TEST(FileDescriptor, ClosesOnce) {
  FileDescriptor owner = some_descriptor();
  EXPECT_THAT(owner.close(), is_ok());
  EXPECT_THAT(owner.close(), is_ok());
  EXPECT_EQ(owner.get(), -1);
}

TEST(FileDescriptor, SaysWhenItWasClosedBehindItsBack) {
  FileDescriptor owner = some_descriptor();
  ::close(owner.get());
  const Status closed = owner.close();
  ASSERT_THAT(closed, fails_with(ErrorCode::operating_system));
  EXPECT_EQ(closed.error().values[0], std::uint64_t{EBADF});
  EXPECT_FALSE(owner.is_open());
}

TEST(FileDescriptor, DuplicatesAboveTheStandardStreams) {
  const FileDescriptor owner = some_descriptor();
  const FileDescriptor other = must(owner.duplicate());
  EXPECT_NE(other.get(), owner.get());
  EXPECT_GE(other.get(), 3);
  EXPECT_NE(::fcntl(other.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(FileDescriptor, SaysWhyItCannotBeDuplicated) {
  EXPECT_THAT(FileDescriptor().duplicate(), fails_with(ErrorCode::operating_system));
  const FileDescriptor owner = some_descriptor();
  const test::DescriptorLimit limit(0);
  const auto other = owner.duplicate();
  ASSERT_THAT(other, fails_with(ErrorCode::operating_system));
  EXPECT_EQ(other.error().values[0], std::uint64_t{EMFILE});
}

}  // namespace
}  // namespace tessera
