// FailingCalls: system calls that fail as told. A program that links failing_calls.cpp has these
// calls of its own: they go on to the kernel, unless a FailingCalls of this thread says otherwise.
//
//   const FailingCalls interrupted({.call = SystemCall::pread, .error = EINTR});
//
// One at a time.
#pragma once

#include <cstdint>

namespace tessera::test {

enum class SystemCall : std::uint8_t {
  none,
  fallocate,
  fcntl,
  fstat,
  ftruncate,
  getsockopt,
  memfd_create,
  open,
  pread,
  pwrite,
  recvmsg,
  sendmsg,
};

class FailingCalls {
 public:
  struct Plan {
    SystemCall call = SystemCall::none;
    int error = 0;  // zero: it succeeds, having done nothing (gives 0)
    int after = 0;  // so many are made first
    int times = 1;  // and so many fail
  };

  explicit FailingCalls(const Plan& plan) noexcept;
  ~FailingCalls();
  FailingCalls(const FailingCalls&) = delete;
  FailingCalls& operator=(const FailingCalls&) = delete;

  // Whether all failed that were to.
  [[nodiscard]] bool has_failed() const noexcept;
};

}  // namespace tessera::test
