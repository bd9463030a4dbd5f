// Which driver the command works on, and worlds of it to run cases in.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tessera/scenario/world.h"

namespace tessera::tools {

enum class BackendKind : std::uint8_t { sim, cuda };

struct BackendOptions {
  BackendKind kind = BackendKind::sim;
  std::string profile = "h200";  // of the simulator: a built-in one's name, or a file
  std::int32_t devices = 1;
  // Whether simulated memory has bytes: filling all of a device takes as much of the host.
  bool bytes = true;
};

// The options as arguments of this command, for a process that is to use the same.
[[nodiscard]] std::vector<std::string> to_arguments(const BackendOptions& options);

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend();

  // A world as new as this process can make it. The backend outlives it.
  virtual std::unique_ptr<scenario::World> make_world() = 0;
};

// Nothing that could be used, in words that say what would work.
struct BackendError {
  std::string message;
};

// Whether this build has the backend, and its options make sense. Opens nothing.
[[nodiscard]] BackendError check_backend(const BackendOptions& options);

// What `u` stands for there.
[[nodiscard]] Bytes granule_of(const BackendOptions& options);

[[nodiscard]] std::variant<std::unique_ptr<Backend>, BackendError> open_backend(
    const BackendOptions& options);

}  // namespace tessera::tools
