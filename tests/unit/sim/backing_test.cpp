#include "backing.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <random>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/failing_calls.h"

namespace tessera::sim {
namespace {

using test::FailingCalls;
using test::SystemCall;

using Kind = Backing::Kind;

std::vector<std::byte> pattern(std::size_t size, unsigned seed = 1) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>((i * 7 + std::size_t{seed} * 31 + i / 251 + 1) & 0xffU);
  }
  return bytes;
}

std::vector<std::byte> bytes_of(const Backing& backing, Bytes offset, std::size_t size) {
  std::vector<std::byte> bytes(size, std::byte{0xee});
  backing.read(offset, bytes);
  return bytes;
}

bool are_all(const std::vector<std::byte>& bytes, unsigned value) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [value](std::byte byte) { return byte == static_cast<std::byte>(value); });
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  file >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

std::uint64_t file_bytes(int file_descriptor) {
  struct stat status = {};
  EXPECT_EQ(::fstat(file_descriptor, &status), 0);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

// Where bytes can lie. `exported` is shared memory that has its file from the start.
enum class Place { anonymous, shared, exported };

class BackingTest : public testing::TestWithParam<Place> {
 protected:
  static Backing make(Bytes size) {
    Backing backing(GetParam() == Place::anonymous ? Kind::anonymous : Kind::shared, size);
    if (GetParam() == Place::exported) {
      EXPECT_GE(backing.file_descriptor(), 0);
    }
    return backing;
  }
};

TEST_P(BackingTest, ReadsZerosBeforeAnyWrite) {
  const Backing backing = make(60_GiB);
  EXPECT_EQ(backing.size(), 60_GiB);
  EXPECT_TRUE(are_all(bytes_of(backing, {}, 10000), 0));
  EXPECT_TRUE(are_all(bytes_of(backing, 60_GiB - 10000_B, 10000), 0));
}

TEST_P(BackingTest, KeepsWhatWasWritten) {
  Backing backing = make(2_MiB);
  const auto written = pattern(10000);
  backing.write(4090_B, written);
  EXPECT_EQ(bytes_of(backing, 4090_B, written.size()), written);
  EXPECT_TRUE(are_all(bytes_of(backing, {}, 4090), 0));
  EXPECT_TRUE(are_all(bytes_of(backing, 14090_B, 10000), 0));
}

TEST_P(BackingTest, HoldsSizesThatAreNotPages) {
  for (const std::uint64_t size : {1U, 100U, 4095U, 4097U, 10001U}) {
    Backing backing = make(Bytes(size));
    const auto written = pattern(size, static_cast<unsigned>(size));
    backing.write({}, written);
    EXPECT_EQ(bytes_of(backing, {}, size), written);
    backing.fill({}, 0, Bytes(size));
    EXPECT_TRUE(are_all(bytes_of(backing, {}, size), 0));
    backing.fill(Bytes(size - 1), 9, 1_B);
    EXPECT_EQ(bytes_of(backing, Bytes(size - 1), 1)[0], std::byte{9});
  }
}

TEST_P(BackingTest, TakesEmptyRangesAnywhere) {
  Backing backing = make(8192_B);
  for (const Bytes offset : {0_B, 17_B, 8192_B}) {
    backing.write(offset, {});
    backing.read(offset, {});
    backing.fill(offset, 0, {});
    backing.fill(offset, 1, {});
    backing.copy_from(backing, {}, offset, {});
  }
  EXPECT_TRUE(are_all(bytes_of(backing, {}, 8192), 0));
}

TEST_P(BackingTest, AnswersAsPlainBytesDo) {
  constexpr std::size_t size = 40000;
  Backing backing = make(Bytes(size));
  std::vector<std::byte> model(size);
  std::mt19937 random(GetParam() == Place::shared ? 5 : 3);
  for (int step = 0; step < 400; ++step) {
    if (step == 200 && GetParam() == Place::shared) {
      ASSERT_GE(backing.file_descriptor(), 0);  // moves what is there to a file
    }
    const std::size_t offset = random() % size;
    const std::size_t length = random() % (size - offset + 1);
    const auto at = model.begin() + static_cast<std::ptrdiff_t>(offset);
    const auto end = at + static_cast<std::ptrdiff_t>(length);
    switch (random() % 4) {
      case 0: {
        const auto bytes = pattern(std::min<std::size_t>(length, 300), static_cast<unsigned>(step));
        std::copy(bytes.begin(), bytes.end(), at);
        backing.write(Bytes(offset), bytes);
        break;
      }
      case 1: {
        const auto value = static_cast<std::uint8_t>(random() % 3 * 0x5a);
        std::fill(at, end, static_cast<std::byte>(value));
        backing.fill(Bytes(offset), value, Bytes(length));
        break;
      }
      case 2: {
        const std::size_t from = random() % (size - length + 1);
        const std::vector<std::byte> moved(
            model.begin() + static_cast<std::ptrdiff_t>(from),
            model.begin() + static_cast<std::ptrdiff_t>(from + length));
        std::copy(moved.begin(), moved.end(), at);
        backing.copy_from(backing, Bytes(from), Bytes(offset), Bytes(length));
        break;
      }
      default:
        ASSERT_EQ(bytes_of(backing, Bytes(offset), length), std::vector<std::byte>(at, end));
    }
  }
  EXPECT_EQ(bytes_of(backing, {}, size), model);
}

TEST_P(BackingTest, CopiesOntoItselfInBothDirections) {
  for (const std::uint64_t distance : {1U, 100U, 4096U, 20000U}) {
    Backing up = make(1_MiB);
    Backing down = make(1_MiB);
    const auto written = pattern(200000);
    up.write({}, written);
    down.write(Bytes(distance), written);
    up.copy_from(up, {}, Bytes(distance), Bytes(written.size()));
    down.copy_from(down, Bytes(distance), {}, Bytes(written.size()));
    EXPECT_EQ(bytes_of(up, Bytes(distance), written.size()), written);
    EXPECT_EQ(bytes_of(down, {}, written.size()), written);
  }
}

TEST_P(BackingTest, CopiesFromEveryOtherPlace) {
  const auto written = pattern(50000);
  for (const Kind kind : {Kind::anonymous, Kind::shared}) {
    Backing source(kind, 1_MiB);
    source.write(100_B, written);
    Backing target = make(1_MiB);
    target.fill({}, 7, 200000_B);
    target.copy_from(source, {}, 3_B, 100000_B);
    EXPECT_EQ(bytes_of(target, 103_B, written.size()), written);
    EXPECT_TRUE(are_all(bytes_of(target, {}, 3), 7));
    EXPECT_TRUE(are_all(bytes_of(target, 3_B, 100), 0));
    EXPECT_TRUE(are_all(bytes_of(target, 50103_B, 49900), 0));
    EXPECT_TRUE(are_all(bytes_of(target, 100003_B, 99997), 7));
  }
}

TEST_P(BackingTest, CostsAPageWhereLittleIsWritten) {
  const std::int64_t before = resident_bytes();
  Backing backing = make(60_GiB);
  backing.write(30_GiB, pattern(16));
  backing.fill({}, 0, 60_GiB);  // looks at nothing but the page
  EXPECT_TRUE(are_all(bytes_of(backing, 30_GiB, 16), 0));
  backing.write(30_GiB, pattern(16));
  EXPECT_TRUE(are_all(bytes_of(backing, 10_GiB, std::size_t{1} << 20U), 0));  // makes nothing
  EXPECT_LT(resident_bytes() - before, std::int64_t{8} << 20);
  if (GetParam() != Place::anonymous) {
    EXPECT_LE(file_bytes(backing.file_descriptor()), (64_KiB).value());
  }
  EXPECT_EQ(bytes_of(backing, 30_GiB, 16), pattern(16));
}

TEST_P(BackingTest, CopiesHolesAsHoles) {
  Backing source = make(64_MiB);
  source.write(32_MiB, pattern(16));
  Backing target(Kind::shared, 64_MiB);
  ASSERT_GE(target.file_descriptor(), 0);
  target.fill(1_MiB, 3, 1_MiB);
  target.copy_from(source, {}, {}, 64_MiB);
  EXPECT_LE(file_bytes(target.file_descriptor()), (64_KiB).value());
  EXPECT_EQ(bytes_of(target, 32_MiB, 16), pattern(16));
  EXPECT_TRUE(are_all(bytes_of(target, 1_MiB, 1000), 0));
}

TEST_P(BackingTest, GivesBackPagesFilledWithZero) {
  Backing backing = make(64_MiB);
  backing.fill({}, 1, 16_MiB);
  backing.fill(1_B, 0, 16_MiB - 2_B);
  EXPECT_EQ(bytes_of(backing, {}, 1)[0], std::byte{1});
  EXPECT_EQ(bytes_of(backing, 16_MiB - 1_B, 1)[0], std::byte{1});
  EXPECT_TRUE(are_all(bytes_of(backing, 1_B, 1000), 0));
  if (GetParam() != Place::anonymous) {
    EXPECT_LE(file_bytes(backing.file_descriptor()), (64_KiB).value());
  }
}

TEST_P(BackingTest, MovesWithItsBytes) {
  Backing first = make(1_MiB);
  first.write(5_B, pattern(100));
  Backing second(std::move(first));
  EXPECT_EQ(first.kind(), Kind::none);  // NOLINT(bugprone-use-after-move): it is specified
  EXPECT_EQ(first.size(), 0_B);
  EXPECT_EQ(second.size(), 1_MiB);
  EXPECT_EQ(bytes_of(second, 5_B, 100), pattern(100));

  Backing third = make(2_MiB);
  third.write({}, pattern(100, 2));
  third = std::move(second);
  EXPECT_EQ(second.kind(), Kind::none);  // NOLINT(bugprone-use-after-move): it is specified
  EXPECT_EQ(third.size(), 1_MiB);
  EXPECT_EQ(bytes_of(third, 5_B, 100), pattern(100));

  Backing& same = third;
  third = std::move(same);
  EXPECT_EQ(bytes_of(third, 5_B, 100), pattern(100));
  second = make(4096_B);
  EXPECT_TRUE(are_all(bytes_of(second, {}, 4096), 0));
}

INSTANTIATE_TEST_SUITE_P(Places, BackingTest,
                         testing::Values(Place::anonymous, Place::shared, Place::exported),
                         [](const testing::TestParamInfo<Place>& place) {
                           return place.param == Place::anonymous ? "Anonymous"
                                  : place.param == Place::shared  ? "Shared"
                                                                  : "Exported";
                         });

TEST(Backing, OfNoKindForgetsWrites) {
  Backing backing(Kind::none, 140_GiB);
  backing.write(1_GiB, pattern(100));
  backing.fill(1_GiB, 5, 1_GiB);
  backing.copy_from(backing, {}, 1_GiB, 1_GiB);
  EXPECT_TRUE(are_all(bytes_of(backing, 1_GiB, 100), 0));
  EXPECT_EQ(backing.size(), 140_GiB);
  EXPECT_EQ(Backing().size(), 0_B);

  Backing other(Kind::anonymous, 1_MiB);
  other.fill({}, 1, 1_MiB);
  other.copy_from(backing, {}, {}, 1_MiB);
  EXPECT_TRUE(are_all(bytes_of(other, {}, std::size_t{1} << 20U), 0));
}

TEST(Backing, KeepsAFillAsItsValue) {
  const std::int64_t before = resident_bytes();
  Backing backing(Kind::anonymous, 60_GiB + 5_B);
  backing.fill({}, 7, 60_GiB + 5_B);
  backing.fill(10_GiB + 1_B, 9, 30_GiB);  // cuts it in two
  backing.fill(20_GiB, 0, 1_GiB);
  backing.write(50_GiB + 5_B, pattern(16));
  EXPECT_EQ(bytes_of(backing, 60_GiB + 4_B, 1)[0], std::byte{7});
  EXPECT_EQ(bytes_of(backing, 10_GiB, 2), (std::vector<std::byte>{std::byte{7}, std::byte{9}}));
  EXPECT_EQ(bytes_of(backing, 40_GiB, 2), (std::vector<std::byte>{std::byte{9}, std::byte{7}}));
  EXPECT_EQ(bytes_of(backing, 20_GiB - 1_B, 2), (std::vector<std::byte>{std::byte{9}, {}}));
  EXPECT_EQ(bytes_of(backing, 21_GiB - 1_B, 2), (std::vector<std::byte>{{}, std::byte{9}}));
  EXPECT_TRUE(are_all(bytes_of(backing, 50_GiB, 5), 7));
  EXPECT_EQ(bytes_of(backing, 50_GiB + 5_B, 16), pattern(16));
  EXPECT_TRUE(are_all(bytes_of(backing, 50_GiB + 21_B, 4096), 7));
  backing.copy_from(backing, 20_GiB - 1_B, 50_GiB, 2_B);
  EXPECT_EQ(bytes_of(backing, 50_GiB, 3), (std::vector<std::byte>{std::byte{9}, {}, std::byte{7}}));
  EXPECT_LT(resident_bytes() - before, std::int64_t{8} << 20);
}

TEST(Backing, MovesToAFileWithItsBytes) {
  Backing backing(Kind::shared, 10000_B);
  const auto written = pattern(9000);
  backing.fill({}, 3, 10000_B);
  backing.write(1000_B, written);
  const int file = backing.file_descriptor();
  ASSERT_GE(file, 0);
  EXPECT_EQ(backing.file_descriptor(), file);
  EXPECT_EQ(bytes_of(backing, 1000_B, 9000), written);
  EXPECT_NE(::fcntl(file, F_GETFD) & FD_CLOEXEC, 0);

  struct stat status = {};
  ASSERT_EQ(::fstat(file, &status), 0);
  const auto begin = static_cast<off_t>(Backing::file_offset().value());
  EXPECT_EQ(status.st_size, begin + 10000);
  std::vector<std::byte> seen(9000);
  ASSERT_EQ(::pread(file, seen.data(), seen.size(), begin + 1000), 9000);
  EXPECT_EQ(seen, written);
  EXPECT_TRUE(are_all(bytes_of(backing, {}, 1000), 3));
  EXPECT_NE(::ftruncate(file, 0), 0);
}

TEST(Backing, SharesTheBytesOfAFileWithItsDuplicate) {
  Backing first(Kind::shared, 1_MiB);
  first.write({}, pattern(5000));
  Backing second(::fcntl(first.file_descriptor(), F_DUPFD_CLOEXEC, 0), Backing::file_offset(),
                 1_MiB);
  EXPECT_EQ(second.kind(), Kind::shared);
  EXPECT_EQ(bytes_of(second, {}, 5000), pattern(5000));
  second.write(100_B, pattern(50, 9));
  EXPECT_EQ(bytes_of(first, 100_B, 50), pattern(50, 9));
  first = Backing();
  EXPECT_EQ(bytes_of(second, 100_B, 50), pattern(50, 9));
}

TEST(Backing, KeepsItsBytesWhenNoFileCanBeMade) {
  Backing backing(Kind::shared, 1_MiB);
  backing.write({}, pattern(5000));
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(0);
  ASSERT_GE(next, 0);
  ::close(next);
  struct rlimit none_left = before;
  none_left.rlim_cur = static_cast<rlim_t>(next);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);
  const int refused = backing.file_descriptor();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(refused, -1);
  EXPECT_EQ(bytes_of(backing, {}, 5000), pattern(5000));
  EXPECT_EQ(backing.file_descriptor(), next);  // nothing leaked
  EXPECT_EQ(bytes_of(backing, {}, 5000), pattern(5000));
}

