// Opening the driver; the system and the contexts.
#include "tessera/cuda/cuda_driver.h"

#include <array>
#include <utility>

#include "conversions.h"
#include "parts.h"

namespace tessera::cuda {

CudaDriver::CudaDriver(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}

CudaDriver::~CudaDriver() = default;

Result<std::unique_ptr<CudaDriver>> CudaDriver::open() { return open_library(default_library); }

Result<std::unique_ptr<CudaDriver>> CudaDriver::open_library(const std::string& library) {
  TESSERA_TRY_ASSIGN(const EntryPoints entries, EntryPoints::load(library));
  return std::unique_ptr<CudaDriver>(new CudaDriver(std::make_unique<Parts>(entries)));
}

// --- System -------------------------------------------------------------------------------------

Status CudaDriver::init(std::uint32_t flags) { return parts_->entries.init(flags); }

Result<std::int32_t> CudaDriver::driver_get_version() {
  int version = 0;
  TESSERA_TRY(parts_->entries.driver_get_version(&version));
  return version;
}

Result<std::int32_t> CudaDriver::device_get_count() {
  int count = 0;
  TESSERA_TRY(parts_->entries.device_get_count(&count));
  return count;
}

Result<std::string> CudaDriver::device_get_name(DeviceOrdinal device) {
  std::array<char, 256> name = {};
  TESSERA_TRY(parts_->entries.device_get_name(name.data(), static_cast<int>(name.size()),
                                              parts_->device(device)));
  name.back() = '\0';
  return std::string(name.data());
}

Result<Bytes> CudaDriver::device_total_mem(DeviceOrdinal device) {
  std::size_t size = 0;
  TESSERA_TRY(parts_->entries.device_total_mem(&size, parts_->device(device)));
  return Bytes(size);
}

Result<std::int32_t> CudaDriver::device_get_attribute(const DeviceAttributeRequest& request) {
  int value = 0;
  TESSERA_TRY(parts_->entries.device_get_attribute(&value, static_cast<unsigned>(request.attribute),
                                                   parts_->device(request.device)));
  return value;
}

Result<bool> CudaDriver::device_can_access_peer(const PeerQuery& query) {
  const CUdevice device = parts_->device(query.device);
  const CUdevice peer = parts_->device(query.peer);
  int can = 0;
  TESSERA_TRY(parts_->entries.device_can_access_peer(&can, device, peer));
  return can != 0;
}

// --- Contexts -----------------------------------------------------------------------------------

Result<ContextHandle> CudaDriver::device_primary_ctx_retain(DeviceOrdinal device) {
  CUcontext context = nullptr;
  TESSERA_TRY(parts_->entries.device_primary_ctx_retain(&context, parts_->device(device)));
  return to_handle<ContextHandle>(context);
}

Status CudaDriver::device_primary_ctx_release(DeviceOrdinal device) {
  const EntryPoints& entries = parts_->entries;
  const CUdevice cuda_device = parts_->device(device);
  TESSERA_TRY(entries.device_primary_ctx_release(cuda_device));
  unsigned flags = 0;
  int is_active = 0;
  const Status state = entries.device_primary_ctx_get_state(cuda_device, &flags, &is_active);
  if (!state || is_active == 0) {
    parts_->touch_kernel.forget_device(cuda_device);
  }
  return {};
}

Status CudaDriver::device_primary_ctx_reset(DeviceOrdinal device) {
  const CUdevice cuda_device = parts_->device(device);
  TESSERA_TRY(parts_->entries.device_primary_ctx_reset(cuda_device));
  parts_->touch_kernel.forget_device(cuda_device);
  return {};
}

Result<ContextHandle> CudaDriver::ctx_create(const ContextCreateRequest& request) {
  CUcontext context = nullptr;
  TESSERA_TRY(parts_->entries.ctx_create(&context, request.flags, parts_->device(request.device)));
  return to_handle<ContextHandle>(context);
}

Status CudaDriver::ctx_destroy(ContextHandle context) {
  const auto cuda_context = to_pointer<CUcontext>(context);
  TESSERA_TRY(parts_->entries.ctx_destroy(cuda_context));
  parts_->touch_kernel.forget_context(cuda_context);
  return {};
}

Status CudaDriver::ctx_set_current(ContextHandle context) {
  return parts_->entries.ctx_set_current(to_pointer<CUcontext>(context));
}

Result<ContextHandle> CudaDriver::ctx_get_current() {
  CUcontext context = nullptr;
  TESSERA_TRY(parts_->entries.ctx_get_current(&context));
  return to_handle<ContextHandle>(context);
}

Status CudaDriver::ctx_synchronize() { return parts_->entries.ctx_synchronize(); }

Status CudaDriver::ctx_enable_peer_access(const PeerAccessRequest& request) {
  return parts_->entries.ctx_enable_peer_access(to_pointer<CUcontext>(request.peer), request.flags);
}

Status CudaDriver::ctx_set_limit(const SetLimitRequest& request) {
  return parts_->entries.ctx_set_limit(static_cast<std::uint32_t>(request.limit),
                                       request.value.value());
}

Result<Bytes> CudaDriver::ctx_get_limit(ContextLimit limit) {
  std::size_t value = 0;
  TESSERA_TRY(parts_->entries.ctx_get_limit(&value, static_cast<std::uint32_t>(limit)));
  return Bytes(value);
}

}  // namespace tessera::cuda
