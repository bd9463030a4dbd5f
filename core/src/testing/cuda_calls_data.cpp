// cuda_calls.h: other allocation, queries, copies, streams and events.
#include <array>
#include <cstddef>
#include <cstring>

#include "testing/cuda_call_functions.h"

namespace tessera::cuda_calls::functions {
namespace {

// As many bytes as a driver writes [h200]; the tokens are a number and one of four bytes.
std::size_t size_of(PointerAttribute attribute) noexcept {
  switch (attribute) {
    case PointerAttribute::memory_type:
    case PointerAttribute::sync_memops:
    case PointerAttribute::is_managed:
    case PointerAttribute::device_ordinal:
    case PointerAttribute::is_legacy_cuda_ipc_capable:
    case PointerAttribute::mapped:
    case PointerAttribute::is_gpu_direct_rdma_capable:
    case PointerAttribute::access_flags:
    case PointerAttribute::is_hw_decompress_capable:
      return 4;
    case PointerAttribute::p2p_tokens:
      return 12;
    default:
      return 8;
  }
}

void write_attribute(void* output, PointerAttribute attribute, std::uint64_t value) noexcept {
  std::array<std::byte, 12> bytes = {};
  std::memcpy(bytes.data(), &value, sizeof(value));  // CUDA's hosts are little-endian
  std::memcpy(output, bytes.data(), size_of(attribute));
}

}  // namespace

CUresult mem_alloc(CUdeviceptr* address, std::size_t size) {
  return make(
      address, [&](Driver& driver) { return driver.mem_alloc(Bytes(size)); },
      value_of<CUdeviceptr>);
}

CUresult mem_free(CUdeviceptr address) {
  return make([&](Driver& driver) { return driver.mem_free(DeviceAddress(address)); });
}

CUresult mem_alloc_async(CUdeviceptr* address, std::size_t size, CUstream stream) {
  return make(
      address,
      [&](Driver& driver) {
        return driver.mem_alloc_async(
            {.size = Bytes(size), .stream = handle_of<StreamHandle>(stream)});
      },
      value_of<CUdeviceptr>);
}

CUresult mem_free_async(CUdeviceptr address, CUstream stream) {
  return make([&](Driver& driver) {
    return driver.mem_free_async(
        {.address = DeviceAddress(address), .stream = handle_of<StreamHandle>(stream)});
  });
}

CUresult mem_host_alloc(void** memory, std::size_t size, unsigned flags) {
  return make(
      memory,
      [&](Driver& driver) { return driver.mem_host_alloc({.size = Bytes(size), .flags = flags}); },
      same);
}

CUresult mem_free_host(void* memory) {
  return make(
      [&](Driver& driver) { return driver.mem_free_host(static_cast<std::byte*>(memory)); });
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

CUresult mem_get_address_range(CUdeviceptr* begin, std::size_t* size, CUdeviceptr address) {
  return make([&](Driver& driver) -> Status {
    TESSERA_TRY_ASSIGN(const AddressRange range,
                       driver.mem_get_address_range(DeviceAddress(address)));
    // Either may be left out.
    if (begin != nullptr) {
      *begin = range.begin().value();
    }
    if (size != nullptr) {
      *size = range.size().value();
    }
    return {};
  });
}

CUresult pointer_get_attribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  return make([&](Driver& driver) -> Status {
    const auto asked = number<PointerAttribute>(attribute);
    if (value == nullptr) {
      return Error{.code = ErrorCode::invalid_value};
    }
    TESSERA_TRY_ASSIGN(
        const std::uint64_t got,
        driver.pointer_get_attribute({.attribute = asked, .address = DeviceAddress(address)}));
    write_attribute(value, asked, got);
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

CUresult memcpy_htod_async(CUdeviceptr destination, const void* source, std::size_t size,
                           CUstream stream) {
  return make([&](Driver& driver) {
    return driver.memcpy_htod_async(
        {.copy = {.destination = DeviceAddress(destination),
                  .source = {static_cast<const std::byte*>(source), size}},
         .stream = handle_of<StreamHandle>(stream)});
  });
}

CUresult memcpy_dtoh_async(void* destination, CUdeviceptr source, std::size_t size,
                           CUstream stream) {
  return make([&](Driver& driver) {
    return driver.memcpy_dtoh_async(
        {.copy = {.destination = {static_cast<std::byte*>(destination), size},
                  .source = DeviceAddress(source)},
         .stream = handle_of<StreamHandle>(stream)});
  });
}

CUresult memcpy_dtod_async(CUdeviceptr destination, CUdeviceptr source, std::size_t size,
                           CUstream stream) {
  return make([&](Driver& driver) {
    return driver.memcpy_dtod_async({.copy = {.destination = DeviceAddress(destination),
                                              .source = DeviceAddress(source),
                                              .size = Bytes(size)},
                                     .stream = handle_of<StreamHandle>(stream)});
  });
}

CUresult memset_d8_async(CUdeviceptr destination, unsigned char value, std::size_t size,
                         CUstream stream) {
  return make([&](Driver& driver) {
    return driver.memset_d8_async(
        {.set = {.destination = DeviceAddress(destination), .value = value, .size = Bytes(size)},
         .stream = handle_of<StreamHandle>(stream)});
  });
}

CUresult stream_create(CUstream* stream, unsigned flags) {
  return make(
      stream, [&](Driver& driver) { return driver.stream_create(number<StreamFlags>(flags)); },
      pointer_of<CUstream>);
}

CUresult stream_destroy(CUstream stream) {
  return make(
      [&](Driver& driver) { return driver.stream_destroy(handle_of<StreamHandle>(stream)); });
}

CUresult stream_synchronize(CUstream stream) {
  return make(
      [&](Driver& driver) { return driver.stream_synchronize(handle_of<StreamHandle>(stream)); });
}

CUresult stream_wait_event(CUstream stream, CUevent event, unsigned flags) {
  return make([&](Driver& driver) {
    return driver.stream_wait_event({.stream = handle_of<StreamHandle>(stream),
                                     .event = handle_of<EventHandle>(event),
                                     .flags = flags});
  });
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

}  // namespace tessera::cuda_calls::functions
