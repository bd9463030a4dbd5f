// What tests of descriptors and sockets share.
#pragma once

#include <array>
#include <cstddef>
#include <stdexcept>

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tessera/sharing/file_descriptor.h"

namespace tessera::test {

// How many descriptors this process has open.
[[nodiscard]] inline std::size_t open_descriptors() {
  DIR* folder = ::opendir("/proc/self/fd");
  std::size_t count = 0;
  while (::readdir(folder) != nullptr) {
    ++count;
  }
  ::closedir(folder);
  return count;
}

// Sees that as many are open at its end as at its begin. The first member of a fixture goes last.
class NoDescriptorIsLeft {
 public:
  NoDescriptorIsLeft() = default;
  NoDescriptorIsLeft(const NoDescriptorIsLeft&) = delete;
  NoDescriptorIsLeft& operator=(const NoDescriptorIsLeft&) = delete;
  ~NoDescriptorIsLeft() { EXPECT_EQ(open_descriptors(), before_); }

 private:
  std::size_t before_ = open_descriptors();
};

struct SocketPair {
  FileDescriptor here;
  FileDescriptor there;
};

[[nodiscard]] inline SocketPair socket_pair(int type = SOCK_STREAM) {
  std::array<int, 2> ends = {};
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::runtime_error("no socket pair");
  }
  return {.here = FileDescriptor(ends[0]), .there = FileDescriptor(ends[1])};
}

// Lets this process have only `count` descriptors more.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(std::size_t count) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(0);
    ::close(next);
    struct rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(next) + count;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  struct rlimit before_ = {};
};

}  // namespace tessera::test
