#include "backend.h"

#include <utility>

#include "cuda_backend.h"
#include "sim_backend.h"
#include "tessera/sim/profile_file.h"
#include "tessera/sim/sim_driver.h"

namespace tessera::tools {

Backend::~Backend() = default;

std::vector<std::string> to_arguments(const BackendOptions& options) {
  std::vector<std::string> arguments = {"--backend",
                                        options.kind == BackendKind::sim ? "sim" : "cuda",
                                        "--devices", std::to_string(options.devices)};
  if (options.kind == BackendKind::sim) {
    arguments.insert(arguments.end(), {"--profile", options.profile});
  }
  return arguments;
}

BackendError check_backend(const BackendOptions& options) {
  if (options.kind == BackendKind::cuda) {
    return TESSERA_WITH_CUDA != 0
               ? BackendError{}
               : BackendError{
                     "this tessera was built without the CUDA backend; use --backend sim, "
                     "or build where cuda.h is found (cmake --preset gpu)"};
  }
  const auto profile = sim::load_profile(options.profile);
  if (const auto* error = std::get_if<sim::ProfileError>(&profile)) {
    return BackendError{error->message};
  }
  return BackendError{sim::check_machine(std::get<sim::Profile>(profile),
                                         sim::SimOptions{.devices = options.devices})};
}

Bytes granule_of(const BackendOptions& options) {
  if (options.kind == BackendKind::sim) {
    const auto profile = sim::load_profile(options.profile);
    if (const auto* usable = std::get_if<sim::Profile>(&profile)) {
      return usable->granularity_minimum;
    }
  }
  return cuda_granule;
}

std::variant<std::unique_ptr<Backend>, BackendError> open_backend(const BackendOptions& options) {
  if (options.kind == BackendKind::cuda) {
    return open_cuda_backend(options);
  }
  if (BackendError unusable = check_backend(options); !unusable.message.empty()) {
    return unusable;
  }
  auto profile = sim::load_profile(options.profile);
  return make_sim_backend(std::get<sim::Profile>(std::move(profile)), options);
}

}  // namespace tessera::tools
