#include "tessera/sharing/file_descriptor.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace tessera {
namespace {

// Numbers below are the standard streams', which drivers [h200: 0] and programs take for such.
constexpr int descriptor_min = 3;

Error failed(Reason reason) noexcept {
  return {.code = ErrorCode::operating_system,
          .reason = reason,
          .values = {static_cast<std::uint64_t>(errno)}};
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    static_cast<void>(close());
    descriptor_ = other.release();
  }
  return *this;
}

int FileDescriptor::release() noexcept { return std::exchange(descriptor_, -1); }

Result<FileDescriptor> FileDescriptor::duplicate() const {
  const int duplicate = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, descriptor_min);
  if (duplicate < 0) {
    return failed(Reason::descriptor_not_duplicated);
  }
  return FileDescriptor(duplicate);
}

Status FileDescriptor::close() noexcept {
  if (is_open() && ::close(release()) != 0) {
    return failed(Reason::descriptor_not_closed);
  }
  return {};
}

}  // namespace tessera
