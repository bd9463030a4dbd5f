#include "cuda_backend.h"

#include <bit>
#include <utility>

#if TESSERA_WITH_CUDA
#include "driver_world.h"
#include "ipc_child.h"
#include "tessera/cuda/cuda_driver.h"
#endif

namespace tessera::tools {

#if TESSERA_WITH_CUDA
namespace {

class CudaWorld final : public DriverWorld {
 public:
  CudaWorld(Driver& driver, const BackendOptions& options)
      : DriverWorld(driver, cuda_granule), options_(options) {}

  // The address itself: where the CPU may not touch it, this process ends, as the program would
  // whose case this is.
  Result<std::byte> host_read(DeviceAddress address) override { return *byte_at(address); }
  Status host_write(DeviceAddress address, std::byte value) override {
    *byte_at(address) = value;
    return {};
  }
  std::string run_child(const scenario::ChildTask& task) override {
    return run_child_process(options_, task);
  }

 private:
  static volatile std::byte* byte_at(DeviceAddress address) {
    return std::bit_cast<volatile std::byte*>(static_cast<std::uintptr_t>(address.value()));
  }

  const BackendOptions& options_;
};

class CudaBackend final : public Backend {
 public:
  CudaBackend(std::unique_ptr<cuda::CudaDriver> driver, BackendOptions options)
      : driver_(std::move(driver)), options_(std::move(options)) {}

  std::unique_ptr<scenario::World> make_world() override {
    return std::make_unique<CudaWorld>(*driver_, options_);
  }

 private:
  std::unique_ptr<cuda::CudaDriver> driver_;
  BackendOptions options_;
};

}  // namespace

std::variant<std::unique_ptr<Backend>, BackendError> open_cuda_backend(
    const BackendOptions& options) {
  auto driver = cuda::CudaDriver::open();
  if (!driver) {
    return BackendError{"no CUDA driver on this machine: " + to_string(driver.error())};
  }
  return std::make_unique<CudaBackend>(std::move(driver).value(), options);
}
#else
std::variant<std::unique_ptr<Backend>, BackendError> open_cuda_backend(
    const BackendOptions& options) {
  return check_backend(options);
}
#endif

}  // namespace tessera::tools
