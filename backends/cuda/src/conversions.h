// Between the seam's values and the driver's. Every number is passed on as it is, also where
// cuda.h's enumerations lack it: refusing is the driver's business.
#pragma once

#include <cstdint>
#include <cstring>

#include <cuda.h>

#include "tessera/requests.h"

namespace tessera::cuda {

template <class CudaEnum, class SeamEnum>
[[nodiscard]] CudaEnum enum_to_cuda(SeamEnum value) noexcept {
  static_assert(sizeof(CudaEnum) == sizeof(std::uint32_t));
  return static_cast<CudaEnum>(static_cast<std::uint32_t>(value));
}

// Copied byte by byte: to read a number outside the enumeration through its type is undefined.
template <class SeamEnum, class CudaEnum>
[[nodiscard]] SeamEnum enum_from_cuda(const CudaEnum& value) noexcept {
  static_assert(sizeof(CudaEnum) == sizeof(std::uint32_t));
  std::uint32_t number = 0;
  std::memcpy(&number, &value, sizeof(number));
  return static_cast<SeamEnum>(number);
}

[[nodiscard]] inline CUmemLocation to_cuda(Location location) noexcept {
  CUmemLocation result = {};
  result.type = enum_to_cuda<CUmemLocationType>(location.type);
  result.id = location.id;
  return result;
}

[[nodiscard]] inline CUmemAccessDesc to_cuda(const AccessDescriptor& descriptor) noexcept {
  CUmemAccessDesc result = {};
  result.location = to_cuda(descriptor.location);
  result.flags = enum_to_cuda<CUmemAccess_flags>(descriptor.flags);
  return result;
}

[[nodiscard]] inline CUmemAllocationProp to_cuda(const AllocationProperties& properties) noexcept {
  CUmemAllocationProp result = {};
  result.type = enum_to_cuda<CUmemAllocationType>(properties.type);
  result.requestedHandleTypes =
      enum_to_cuda<CUmemAllocationHandleType>(properties.requested_handle_types);
  result.location = to_cuda(properties.location);
  result.win32HandleMetaData = const_cast<void*>(properties.win32_handle_metadata);
  result.allocFlags.compressionType = static_cast<unsigned char>(properties.compression);
  result.allocFlags.gpuDirectRDMACapable = properties.gpu_direct_rdma_capable;
  result.allocFlags.usage = properties.usage;
  static_assert(sizeof(result.allocFlags.reserved) == sizeof(properties.reserved));
  std::memcpy(result.allocFlags.reserved, properties.reserved.data(), properties.reserved.size());
  return result;
}

[[nodiscard]] inline AllocationProperties from_cuda(
    const CUmemAllocationProp& properties) noexcept {
  AllocationProperties result;
  result.type = enum_from_cuda<AllocationType>(properties.type);
  result.requested_handle_types = enum_from_cuda<HandleTypes>(properties.requestedHandleTypes);
  result.location.type = enum_from_cuda<LocationType>(properties.location.type);
  result.location.id = properties.location.id;
  result.win32_handle_metadata = properties.win32HandleMetaData;
  result.compression = static_cast<Compression>(properties.allocFlags.compressionType);
  result.gpu_direct_rdma_capable = properties.allocFlags.gpuDirectRDMACapable;
  result.usage = properties.allocFlags.usage;
  std::memcpy(result.reserved.data(), properties.allocFlags.reserved, result.reserved.size());
  return result;
}

[[nodiscard]] inline void* address_to_pointer(std::uint64_t address) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's interface is made of such pointers.
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

// The driver's contexts, streams and events are pointers to types that nobody defines.
template <class Pointer, class Tag>
[[nodiscard]] Pointer to_pointer(Handle<Tag> handle) noexcept {
  return static_cast<Pointer>(address_to_pointer(handle.value()));
}

template <class SeamHandle, class Pointer>
[[nodiscard]] SeamHandle to_handle(Pointer pointer) noexcept {
  return SeamHandle(reinterpret_cast<std::uintptr_t>(pointer));
}

// &value, unless the request says that this argument is null.
template <class T>
[[nodiscard]] T* unless_null(NullPointers null_pointers, NullPointers which, T& value) noexcept {
  return has_any(null_pointers, which) ? nullptr : &value;
}

}  // namespace tessera::cuda
