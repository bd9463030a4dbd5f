#include "exported_memory.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/failing_calls.h"

namespace tessera::sim {
namespace {

using test::FailingCalls;
using test::SystemCall;

constexpr const char* descriptor_variable = "TESSERA_TEST_EXPORTED_DESCRIPTOR";

ExportedProperties some_properties(Bytes size) {
  AllocationProperties properties;
  properties.requested_handle_types = HandleTypes::posix_file_descriptor;
  properties.location = on_device(DeviceOrdinal(3));
  properties.compression = Compression::generic;
  properties.gpu_direct_rdma_capable = 1;
  properties.usage = 0x1234;
  properties.reserved = {1, 2, 3, 4};
  return {.size = size, .properties = properties, .memory_id = 0x123456789abcdef0};
}

int export_some(Backing& backing, std::uint32_t number = 0) {
  return export_memory(backing, some_properties(backing.size()), number);
}

Backing import_some(int file_descriptor) {
  const auto imported = import_memory(file_descriptor);
  if (!imported) {
    ADD_FAILURE() << "nothing imported";
    return {};
  }
  return Backing(imported->file_descriptor, Backing::file_offset(), imported->properties.size);
}

std::string text_of(const Backing& backing, Bytes offset, std::size_t size) {
  std::string text(size, '?');
  backing.read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

void put(Backing& backing, Bytes offset, const std::string& text) {
  backing.write(offset, std::as_bytes(std::span(text)));
}

int open_descriptors() {
  DIR* folder = ::opendir("/proc/self/fd");
  int count = 0;
  while (::readdir(folder) != nullptr) {
    ++count;
  }
  ::closedir(folder);
  return count;
}

// Lets this process have only `count` more descriptors.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(int count) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const int next = ::dup(0);
    ::close(next);
    struct rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(next) + static_cast<rlim_t>(count);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  struct rlimit before_ = {};
};

bool ends_well(pid_t child) {
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ExportedMemory, TravelsWithItsProperties) {
  Backing backing(Backing::Kind::shared, 2_MiB);
  const ExportedProperties given = some_properties(2_MiB);
  const int exported = export_memory(backing, given, 0);
  ASSERT_GE(exported, 0);
  EXPECT_NE(::fcntl(exported, F_GETFD) & FD_CLOEXEC, 0);
  const auto imported = import_memory(exported);
  ASSERT_TRUE(imported);
  EXPECT_EQ(imported->properties.size, given.size);
  EXPECT_EQ(imported->properties.properties, given.properties);
  EXPECT_EQ(imported->properties.memory_id, given.memory_id);
  EXPECT_NE(imported->file_descriptor, exported);
  EXPECT_NE(::fcntl(imported->file_descriptor, F_GETFD) & FD_CLOEXEC, 0);
  ::close(imported->file_descriptor);
  ::close(exported);
}

TEST(ExportedMemory, CarriesNoPointers) {
  Backing backing(Backing::Kind::shared, 4096_B);
  ExportedProperties given = some_properties(4096_B);
  given.properties.win32_handle_metadata = &given;
  const int exported = export_memory(backing, given, 0);
  const auto imported = import_memory(exported);
  ASSERT_TRUE(imported);
  EXPECT_NE(imported->properties.properties.win32_handle_metadata, nullptr);
  EXPECT_NE(imported->properties.properties.win32_handle_metadata, &given);
  ::close(imported->file_descriptor);
  ::close(exported);
}

TEST(ExportedMemory, HasTheSameBytesInEachImport) {
  Backing backing(Backing::Kind::shared, 1_MiB);
  put(backing, 5000_B, "before");
  const int exported = export_some(backing);
  Backing first = import_some(exported);
  Backing second = import_some(exported);
  ::close(exported);
  EXPECT_EQ(text_of(first, 5000_B, 6), "before");
  put(first, 1_B, "from first");
  put(second, 900000_B, "from second");
  put(backing, 5000_B, "behind");
  EXPECT_EQ(text_of(second, 1_B, 10), "from first");
  EXPECT_EQ(text_of(first, 900000_B, 11), "from second");
  EXPECT_EQ(text_of(backing, 1_B, 10), "from first");
  EXPECT_EQ(text_of(second, 5000_B, 6), "behind");
}

TEST(ExportedMemory, LivesUntilTheLastIsClosedInAnyOrder) {
  for (int order = 0; order < 6; ++order) {
    Backing backing(Backing::Kind::shared, 1_MiB);
    put(backing, 7_B, "tile");
    const int exported = export_some(backing);
    Backing imported = import_some(exported);
    bool exporter_gone = false;
    // The three owners go one after the other, in each of their orders.
    constexpr std::array<std::array<int, 3>, 6> orders = {
        {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}};
    int description_owners = 2;
    for (const int owner : orders[static_cast<std::size_t>(order)]) {
      if (owner == 0) {
        backing = Backing();
        exporter_gone = true;
      } else if (owner == 1) {
        ::close(exported);
        --description_owners;
      } else {
        EXPECT_EQ(text_of(imported, 7_B, 4), "tile");
        imported = Backing();
        --description_owners;
      }
      if (!exporter_gone) {
        EXPECT_EQ(is_export_open(backing, 0), description_owners > 0);
        EXPECT_EQ(text_of(backing, 7_B, 4), "tile");
      }
    }
  }
}

TEST(ExportedMemory, TellsExportsApart) {
  Backing backing(Backing::Kind::shared, 1_MiB);
  EXPECT_FALSE(is_export_open(backing, 0));
  const int first = export_some(backing, 0);
  const int second = export_some(backing, 1);
  const int last = export_some(backing, 0xffffffff);
  const int duplicate = ::dup(second);
  ::close(first);
  ::close(second);
  EXPECT_FALSE(is_export_open(backing, 0));
  EXPECT_TRUE(is_export_open(backing, 1));
  EXPECT_TRUE(is_export_open(backing, 0xffffffff));
  EXPECT_FALSE(is_export_open(backing, 0xfffffffe));
  ::close(duplicate);
  ::close(last);
  EXPECT_FALSE(is_export_open(backing, 1));
  EXPECT_FALSE(is_export_open(backing, 0xffffffff));
}

TEST(ExportedMemory, CanBeExportedAgainByAnImporter) {
  Backing backing(Backing::Kind::shared, 1_MiB);
  const int exported = export_some(backing);
  Backing importer = import_some(exported);
  ::close(exported);
  EXPECT_FALSE(is_export_open(importer, 0));  // its own descriptor doesn't count
  const int again = export_some(importer, 0);
  EXPECT_TRUE(is_export_open(importer, 0));
  importer = Backing();
  EXPECT_TRUE(is_export_open(backing, 0));
  put(backing, 0_B, "tile");
  EXPECT_EQ(text_of(import_some(again), 0_B, 4), "tile");
  ::close(again);
  EXPECT_FALSE(is_export_open(backing, 0));
}

TEST(ExportedMemory, StaysOpenInAChildThatKeptIt) {
  Backing backing(Backing::Kind::shared, 1_MiB);
  const int exported = export_some(backing);
  std::array<int, 2> pipe = {};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(pipe[1]);
    char byte = 0;
    const ssize_t got = ::read(pipe[0], &byte, 1);  // until the parent closes its end
    const char text[] = "child";
    const auto at = static_cast<off_t>(Backing::file_offset().value() + 100);
    ::_exit(got == 0 && ::pwrite(exported, text, 5, at) == 5 ? 0 : 1);
  }
  ::close(pipe[0]);
  ::close(exported);
  EXPECT_TRUE(is_export_open(backing, 0));
  ::close(pipe[1]);
  EXPECT_TRUE(ends_well(child));
  EXPECT_FALSE(is_export_open(backing, 0));
  EXPECT_EQ(text_of(backing, 100_B, 5), "child");
}

TEST(ExportedMemory, ReachesAnotherProgramThroughExec) {
  Backing backing(Backing::Kind::shared, 1_MiB);
  put(backing, 100_B, "parent");
  const int exported = export_some(backing);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const int inherited = ::dup(exported);  // without CLOEXEC, as a program would hand it on
    ::setenv(descriptor_variable, std::to_string(inherited).c_str(), 1);
    ::execl("/proc/self/exe", "test", "--gtest_filter=ExportedMemory.DISABLED_InAnotherProgram",
            "--gtest_also_run_disabled_tests", "--gtest_output=", "--gtest_brief=1",
            static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(exported);
  EXPECT_TRUE(ends_well(child));
  EXPECT_EQ(text_of(backing, 100_B, 6), "answer");
  EXPECT_FALSE(is_export_open(backing, 0));
}

// What the test above runs.
TEST(ExportedMemory, DISABLED_InAnotherProgram) {
  const char* text = std::getenv(descriptor_variable);
  ASSERT_NE(text, nullptr) << "run by ReachesAnotherProgramThroughExec only";
  const int inherited = std::atoi(text);
  const auto imported = import_memory(inherited);
  ASSERT_TRUE(imported);
  EXPECT_EQ(imported->properties.properties, some_properties(1_MiB).properties);
  Backing backing(imported->file_descriptor, Backing::file_offset(), imported->properties.size);
  ::close(inherited);
  EXPECT_EQ(text_of(backing, 100_B, 6), "parent");
  put(backing, 100_B, "answer");
}

TEST(ExportedMemory, StaysOpenOnItsWayThroughASocket) {
  Backing backing(Backing::Kind::shared, 1_MiB);
  put(backing, 1_B, "tile");
  int exported = export_some(backing);
  std::array<int, 2> sockets = {};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);

  char byte = 'x';
  struct iovec data = {.iov_base = &byte, .iov_len = 1};
  alignas(struct cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
  struct msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  struct cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(part), &exported, sizeof(int));
  ASSERT_EQ(::sendmsg(sockets[0], &message, 0), 1);
  ::close(exported);
  EXPECT_TRUE(is_export_open(backing, 0));

  message.msg_controllen = control.size();
  ASSERT_EQ(::recvmsg(sockets[1], &message, MSG_CMSG_CLOEXEC), 1);
  std::memcpy(&exported, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
  Backing imported = import_some(exported);
  ::close(exported);
  ::close(sockets[0]);
  ::close(sockets[1]);
  EXPECT_EQ(text_of(imported, 1_B, 4), "tile");
  EXPECT_TRUE(is_export_open(backing, 0));
  imported = Backing();
  EXPECT_FALSE(is_export_open(backing, 0));
}

TEST(ExportedMemory, LeavesTheDescriptorAsItWas) {
  Backing backing(Backing::Kind::shared, 1_MiB);
  const int exported = export_some(backing);
  ASSERT_EQ(::lseek(exported, 4321, SEEK_SET), 4321);
  Backing imported = import_some(exported);
  put(imported, 5_B, "tile");
  put(backing, 50_B, "tile");
  EXPECT_EQ(text_of(imported, 50_B, 4), "tile");
  imported.fill({}, 0, 1_MiB);
  EXPECT_EQ(::lseek(exported, 0, SEEK_CUR), 4321);
  ::close(exported);
}

// A file in memory with the first bytes of an export, changed or not.
class Forgery {
 public:
  Forgery(const std::vector<std::byte>& bytes, off_t size, int seals)
      : file_descriptor_(::memfd_create("forgery", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    const auto written = ::pwrite(file_descriptor_, bytes.data(), bytes.size(), 0);
    EXPECT_EQ(written, static_cast<ssize_t>(bytes.size()));
    EXPECT_EQ(::ftruncate(file_descriptor_, size), 0);
    EXPECT_EQ(::fcntl(file_descriptor_, F_ADD_SEALS, seals), 0);
  }
  ~Forgery() { ::close(file_descriptor_); }
  Forgery(const Forgery&) = delete;
  Forgery& operator=(const Forgery&) = delete;

  // Closes what was imported, if anything was.
  [[nodiscard]] bool is_accepted() const {
    const auto imported = import_memory(file_descriptor_);
    if (imported) {
      ::close(imported->file_descriptor);
    }
    return imported.has_value();
  }

 private:
  int file_descriptor_;
};

TEST(ExportedMemory, RefusesForgeries) {
  constexpr int all_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  constexpr off_t size = 4096 + 8192;
  Backing backing(Backing::Kind::shared, 8192_B);
  const int exported = export_some(backing);
  std::vector<std::byte> header(128);
  ASSERT_EQ(::pread(exported, header.data(), header.size(), 0), 128);
  ::close(exported);

  EXPECT_TRUE(Forgery(header, size, all_seals).is_accepted());
  EXPECT_FALSE(Forgery(header, size, F_SEAL_SHRINK | F_SEAL_GROW).is_accepted());
  EXPECT_FALSE(Forgery(header, size, all_seals | F_SEAL_WRITE).is_accepted());
  EXPECT_FALSE(Forgery(header, 0, all_seals).is_accepted());
  EXPECT_FALSE(Forgery(header, 20, all_seals).is_accepted());
  EXPECT_FALSE(Forgery(header, 4096, all_seals).is_accepted());
  EXPECT_FALSE(Forgery(header, size - 1, all_seals).is_accepted());
  EXPECT_FALSE(Forgery(header, size + 1, all_seals).is_accepted());
  EXPECT_FALSE(
      Forgery(std::vector<std::byte>(128, std::byte{0xa5}), size, all_seals).is_accepted());
  const auto is_accepted_with = [&](std::size_t at, std::byte bit) {
    auto changed = header;
    changed[at] ^= bit;
    return Forgery(changed, size, all_seals).is_accepted();
  };
  for (std::size_t at = 0; at < 32; ++at) {  // magic, version, sizes
    EXPECT_FALSE(is_accepted_with(at, std::byte{0x80})) << "byte " << at;
  }
  EXPECT_FALSE(is_accepted_with(58, std::byte{0x80}));  // whether there is metadata
  EXPECT_TRUE(is_accepted_with(60, std::byte{0x80}));   // a property
  for (std::size_t at = 65; at < 72; ++at) {            // not used
    EXPECT_FALSE(is_accepted_with(at, std::byte{1})) << "byte " << at;
  }
}

TEST(ExportedMemory, RefusesWhatIsNoExport) {
  const int before = open_descriptors();
  std::array<int, 2> pipe = {};
  std::array<int, 2> sockets = {};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
  Backing backing(Backing::Kind::shared, 8192_B);
  const int exported = export_some(backing);
  const std::string path = "/proc/self/fd/" + std::to_string(exported);
  const std::vector<int> others = {
      ::open("/dev/null", O_RDWR | O_CLOEXEC),
      ::open("/dev/zero", O_RDWR | O_CLOEXEC),
      ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
      ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC),
      ::open(path.c_str(), O_PATH | O_CLOEXEC),
      ::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC),
      ::memfd_create("empty", MFD_CLOEXEC),
      pipe[0],
      pipe[1],
      sockets[0],
      sockets[1],
  };
  for (std::size_t i = 0; i < others.size(); ++i) {
    ASSERT_GE(others[i], 0) << i;
    EXPECT_FALSE(import_memory(others[i])) << i;
  }
  for (const int other : others) {
    ::close(other);
    EXPECT_FALSE(import_memory(other));
  }
  EXPECT_FALSE(import_memory(-1));
  EXPECT_FALSE(import_memory(1 << 30));
  ::close(exported);
  backing = Backing();
  EXPECT_EQ(open_descriptors(), before);
}

// Each call that an export or an import makes.
constexpr FailingCalls::Plan calls_of_exports[] = {
    {.call = SystemCall::memfd_create, .error = EMFILE},
    {.call = SystemCall::ftruncate, .error = EFBIG},
    {.call = SystemCall::fcntl, .error = EPERM},  // the seals
    {.call = SystemCall::pwrite, .error = ENOSPC},
    {.call = SystemCall::pwrite, .error = 0},  // cut short
    {.call = SystemCall::open, .error = EMFILE},
    {.call = SystemCall::fcntl, .error = ENOLCK, .after = 1},  // the lock
};
constexpr FailingCalls::Plan calls_of_imports[] = {
    {.call = SystemCall::fcntl, .error = EINVAL},             // the seals
    {.call = SystemCall::fcntl, .error = EBADF, .after = 1},  // the flags
    {.call = SystemCall::fstat, .error = EIO},
    {.call = SystemCall::pread, .error = EIO},
    {.call = SystemCall::pread, .error = 0},
    {.call = SystemCall::fcntl, .error = EMFILE, .after = 2},  // the duplicate
};

TEST(ExportedMemory, IsNotExportedWhereASystemCallFails) {
  const int before = open_descriptors();
  for (const auto& plan : calls_of_exports) {
    Backing backing(Backing::Kind::shared, 1_MiB);
    {
      const FailingCalls failing(plan);
      EXPECT_EQ(export_some(backing), -1) << static_cast<int>(plan.call);
      EXPECT_TRUE(failing.has_failed()) << static_cast<int>(plan.call);
    }
    EXPECT_FALSE(is_export_open(backing, 0));
    const int exported = export_some(backing);  // it works the next time
    EXPECT_GE(exported, 0);
    ::close(exported);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(ExportedMemory, IsNotImportedWhereASystemCallFails) {
  const int before = open_descriptors();
  {
    Backing backing(Backing::Kind::shared, 1_MiB);
    const int exported = export_some(backing);
    for (const auto& plan : calls_of_imports) {
      const FailingCalls failing(plan);
      EXPECT_FALSE(import_memory(exported)) << static_cast<int>(plan.call);
      EXPECT_TRUE(failing.has_failed()) << static_cast<int>(plan.call);
    }
    EXPECT_TRUE(is_export_open(backing, 0));
    ::close(exported);
  }
  EXPECT_EQ(open_descriptors(), before);
}

// Where nobody can tell whether a descriptor is open, none is.
TEST(ExportedMemory, IsTakenForClosedWhereNobodySays) {
  Backing backing(Backing::Kind::shared, 1_MiB);
  const int exported = export_some(backing);
  {
    const FailingCalls failing({.call = SystemCall::fcntl, .error = EINVAL});
    EXPECT_FALSE(is_export_open(backing, 0));
  }
  EXPECT_TRUE(is_export_open(backing, 0));
  ::close(exported);
  Backing without_file(Backing::Kind::shared, 1_MiB);
  const FailingCalls failing({.call = SystemCall::memfd_create, .error = ENFILE});
  EXPECT_FALSE(is_export_open(without_file, 0));
}

TEST(ExportedMemory, TriesAgainWhereASignalCameBetween) {
  const SystemCall interrupted[] = {SystemCall::pwrite, SystemCall::open, SystemCall::pread};
  for (const SystemCall call : interrupted) {
    Backing backing(Backing::Kind::shared, 1_MiB);
    put(backing, 1_B, "tile");
    const FailingCalls failing({.call = call, .error = EINTR, .times = 3});
    const int exported = export_some(backing);
    EXPECT_EQ(text_of(import_some(exported), 1_B, 4), "tile");
    EXPECT_TRUE(failing.has_failed());
    ::close(exported);
  }
}

TEST(ExportedMemory, GivesNoDescriptorWhenNoneIsLeft) {
  const int before = open_descriptors();
  {
    Backing backing(Backing::Kind::shared, 1_MiB);
    put(backing, 1_B, "tile");
    for (int count = 0; count < 2; ++count) {  // none for the file, then none for the export
      const DescriptorLimit limit(count);
      EXPECT_EQ(export_some(backing), -1);
    }
    EXPECT_FALSE(is_export_open(backing, 0));
    const int exported = export_some(backing);
    ASSERT_GE(exported, 0);
    {
      const DescriptorLimit limit(0);
      EXPECT_FALSE(import_memory(exported));
      EXPECT_TRUE(is_export_open(backing, 0));
    }
    EXPECT_EQ(text_of(import_some(exported), 1_B, 4), "tile");
    ::close(exported);
  }
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace tessera::sim
