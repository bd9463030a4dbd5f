// Else the C library has definitions of its own of some of these.
#undef _FORTIFY_SOURCE
#include "support/failing_calls.h"

#include <cerrno>
#include <cstdarg>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tessera::test {
namespace {

thread_local FailingCalls::Plan plan;

// The call's answer: told, or the kernel's.
template <class... Arguments>
long make(SystemCall call, long number, Arguments... arguments) noexcept {
  if (call != plan.call || plan.times == 0 || plan.after-- > 0) {
    return ::syscall(number, arguments...);
  }
  plan.after = 0;
  --plan.times;
  if (plan.error == 0) {
    return 0;
  }
  errno = plan.error;
  return -1;
}

}  // namespace

FailingCalls::FailingCalls(const Plan& wanted) noexcept { plan = wanted; }
FailingCalls::~FailingCalls() { plan = {}; }
bool FailingCalls::has_failed() const noexcept { return plan.times == 0; }

}  // namespace tessera::test

// The C library's names and types; those with a mode or a pointer as their last argument take it
// whether it is there or not, as the C library does.
extern "C" {

int fallocate(int file, int mode, off_t offset, off_t size) {
  using namespace tessera::test;
  return static_cast<int>(make(SystemCall::fallocate, SYS_fallocate, file, mode, offset, size));
}

int fcntl(int file, int command, ...) {
  using namespace tessera::test;
  std::va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return static_cast<int>(make(SystemCall::fcntl, SYS_fcntl, file, command, argument));
}

int fstat(int file, struct stat* status) noexcept {
  using namespace tessera::test;
  return static_cast<int>(make(SystemCall::fstat, SYS_fstat, file, status));
}

int ftruncate(int file, off_t size) noexcept {
  using namespace tessera::test;
  return static_cast<int>(make(SystemCall::ftruncate, SYS_ftruncate, file, size));
}

int getsockopt(int socket, int level, int option, void* value, socklen_t* size) noexcept {
  using namespace tessera::test;
  return static_cast<int>(
      make(SystemCall::getsockopt, SYS_getsockopt, socket, level, option, value, size));
}

int memfd_create(const char* name, unsigned flags) noexcept {
  using namespace tessera::test;
  return static_cast<int>(make(SystemCall::memfd_create, SYS_memfd_create, name, flags));
}

int open(const char* path, int flags, ...) {
  using namespace tessera::test;
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = va_arg(arguments, mode_t);
  va_end(arguments);
  return static_cast<int>(make(SystemCall::open, SYS_openat, AT_FDCWD, path, flags, mode));
}

ssize_t pread(int file, void* bytes, std::size_t size, off_t offset) {
  using namespace tessera::test;
  return make(SystemCall::pread, SYS_pread64, file, bytes, size, offset);
}

ssize_t pwrite(int file, const void* bytes, std::size_t size, off_t offset) {
  using namespace tessera::test;
  return make(SystemCall::pwrite, SYS_pwrite64, file, bytes, size, offset);
}

ssize_t recvmsg(int socket, struct msghdr* message, int flags) {
  using namespace tessera::test;
  return make(SystemCall::recvmsg, SYS_recvmsg, socket, message, flags);
}

ssize_t sendmsg(int socket, const struct msghdr* message, int flags) {
  using namespace tessera::test;
  return make(SystemCall::sendmsg, SYS_sendmsg, socket, message, flags);
}
}
