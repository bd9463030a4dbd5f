// This command run again as another process, with descriptors that it inherits.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace tessera::tools {

// Closes its descriptor.
class OwnedDescriptor {
 public:
  OwnedDescriptor() = default;
  explicit OwnedDescriptor(int descriptor) noexcept : descriptor_(descriptor) {}
  OwnedDescriptor(OwnedDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept;
  ~OwnedDescriptor();

  [[nodiscard]] int get() const noexcept { return descriptor_; }
  void close() noexcept;

 private:
  int descriptor_ = -1;
};

struct ChildOptions {
  std::vector<std::string> arguments;        // without the program's name
  std::vector<std::string> environment;      // NAME=VALUE, besides what this process has
  std::vector<std::pair<int, int>> inherit;  // descriptor here, descriptor there
};

// How a process ended.
struct ChildEnd {
  int signal = 0;       // that ended it; 0 if it left by itself
  int exit_status = 0;  // else
};

class ChildProcess {
 public:
  // Nothing if the process cannot be started.
  static std::optional<ChildProcess> start(const ChildOptions& options);

  ChildProcess(ChildProcess&& other) noexcept : process_(std::exchange(other.process_, -1)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();  // kills it if nobody waited

  void kill() const noexcept;
  ChildEnd wait() noexcept;

 private:
  explicit ChildProcess(pid_t process) noexcept : process_(process) {}

  pid_t process_;
};

// The program that is running.
[[nodiscard]] std::string own_executable();

}  // namespace tessera::tools