// A file that cannot be filled is given up, and the bytes stay where they are.
TEST(Backing, KeepsItsBytesWhenTheFileCannotBeFilled) {
  constexpr FailingCalls::Plan plans[] = {
      {.call = SystemCall::ftruncate, .error = EFBIG},
      {.call = SystemCall::pwrite, .error = ENOSPC},              // a fill
      {.call = SystemCall::pwrite, .error = ENOSPC, .after = 1},  // a page
      {.call = SystemCall::pwrite, .error = 0},
      {.call = SystemCall::fcntl, .error = EPERM},
  };
  const auto expect_bytes = [](const Backing& backing) {
    EXPECT_TRUE(are_all(bytes_of(backing, {}, 4096), 7));
    EXPECT_EQ(bytes_of(backing, 8192_B, 100), pattern(100));
  };
  for (const auto& plan : plans) {
    Backing backing(Kind::shared, 1_MiB);
    backing.fill({}, 7, 4096_B);
    backing.write(8192_B, pattern(100));
    {
      const FailingCalls failing(plan);
      EXPECT_EQ(backing.file_descriptor(), -1);
      EXPECT_TRUE(failing.has_failed());
    }
    expect_bytes(backing);
    EXPECT_GE(backing.file_descriptor(), 0);
    expect_bytes(backing);
  }
}

