#include "child_process.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace tessera::tools {
namespace {

// Above all descriptors that a child gets, so that one move does not overwrite the next one's
// source.
constexpr int safe_descriptor_min = 64;

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> merged_environment(const std::vector<std::string>& added) {
  std::vector<std::string> all = added;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(added.begin(), added.end(), [&](const std::string& other) {
      return std::string_view(other).substr(0, other.find('=')) == name;
    });
    if (!replaced) {
      all.emplace_back(text);
    }
  }
  return all;
}

// While it lives, programs that are started get no random addresses. Where a driver puts things,
// and so some of its answers, depends on where the process's libraries lie. Not allowed everywhere:
// then addresses stay random.
class FixedAddresses {
 public:
  FixedAddresses() : before_(personality(query)) {
    if (before_ != -1) {
      personality(static_cast<unsigned>(before_) | ADDR_NO_RANDOMIZE);
    }
  }
  FixedAddresses(const FixedAddresses&) = delete;
  FixedAddresses& operator=(const FixedAddresses&) = delete;
  ~FixedAddresses() {
    if (before_ != -1) {
      personality(static_cast<unsigned>(before_));
    }
  }

 private:
  static constexpr unsigned long query = 0xffffffff;
  int before_;
};

}  // namespace

OwnedDescriptor& OwnedDescriptor::operator=(OwnedDescriptor&& other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

OwnedDescriptor::~OwnedDescriptor() { close(); }

void OwnedDescriptor::close() noexcept {
  if (descriptor_ >= 0) {
    ::close(std::exchange(descriptor_, -1));
  }
}

std::string own_executable() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::optional<ChildProcess> ChildProcess::start(const ChildOptions& options) {
  const std::string program = own_executable();
  std::vector<std::string> arguments = {program};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  std::vector<std::string> environment = merged_environment(options.environment);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  std::vector<OwnedDescriptor> sources;
  for (const auto& [here, there] : options.inherit) {
    sources.emplace_back(fcntl(here, F_DUPFD_CLOEXEC, safe_descriptor_min));
    posix_spawn_file_actions_adddup2(&actions, sources.back().get(), there);
  }
  pid_t process = -1;
  const FixedAddresses fixed;
  const int error = posix_spawn(&process, program.c_str(), &actions, nullptr,
                                pointers_to(arguments).data(), pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return std::nullopt;
  }
  return ChildProcess(process);
}

ChildProcess::~ChildProcess() {
  if (process_ > 0) {
    kill();
    static_cast<void>(wait());
  }
}

void ChildProcess::kill() const noexcept {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
  }
}

ChildEnd ChildProcess::wait() noexcept {
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  if (WIFSIGNALED(status)) {
    return {.signal = WTERMSIG(status)};
  }
  return {.exit_status = WEXITSTATUS(status)};
}

}  // namespace tessera::tools
