// The real driver as a backend. All worlds of a process share it: cases undo what they did.
#pragma once

#include <memory>
#include <variant>

#include "backend.h"

namespace tessera::tools {

// Before the driver is started it cannot be asked; so far no GPU has had another granule.
inline constexpr Bytes cuda_granule = Bytes(1U << 21U);

// Where this build has no CUDA backend: an error that says so.
[[nodiscard]] std::variant<std::unique_ptr<Backend>, BackendError> open_cuda_backend(
    const BackendOptions& options);

}  // namespace tessera::tools