// Older kernels do not know the flag for files that are not to be executed.
TEST(Backing, MakesItsFileOnOlderKernels) {
  Backing backing(Kind::shared, 1_MiB);
  const FailingCalls failing({.call = SystemCall::memfd_create, .error = EINVAL});
  EXPECT_GE(backing.file_descriptor(), 0);
  EXPECT_TRUE(failing.has_failed());
}

TEST(Backing, TriesAgainWhereASignalCameBetween) {
  for (const SystemCall call : {SystemCall::pwrite, SystemCall::pread, SystemCall::fallocate}) {
    Backing backing(Kind::shared, 1_MiB);
    EXPECT_GE(backing.file_descriptor(), 0);
    const FailingCalls failing({.call = call, .error = EINTR, .times = 2});
    backing.write({}, pattern(5000));
    backing.fill(1000_B, 0, 1000_B);
    auto expected = pattern(5000);
    std::fill_n(expected.begin() + 1000, 1000, std::byte{});
    EXPECT_EQ(bytes_of(backing, {}, 5000), expected);
    EXPECT_TRUE(failing.has_failed());
  }
}

TEST(Backing, ReadsZerosBeyondTheEndOfItsFile) {
  const int file = ::memfd_create("short", MFD_CLOEXEC);
  ASSERT_EQ(::pwrite(file, "abc", 3, 0), 3);
  const Backing backing(file, {}, 1_MiB);
  const auto bytes = bytes_of(backing, {}, 5000);
  EXPECT_EQ(bytes[2], std::byte{'c'});
  EXPECT_TRUE(are_all({bytes.begin() + 3, bytes.end()}, 0));
}

TEST(Backing, RefusesAFileTooLargeForTheSystem) {
  Backing backing(Kind::shared, Bytes(~std::uint64_t{0}));
  backing.write(Bytes(std::uint64_t{1} << 63U), pattern(16));
  EXPECT_EQ(backing.file_descriptor(), -1);
  EXPECT_EQ(bytes_of(backing, Bytes(std::uint64_t{1} << 63U), 16), pattern(16));
  EXPECT_TRUE(are_all(bytes_of(backing, Bytes(~std::uint64_t{0} - 100), 100), 0));
  backing.fill({}, 0, backing.size());
  EXPECT_TRUE(are_all(bytes_of(backing, Bytes(std::uint64_t{1} << 63U), 16), 0));
}

TEST(BackingDeathTest, EndsOnRangesOutsideTheMemory) {
  Backing backing(Kind::anonymous, 4096_B);
  std::byte byte = {};
  EXPECT_DEATH(backing.read(4096_B, std::span(&byte, 1)), "check failed");
  EXPECT_DEATH(backing.fill(1_B, 0, Bytes(~std::uint64_t{0})), "check failed");
}

}  // namespace
}  // namespace tessera::sim
