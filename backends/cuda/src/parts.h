// What a CudaDriver is made of: kept out of the public header, which needs no cuda.h.
#pragma once

#include <cuda.h>

#include "entry_points.h"
#include "tessera/cuda/cuda_driver.h"
#include "tessera/ids.h"
#include "touch_kernel.h"

namespace tessera::cuda {

struct CudaDriver::Parts {
  explicit Parts(const EntryPoints& found) noexcept : entries(found), touch_kernel(entries) {}
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() = default;

  // The driver's name for a device. Where it has none, the ordinal itself goes on to the call, so
  // that the call gives its own answer to a device that does not exist.
  [[nodiscard]] CUdevice device(DeviceOrdinal ordinal) const {
    CUdevice device = 0;
    return entries.device_get(&device, ordinal.value()) ? device : CUdevice{ordinal.value()};
  }

  const EntryPoints entries;
  TouchKernel touch_kernel;
};

}  // namespace tessera::cuda
