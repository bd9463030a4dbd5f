#include "tessera/testing/cuda_calls.h"

#include <atomic>
#include <cstring>
#include <string_view>
#include <vector>

namespace tessera::cuda_calls {
namespace {

std::atomic<Driver*> current_driver = nullptr;

template <class Number, class T>
Number number(T value) noexcept {
  return static_cast<Number>(value);
}

// --- Between cuda.h's values and the seam's: every number is passed on as it is ------------------

CUresult result_of(const Status& status) {
  return status ? CUDA_SUCCESS : number<CUresult>(status.error().code);
}

// Makes a call on the driver, which `call` is given.
template <class MakeCall>
CUresult make(const MakeCall& call) {
  Driver* driver = current_driver.load(std::memory_order_acquire);
  return driver != nullptr ? result_of(call(*driver)) : CUDA_ERROR_NOT_INITIALIZED;
}

// The same, and puts what it gives, changed by `change`, where it goes; nowhere: as drivers answer.
template <class T, class MakeCall, class Change>
CUresult make(T* output, const MakeCall& call, const Change& change) {
  return make([&](Driver& driver) -> Status {
    if (output == nullptr) {
      return Error{.code = ErrorCode::invalid_value};
    }
    TESSERA_TRY_ASSIGN(const auto value, call(driver));
    *output = change(value);
    return {};
  });
}

template <class Number>
constexpr auto value_of = [](const auto& value) { return number<Number>(value.value()); };

constexpr auto same = [](const auto& value) { return value; };

NullPointers null_if(const void* properties) {
  return properties == nullptr ? NullPointers::properties : NullPointers::none;
}

template <class Pointer>
constexpr auto pointer_of = [](const auto& handle) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's handles are such pointers.
  return reinterpret_cast<Pointer>(static_cast<std::uintptr_t>(handle.value()));
};

template <class SeamHandle, class Pointer>
SeamHandle handle_of(Pointer pointer) {
  return SeamHandle(reinterpret_cast<std::uintptr_t>(pointer));
}

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

// --- The calls, in the order of cuda_calls.def --------------------------------------------------

CUresult init(unsigned flags) {
  return make([&](Driver& driver) { return driver.init(flags); });
}

// A device's name is its ordinal.
CUresult device_get(CUdevice* device, int ordinal) {
  return make(
      device,
      [&](Driver& driver) -> Result<int> {
        TESSERA_TRY_ASSIGN(const int count, driver.device_get_count());
        if (ordinal < 0 || ordinal >= count) {
          return Error{.code = ErrorCode::invalid_device};
        }
        return ordinal;
      },
      same);
}

CUresult device_get_count(int* count) {
  return make(
      count, [](Driver& driver) { return driver.device_get_count(); }, same);
}

CUresult device_get_attribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return make(
      value,
      [&](Driver& driver) {
        return driver.device_get_attribute(
            {.attribute = number<std::int32_t>(attribute), .device = DeviceOrdinal(device)});
      },
      same);
}

CUresult device_primary_ctx_retain(CUcontext* context, CUdevice device) {
  return make(
      context,
      [&](Driver& driver) { return driver.device_primary_ctx_retain(DeviceOrdinal(device)); },
      pointer_of<CUcontext>);
}

CUresult device_primary_ctx_release(CUdevice device) {
  return make(
      [&](Driver& driver) { return driver.device_primary_ctx_release(DeviceOrdinal(device)); });
}

CUresult ctx_set_current(CUcontext context) {
  return make(
      [&](Driver& driver) { return driver.ctx_set_current(handle_of<ContextHandle>(context)); });
}

CUresult ctx_get_current(CUcontext* context) {
  return make(
      context, [](Driver& driver) { return driver.ctx_get_current(); }, pointer_of<CUcontext>);
}

CUresult ctx_synchronize() {
  return make([](Driver& driver) { return driver.ctx_synchronize(); });
}

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

