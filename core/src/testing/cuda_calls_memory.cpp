// cuda_calls.h: the virtual memory calls.
#include <cstddef>
#include <cstring>
#include <vector>

#include "testing/cuda_call_functions.h"

namespace tessera::cuda_calls::functions {
namespace {

Location location_of(const CUmemLocation& location) {
  return {.type = number<LocationType>(location.type), .id = location.id};
}

AllocationProperties properties_of(const CUmemAllocationProp* properties) {
  AllocationProperties result;
  if (properties != nullptr) {
    result.type = number<AllocationType>(properties->type);
    result.requested_handle_types = number<HandleTypes>(properties->requestedHandleTypes);
    result.location = location_of(properties->location);
    result.win32_handle_metadata = properties->win32HandleMetaData;
    result.compression = number<Compression>(properties->allocFlags.compressionType);
    result.gpu_direct_rdma_capable = properties->allocFlags.gpuDirectRDMACapable;
    result.usage = properties->allocFlags.usage;
    std::memcpy(result.reserved.data(), properties->allocFlags.reserved, result.reserved.size());
  }
  return result;
}

CUmemAllocationProp properties_to_cuda(const AllocationProperties& properties) {
  CUmemAllocationProp result = {};
  result.type = number<CUmemAllocationType>(properties.type);
  result.requestedHandleTypes =
      number<CUmemAllocationHandleType>(properties.requested_handle_types);
  result.location = {.type = number<CUmemLocationType>(properties.location.type),
                     .id = properties.location.id};
  result.win32HandleMetaData = const_cast<void*>(properties.win32_handle_metadata);
  result.allocFlags.compressionType = number<unsigned char>(properties.compression);
  result.allocFlags.gpuDirectRDMACapable = properties.gpu_direct_rdma_capable;
  result.allocFlags.usage = properties.usage;
  std::memcpy(result.allocFlags.reserved, properties.reserved.data(), properties.reserved.size());
  return result;
}

// Where a shareable handle goes, or comes from, is told by its type alone.
bool is_win32(CUmemAllocationHandleType type) {
  const auto types = number<HandleTypes>(type);
  return types == HandleTypes::win32 || types == HandleTypes::win32_kmt;
}

}  // namespace

CUresult mem_get_allocation_granularity(std::size_t* granularity,
                                        const CUmemAllocationProp* properties,
                                        CUmemAllocationGranularity_flags option) {
  return make(
      granularity,
      [&](Driver& driver) {
        return driver.mem_get_allocation_granularity({.properties = properties_of(properties),
                                                      .option = number<GranularityOption>(option),
                                                      .null_pointers = null_if(properties)});
      },
      value_of<std::size_t>);
}

CUresult mem_address_reserve(CUdeviceptr* address, std::size_t size, std::size_t alignment,
                             CUdeviceptr hint, unsigned long long flags) {
  return make(
      address,
      [&](Driver& driver) {
        return driver.mem_address_reserve({.size = Bytes(size),
                                           .alignment = Bytes(alignment),
                                           .hint = DeviceAddress(hint),
                                           .flags = flags});
      },
      value_of<CUdeviceptr>);
}

CUresult mem_address_free(CUdeviceptr address, std::size_t size) {
  return make([&](Driver& driver) {
    return driver.mem_address_free({.address = DeviceAddress(address), .size = Bytes(size)});
  });
}

CUresult mem_create(CUmemGenericAllocationHandle* handle, std::size_t size,
                    const CUmemAllocationProp* properties, unsigned long long flags) {
  return make(
      handle,
      [&](Driver& driver) {
        return driver.mem_create({.size = Bytes(size),
                                  .properties = properties_of(properties),
                                  .flags = flags,
                                  .null_pointers = null_if(properties)});
      },
      value_of<CUmemGenericAllocationHandle>);
}

CUresult mem_release(CUmemGenericAllocationHandle handle) {
  return make([&](Driver& driver) { return driver.mem_release(AllocationHandle(handle)); });
}

CUresult mem_get_allocation_properties_from_handle(CUmemAllocationProp* properties,
                                                   CUmemGenericAllocationHandle handle) {
  return make(
      properties,
      [&](Driver& driver) {
        return driver.mem_get_allocation_properties_from_handle(
            {.handle = AllocationHandle(handle)});
      },
      properties_to_cuda);
}

CUresult mem_retain_allocation_handle(CUmemGenericAllocationHandle* handle, void* address) {
  return make(
      handle,
      [&](Driver& driver) {
        return driver.mem_retain_allocation_handle(
            DeviceAddress(reinterpret_cast<std::uintptr_t>(address)));
      },
      value_of<CUmemGenericAllocationHandle>);
}

CUresult mem_export_to_shareable_handle(void* shareable, CUmemGenericAllocationHandle handle,
                                        CUmemAllocationHandleType type, unsigned long long flags) {
  return make([&](Driver& driver) -> Status {
    if (shareable == nullptr) {
      return Error{.code = ErrorCode::invalid_value};
    }
    TESSERA_TRY_ASSIGN(const ShareableHandle exported,
                       driver.mem_export_to_shareable_handle({.handle = AllocationHandle(handle),
                                                              .type = number<HandleTypes>(type),
                                                              .flags = flags}));
    if (type == CU_MEM_HANDLE_TYPE_FABRIC) {
      std::memcpy(shareable, exported.fabric.data(), exported.fabric.size());
    } else if (is_win32(type)) {
      std::memcpy(shareable, &exported.win32, sizeof(exported.win32));
    } else {
      std::memcpy(shareable, &exported.file_descriptor, sizeof(exported.file_descriptor));
    }
    return {};
  });
}

CUresult mem_import_from_shareable_handle(CUmemGenericAllocationHandle* handle, void* shareable,
                                          CUmemAllocationHandleType type) {
  return make(
      handle,
      [&](Driver& driver) -> Result<AllocationHandle> {
        // A fabric handle goes by address; the others are themselves what the pointer holds.
        ShareableHandle imported = {.type = number<HandleTypes>(type)};
        const auto value = reinterpret_cast<std::uintptr_t>(shareable);
        if (is_win32(type)) {
          imported.win32 = value;
        } else if (type != CU_MEM_HANDLE_TYPE_FABRIC) {
          imported.file_descriptor = number<int>(value);
        } else if (shareable != nullptr) {
          std::memcpy(imported.fabric.data(), shareable, imported.fabric.size());
        } else {
          return Error{.code = ErrorCode::invalid_value};
        }
        return driver.mem_import_from_shareable_handle(imported);
      },
      value_of<CUmemGenericAllocationHandle>);
}

CUresult mem_map(CUdeviceptr address, std::size_t size, std::size_t offset,
                 CUmemGenericAllocationHandle handle, unsigned long long flags) {
  return make([&](Driver& driver) {
    return driver.mem_map({.address = DeviceAddress(address),
                           .size = Bytes(size),
                           .offset = Bytes(offset),
                           .handle = AllocationHandle(handle),
                           .flags = flags});
  });
}

CUresult mem_unmap(CUdeviceptr address, std::size_t size) {
  return make([&](Driver& driver) {
    return driver.mem_unmap({.address = DeviceAddress(address), .size = Bytes(size)});
  });
}

CUresult mem_set_access(CUdeviceptr address, std::size_t size, const CUmemAccessDesc* descriptors,
                        std::size_t count) {
  return make([&](Driver& driver) -> Status {
    if (descriptors == nullptr && count != 0) {
      return Error{.code = ErrorCode::invalid_value};
    }
    std::vector<AccessDescriptor> access;
    for (std::size_t i = 0; i < count; ++i) {
      access.push_back({.location = location_of(descriptors[i].location),
                        .flags = number<AccessFlags>(descriptors[i].flags)});
    }
    return driver.mem_set_access(
        {.address = DeviceAddress(address), .size = Bytes(size), .descriptors = access});
  });
}

CUresult mem_get_access(unsigned long long* flags, const CUmemLocation* location,
                        CUdeviceptr address) {
  return make(
      flags,
      [&](Driver& driver) {
        return driver.mem_get_access(
            {.address = DeviceAddress(address),
             .location = location != nullptr ? location_of(*location) : Location(),
             .null_pointers = null_if(location)});
      },
      number<unsigned long long, AccessFlags>);
}

}  // namespace tessera::cuda_calls::functions
