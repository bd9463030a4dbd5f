// Address space, physical memory, mappings, other allocation, queries.
#include <algorithm>
#include <cstring>
#include <vector>

#include "conversions.h"
#include "parts.h"
#include "tessera/cuda/cuda_driver.h"

namespace tessera::cuda {

// --- Address space ------------------------------------------------------------------------------

Result<Bytes> CudaDriver::mem_get_allocation_granularity(const GranularityRequest& request) {
  const NullPointers nulls = request.null_pointers;
  const CUmemAllocationProp properties = to_cuda(request.properties);
  std::size_t granularity = 0;
  TESSERA_TRY(parts_->entries.mem_get_allocation_granularity(
      unless_null(nulls, NullPointers::output, granularity),
      unless_null(nulls, NullPointers::properties, properties),
      static_cast<std::uint32_t>(request.option)));
  return Bytes(granularity);
}

Result<DeviceAddress> CudaDriver::mem_address_reserve(const ReserveRequest& request) {
  CUdeviceptr address = 0;
  TESSERA_TRY(parts_->entries.mem_address_reserve(
      unless_null(request.null_pointers, NullPointers::output, address), request.size.value(),
      request.alignment.value(), request.hint.value(), request.flags));
  return DeviceAddress(address);
}

Status CudaDriver::mem_address_free(const AddressFreeRequest& request) {
  return parts_->entries.mem_address_free(request.address.value(), request.size.value());
}

// --- Physical memory ----------------------------------------------------------------------------

Result<AllocationHandle> CudaDriver::mem_create(const CreateRequest& request) {
  const NullPointers nulls = request.null_pointers;
  const CUmemAllocationProp properties = to_cuda(request.properties);
  CUmemGenericAllocationHandle handle = 0;
  TESSERA_TRY(parts_->entries.mem_create(
      unless_null(nulls, NullPointers::output, handle), request.size.value(),
      unless_null(nulls, NullPointers::properties, properties), request.flags));
  return AllocationHandle(handle);
}

Status CudaDriver::mem_release(AllocationHandle handle) {
  return parts_->entries.mem_release(handle.value());
}

Result<AllocationProperties> CudaDriver::mem_get_allocation_properties_from_handle(
    const PropertiesRequest& request) {
  CUmemAllocationProp properties = {};
  TESSERA_TRY(parts_->entries.mem_get_allocation_properties_from_handle(
      unless_null(request.null_pointers, NullPointers::output, properties),
      request.handle.value()));
  return from_cuda(properties);
}

Result<AllocationHandle> CudaDriver::mem_retain_allocation_handle(DeviceAddress address) {
  CUmemGenericAllocationHandle handle = 0;
  TESSERA_TRY(
      parts_->entries.mem_retain_allocation_handle(&handle, address_to_pointer(address.value())));
  return AllocationHandle(handle);
}

Result<ShareableHandle> CudaDriver::mem_export_to_shareable_handle(const ExportRequest& request) {
  ShareableHandle result;
  result.type = request.type;
  // Room for the largest kind, so that an unknown kind harms nothing.
  alignas(std::uint64_t) std::array<std::byte, 64> storage = {};
  const bool is_win32 =
      request.type == HandleTypes::win32 || request.type == HandleTypes::win32_kmt;
  const bool is_fabric = request.type == HandleTypes::fabric;
  if (!is_win32 && !is_fabric) {
    std::memcpy(storage.data(), &result.file_descriptor, sizeof(result.file_descriptor));
  }
  TESSERA_TRY(parts_->entries.mem_export_to_shareable_handle(
      unless_null(request.null_pointers, NullPointers::output, storage), request.handle.value(),
      static_cast<std::uint32_t>(request.type), request.flags));
  if (is_fabric) {
    result.fabric = storage;
  } else if (is_win32) {
    std::memcpy(&result.win32, storage.data(), sizeof(result.win32));
  } else {
    std::memcpy(&result.file_descriptor, storage.data(), sizeof(result.file_descriptor));
  }
  return result;
}

Result<AllocationHandle> CudaDriver::mem_import_from_shareable_handle(
    const ShareableHandle& handle) {
  // A fabric handle goes by address; a descriptor or a HANDLE is itself what the pointer holds.
  std::array<std::byte, 64> fabric = handle.fabric;
  void* shareable = nullptr;
  if (handle.type == HandleTypes::fabric) {
    shareable = fabric.data();
  } else if (handle.type == HandleTypes::win32 || handle.type == HandleTypes::win32_kmt) {
    shareable = address_to_pointer(handle.win32);
  } else {
    shareable =
        address_to_pointer(static_cast<std::uint64_t>(std::int64_t{handle.file_descriptor}));
  }
  CUmemGenericAllocationHandle imported = 0;
  TESSERA_TRY(parts_->entries.mem_import_from_shareable_handle(
      &imported, shareable, static_cast<std::uint32_t>(handle.type)));
  return AllocationHandle(imported);
}

// --- Mappings -----------------------------------------------------------------------------------

Status CudaDriver::mem_map(const MapRequest& request) {
  return parts_->entries.mem_map(request.address.value(), request.size.value(),
                                 request.offset.value(), request.handle.value(), request.flags);
}

Status CudaDriver::mem_unmap(const UnmapRequest& request) {
  return parts_->entries.mem_unmap(request.address.value(), request.size.value());
}

Status CudaDriver::mem_set_access(const SetAccessRequest& request) {
  // One element too many: an empty list is not a null pointer, unless the caller's is.
  std::vector<CUmemAccessDesc> descriptors(request.descriptors.size() + 1);
  std::transform(request.descriptors.begin(), request.descriptors.end(), descriptors.begin(),
                 [](const AccessDescriptor& descriptor) { return to_cuda(descriptor); });
  const bool is_null = request.descriptors.data() == nullptr;
  return parts_->entries.mem_set_access(request.address.value(), request.size.value(),
                                        is_null ? nullptr : descriptors.data(),
                                        request.descriptors.size());
}

Result<AccessFlags> CudaDriver::mem_get_access(const GetAccessRequest& request) {
  const NullPointers nulls = request.null_pointers;
  const CUmemLocation location = to_cuda(request.location);
  unsigned long long flags = 0;
  TESSERA_TRY(parts_->entries.mem_get_access(unless_null(nulls, NullPointers::output, flags),
                                             unless_null(nulls, NullPointers::properties, location),
                                             request.address.value()));
  return static_cast<AccessFlags>(flags);
}

// --- Other allocation ---------------------------------------------------------------------------

Result<DeviceAddress> CudaDriver::mem_alloc(Bytes size) {
  CUdeviceptr address = 0;
  TESSERA_TRY(parts_->entries.mem_alloc(&address, size.value()));
  return DeviceAddress(address);
}

Result<PitchedAllocation> CudaDriver::mem_alloc_pitch(const AllocPitchRequest& request) {
  CUdeviceptr address = 0;
  std::size_t pitch = 0;
  TESSERA_TRY(parts_->entries.mem_alloc_pitch(&address, &pitch, request.width.value(),
                                              request.height, request.element_size));
  return PitchedAllocation{.address = DeviceAddress(address), .pitch = Bytes(pitch)};
}

Result<DeviceAddress> CudaDriver::mem_alloc_managed(const AllocManagedRequest& request) {
  CUdeviceptr address = 0;
  TESSERA_TRY(parts_->entries.mem_alloc_managed(&address, request.size.value(),
                                                static_cast<std::uint32_t>(request.flags)));
  return DeviceAddress(address);
}

Status CudaDriver::mem_free(DeviceAddress address) {
  return parts_->entries.mem_free(address.value());
}

Result<DeviceAddress> CudaDriver::mem_alloc_async(const AllocAsyncRequest& request) {
  CUdeviceptr address = 0;
  TESSERA_TRY(parts_->entries.mem_alloc_async(&address, request.size.value(),
                                              to_pointer<CUstream>(request.stream)));
  return DeviceAddress(address);
}

Status CudaDriver::mem_free_async(const FreeAsyncRequest& request) {
  return parts_->entries.mem_free_async(request.address.value(),
                                        to_pointer<CUstream>(request.stream));
}

Result<std::byte*> CudaDriver::mem_host_alloc(const HostAllocRequest& request) {
  void* memory = nullptr;
  TESSERA_TRY(parts_->entries.mem_host_alloc(&memory, request.size.value(), request.flags));
  return static_cast<std::byte*>(memory);
}

Status CudaDriver::mem_free_host(std::byte* memory) {
  return parts_->entries.mem_free_host(memory);
}

// --- Queries ------------------------------------------------------------------------------------

Result<MemoryInfo> CudaDriver::mem_get_info() {
  std::size_t free = 0;
  std::size_t total = 0;
  TESSERA_TRY(parts_->entries.mem_get_info(&free, &total));
  return MemoryInfo{.free = Bytes(free), .total = Bytes(total)};
}

Result<AddressRange> CudaDriver::mem_get_address_range(DeviceAddress address) {
  CUdeviceptr base = 0;
  std::size_t size = 0;
  TESSERA_TRY(parts_->entries.mem_get_address_range(&base, &size, address.value()));
  return AddressRange(DeviceAddress(base), Bytes(size));
}

Result<std::uint64_t> CudaDriver::pointer_get_attribute(const PointerAttributeRequest& request) {
  // The driver writes as many bytes as the attribute has (16 for the tokens, one of 8 or 4 for all
  // others so far); on CUDA's little-endian hosts the rest of a zeroed number is right.
  alignas(std::uint64_t) std::array<std::byte, 64> storage = {};
  TESSERA_TRY(parts_->entries.pointer_get_attribute(
      storage.data(), static_cast<std::uint32_t>(request.attribute), request.address.value()));
  if (request.attribute == PointerAttribute::device_ordinal) {
    std::int32_t ordinal = 0;
    std::memcpy(&ordinal, storage.data(), sizeof(ordinal));
    return static_cast<std::uint64_t>(std::int64_t{ordinal});
  }
  std::uint64_t value = 0;
  std::memcpy(&value, storage.data(), sizeof(value));
  return value;
}

Result<int> CudaDriver::mem_get_handle_for_address_range(const RangeHandleRequest& request) {
  // Room for kinds of handles to come.
  alignas(std::uint64_t) std::array<int, 16> storage = {-1};
  TESSERA_TRY(parts_->entries.mem_get_handle_for_address_range(
      storage.data(), request.address.value(), request.size.value(), request.handle_type,
      request.flags));
  return storage[0];
}

}  // namespace tessera::cuda
