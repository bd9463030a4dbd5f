#include "exported_memory.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <type_traits>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tessera/check.h"

namespace tessera::sim {
namespace {

constexpr std::uint64_t magic = 0x6172657373657401;  // 01 "tessera" as the file has it
constexpr std::uint32_t version = 1;

// How the file begins. Processes of one machine read it, so the byte order is the machine's own.
struct Header {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t header_size;
  std::uint64_t file_offset;
  std::uint64_t size;
  std::uint64_t memory_id;
  std::uint32_t type;
  std::uint32_t requested_handle_types;
  std::uint32_t location_type;
  std::int32_t location_id;
  std::uint16_t usage;
  std::uint8_t has_win32_handle_metadata;
  std::uint8_t compression;
  std::uint8_t gpu_direct_rdma_capable;
  std::array<std::uint8_t, 4> reserved;
  std::array<std::uint8_t, 7> unused;  // zero
};
static_assert(std::has_unique_object_representations_v<Header>, "no padding travels");
static_assert(sizeof(Header) <= 4096);

// What an imported win32_handle_metadata points to.
constexpr char some_metadata = 0;

Header to_header(const ExportedProperties& exported) noexcept {
  const AllocationProperties& properties = exported.properties;
  return {
      .magic = magic,
      .version = version,
      .header_size = sizeof(Header),
      .file_offset = Backing::file_offset().value(),
      .size = exported.size.value(),
      .memory_id = exported.memory_id,
      .type = static_cast<std::uint32_t>(properties.type),
      .requested_handle_types = static_cast<std::uint32_t>(properties.requested_handle_types),
      .location_type = static_cast<std::uint32_t>(properties.location.type),
      .location_id = properties.location.id,
      .usage = properties.usage,
      .has_win32_handle_metadata =
          properties.win32_handle_metadata != nullptr ? std::uint8_t{1} : std::uint8_t{0},
      .compression = static_cast<std::uint8_t>(properties.compression),
      .gpu_direct_rdma_capable = properties.gpu_direct_rdma_capable,
      .reserved = properties.reserved,
      .unused = {},
  };
}

ExportedProperties from_header(const Header& header) noexcept {
  return {
      .size = Bytes(header.size),
      .properties =
          {
              .type = static_cast<AllocationType>(header.type),
              .requested_handle_types = static_cast<HandleTypes>(header.requested_handle_types),
              .location = {.type = static_cast<LocationType>(header.location_type),
                           .id = header.location_id},
              .win32_handle_metadata =
                  header.has_win32_handle_metadata != 0 ? &some_metadata : nullptr,
              .compression = static_cast<Compression>(header.compression),
              .gpu_direct_rdma_capable = header.gpu_direct_rdma_capable,
              .usage = header.usage,
              .reserved = header.reserved,
          },
      .memory_id = header.memory_id,
  };
}

// `file_size` cannot change any more: the seals were looked at.
bool is_valid(const Header& header, std::uint64_t file_size) noexcept {
  return header.magic == magic && header.version == version &&
         header.header_size == sizeof(Header) &&
         header.file_offset == Backing::file_offset().value() && file_size > header.file_offset &&
         header.size == file_size - header.file_offset && header.has_win32_handle_metadata <= 1 &&
         header.unused == decltype(header.unused){};
}

bool write_header(int file_descriptor, const Header& header) noexcept {
  ssize_t written = -1;
  do {
    written = ::pwrite(file_descriptor, &header, sizeof(header), 0);
  } while (written < 0 && errno == EINTR);
  return written == static_cast<ssize_t>(sizeof(header));
}

// The lock of an export: a byte that no memory is large enough to have.
struct flock export_lock(short type, std::uint32_t export_number) noexcept {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = (off_t{1} << 62) + static_cast<off_t>(export_number);
  lock.l_len = 1;
  return lock;
}

// A description of its own: a duplicate would share the one that is there.
int open_again(int file_descriptor) noexcept {
  std::array<char, 32> path = {};
  std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", file_descriptor);
  int opened = -1;
  do {
    opened = ::open(path.data(), O_RDWR | O_CLOEXEC);
  } while (opened < 0 && errno == EINTR);
  return opened;
}

}  // namespace

int export_memory(Backing& backing, const ExportedProperties& properties,
                  std::uint32_t export_number) {
  TESSERA_CHECK(backing.kind() == Backing::Kind::shared);
  TESSERA_CHECK(properties.size == backing.size());
  const int file = backing.file_descriptor();
  if (file < 0 || !write_header(file, to_header(properties))) {
    return -1;
  }
  const int exported = open_again(file);
  if (exported < 0) {
    return -1;
  }
  // A lock for reading: the exports of two processes under one number don't shut each other out.
  struct flock lock = export_lock(F_RDLCK, export_number);
  if (::fcntl(exported, F_OFD_SETLK, &lock) != 0) {
    ::close(exported);
    return -1;
  }
  return exported;
}

bool is_export_open(Backing& backing, std::uint32_t export_number) {
  const int file = backing.file_descriptor();
  struct flock lock = export_lock(F_WRLCK, export_number);
  return file >= 0 && ::fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

std::optional<ImportedMemory> import_memory(int file_descriptor) {
  // Only files in memory have seals, so that nothing is ever read from a pipe or a device.
  constexpr int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  constexpr int unwanted = F_SEAL_WRITE | F_SEAL_FUTURE_WRITE;
  const int seals = ::fcntl(file_descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & (wanted | unwanted)) != wanted) {
    return std::nullopt;
  }
  // With O_APPEND all writes would go to the end of the file.
  const int flags = ::fcntl(file_descriptor, F_GETFL);
  if (flags < 0 || (flags & (O_ACCMODE | O_APPEND)) != O_RDWR) {
    return std::nullopt;
  }
  struct stat status = {};
  if (::fstat(file_descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  Header header = {};
  ssize_t got = -1;
  do {
    got = ::pread(file_descriptor, &header, sizeof(header), 0);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof(header)) ||
      !is_valid(header, static_cast<std::uint64_t>(status.st_size))) {
    return std::nullopt;
  }
  const int duplicate = ::fcntl(file_descriptor, F_DUPFD_CLOEXEC, 0);
  if (duplicate < 0) {
    return std::nullopt;
  }
  return ImportedMemory{.properties = from_header(header), .file_descriptor = duplicate};
}

}  // namespace tessera::sim
