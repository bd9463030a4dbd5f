// The kernel behind launch_touch, loaded into each context that uses it.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include <cuda.h>

#include "entry_points.h"
#include "tessera/requests.h"

namespace tessera::cuda {

// Remembers one module a context. A context that goes takes its module with it; the driver must
// then be told (`forget_*`), because its address, and after a reset even the context itself, come
// back without the module.
class TouchKernel {
 public:
  explicit TouchKernel(const EntryPoints& entries) noexcept : entries_(entries) {}

  Status launch(const LaunchTouchRequest& request);

  void forget_context(CUcontext context);
  // All contexts of a device: which of them is the primary one, the driver does not tell without
  // retaining it. One that lives on loads the few bytes again.
  void forget_device(CUdevice device);

 private:
  struct Loaded {
    CUfunction function;
    CUcontext context;
    CUdevice device;
  };

  Result<CUfunction> function_for_current_context();
  // Unique for the life of the process where the driver has ids; else the context's address.
  Result<std::uint64_t> id_of(CUcontext context) const;
  Result<Loaded> load(CUcontext context) const;

  const EntryPoints& entries_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Loaded> loaded_;
};

}  // namespace tessera::cuda