// Where a shareable handle goes, or comes from, is told by its type alone.
bool is_win32(CUmemAllocationHandleType type) {
  const auto types = number<HandleTypes>(type);
  return types == HandleTypes::win32 || types == HandleTypes::win32_kmt;
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

CUresult mem_alloc(CUdeviceptr* address, std::size_t size) {
  return make(
      address, [&](Driver& driver) { return driver.mem_alloc(Bytes(size)); },
      value_of<CUdeviceptr>);
}

CUresult mem_free(CUdeviceptr address) {
  return make([&](Driver& driver) { return driver.mem_free(DeviceAddress(address)); });
}

CUresult mem_get_info(std::size_t* free, std::size_t* total) {
  return make([&](Driver& driver) -> Status {
    if (free == nullptr || total == nullptr) {
      return Error{.code = ErrorCode::invalid_value};
    }
    TESSERA_TRY_ASSIGN(const MemoryInfo info, driver.mem_get_info());
    *free = info.free.value();
    *total = info.total.value();
    return {};
  });
}

CUresult memcpy_htod(CUdeviceptr destination, const void* source, std::size_t size) {
  return make([&](Driver& driver) {
    return driver.memcpy_htod({.destination = DeviceAddress(destination),
                               .source = {static_cast<const std::byte*>(source), size}});
  });
}

CUresult memcpy_dtoh(void* destination, CUdeviceptr source, std::size_t size) {
  return make([&](Driver& driver) {
    return driver.memcpy_dtoh({.destination = {static_cast<std::byte*>(destination), size},
                               .source = DeviceAddress(source)});
  });
}

CUresult memcpy_dtod(CUdeviceptr destination, CUdeviceptr source, std::size_t size) {
  return make([&](Driver& driver) {
    return driver.memcpy_dtod({.destination = DeviceAddress(destination),
                               .source = DeviceAddress(source),
                               .size = Bytes(size)});
  });
}

CUresult memset_d8(CUdeviceptr destination, unsigned char value, std::size_t size) {
  return make([&](Driver& driver) {
    return driver.memset_d8(
        {.destination = DeviceAddress(destination), .value = value, .size = Bytes(size)});
  });
}

CUresult stream_synchronize(CUstream stream) {
  return make(
      [&](Driver& driver) { return driver.stream_synchronize(handle_of<StreamHandle>(stream)); });
}

CUresult event_create(CUevent* event, unsigned flags) {
  return make(
      event, [&](Driver& driver) { return driver.event_create(number<EventFlags>(flags)); },
      pointer_of<CUevent>);
}

CUresult event_record(CUevent event, CUstream stream) {
  return make([&](Driver& driver) {
    return driver.event_record(
        {.event = handle_of<EventHandle>(event), .stream = handle_of<StreamHandle>(stream)});
  });
}

CUresult event_query(CUevent event) {
  return make([&](Driver& driver) { return driver.event_query(handle_of<EventHandle>(event)); });
}

CUresult event_synchronize(CUevent event) {
  return make(
      [&](Driver& driver) { return driver.event_synchronize(handle_of<EventHandle>(event)); });
}

CUresult event_destroy(CUevent event) {
  return make([&](Driver& driver) { return driver.event_destroy(handle_of<EventHandle>(event)); });
}

constexpr CudaCalls table = {
#define TESSERA_CUDA_CALL(member, name, exported_name, parameters) .member = member,
#include "tessera/testing/cuda_calls.def"
#undef TESSERA_CUDA_CALL
};

}  // namespace

CudaCallsScope::CudaCallsScope(Driver& driver) noexcept
    : outer_(current_driver.exchange(&driver, std::memory_order_acq_rel)) {}
CudaCallsScope::~CudaCallsScope() { current_driver.store(outer_, std::memory_order_release); }

const CudaCalls& cuda_calls() noexcept { return table; }

void* cuda_entry_point(const char* name) noexcept {
  const std::string_view wanted = name;
#define TESSERA_CUDA_CALL(member, name, exported_name, parameters) \
  if (wanted == #name || wanted == #exported_name) {               \
    return reinterpret_cast<void*>(table.member);                  \
  }
#include "tessera/testing/cuda_calls.def"
#undef TESSERA_CUDA_CALL
  return nullptr;
}

}  // namespace tessera::cuda_calls
