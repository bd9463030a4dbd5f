#include "ipc_child.h"

#include <array>
#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

#include "child_process.h"

namespace tessera::tools {
namespace {

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 512> buffer = {};
  for (;;) {
    const ssize_t size = read(descriptor, buffer.data(), buffer.size());
    if (size > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(size));
    } else if (size == 0 || errno != EINTR) {
      return text;
    }
  }
}

}  // namespace

std::string run_child_process(const BackendOptions& options, const scenario::ChildTask& task) {
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return "spawn:OPERATING_SYSTEM";
  }
  const OwnedDescriptor reading(ends[0]);
  OwnedDescriptor writing(ends[1]);
  ChildOptions child = {
      .arguments = {ipc_child_verb, "--size", std::to_string(task.size.value()), "--value",
                    std::to_string(task.value)},
      .environment = {},
      .inherit = {{task.file_descriptor, ipc_child_descriptor}, {writing.get(), STDOUT_FILENO}}};
  for (std::string& argument : to_arguments(options)) {
    child.arguments.push_back(std::move(argument));
  }
  auto process = ChildProcess::start(child);
  writing.close();
  if (!process) {
    return "spawn:OPERATING_SYSTEM";
  }
  std::string done = read_all(reading.get());
  const ChildEnd end = process->wait();
  if (end.signal != 0) {
    done += done.empty() ? "end:CRASH" : " end:CRASH";
  }
  return done;
}

int ipc_child_main(const BackendOptions& options, const scenario::ChildTask& task) {
  auto backend = open_backend(options);
  if (const auto* error = std::get_if<BackendError>(&backend)) {
    std::fprintf(stderr, "tessera: %s\n", error->message.c_str());
    return 2;
  }
  const auto world = std::get<std::unique_ptr<Backend>>(backend)->make_world();
  const std::string done = scenario::run_child_task(world->driver(), task);
  std::fwrite(done.data(), 1, done.size(), stdout);
  return 0;
}

}  // namespace tessera::tools
