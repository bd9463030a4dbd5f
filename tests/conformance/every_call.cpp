#include "conformance/every_call.h"

#include <array>
#include <cstddef>

namespace tessera::conformance {
namespace {

template <class T>
std::optional<ErrorCode> code_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error().code);
}

constexpr DeviceOrdinal device{0};
constexpr Bytes some_size{4096};
std::array<std::byte, 1> host_byte = {};

#define TESSERA_EVERY(method, need, ...)                                                         \
  EveryCall {                                                                                    \
    Call::method, Need::need, [](Driver& driver) { return code_of(driver.method(__VA_ARGS__)); } \
  }

std::vector<EveryCall> system_and_contexts() {
  return {
      TESSERA_EVERY(driver_get_version, nothing, ),
      TESSERA_EVERY(device_get_count, init, ),
      TESSERA_EVERY(device_get_name, init, device),
      TESSERA_EVERY(device_total_mem, init, device),
      TESSERA_EVERY(device_get_attribute, init, {.attribute = 102, .device = device}),
      TESSERA_EVERY(device_can_access_peer, init, {.device = device, .peer = device}),
      TESSERA_EVERY(device_primary_ctx_retain, init, device),
      TESSERA_EVERY(device_primary_ctx_release, init, device),
      TESSERA_EVERY(device_primary_ctx_reset, init, device),
      TESSERA_EVERY(ctx_create, init, {.device = device}),
      TESSERA_EVERY(ctx_destroy, own, {}),
      TESSERA_EVERY(ctx_set_current, init, {}),
      TESSERA_EVERY(ctx_get_current, init, ),
      TESSERA_EVERY(ctx_synchronize, context, ),
      TESSERA_EVERY(ctx_enable_peer_access, context, {.peer = {}}),
      TESSERA_EVERY(ctx_set_limit, context,
                    {.limit = ContextLimit::printf_fifo_size, .value = some_size}),
      TESSERA_EVERY(ctx_get_limit, context, ContextLimit::stack_size),
  };
}

std::vector<EveryCall> virtual_memory() {
  return {
      TESSERA_EVERY(mem_get_allocation_granularity, init, {.properties = {}}),
      TESSERA_EVERY(mem_address_reserve, init, {.size = {}}),
      TESSERA_EVERY(mem_address_free, init, {.address = {}, .size = some_size}),
      TESSERA_EVERY(mem_create, init, {.size = {}, .properties = {}}),
      TESSERA_EVERY(mem_release, init, {}),
      TESSERA_EVERY(mem_get_allocation_properties_from_handle, init, {.handle = {}}),
      TESSERA_EVERY(mem_retain_allocation_handle, init, {}),
      TESSERA_EVERY(mem_export_to_shareable_handle, init, {.handle = {}}),
      TESSERA_EVERY(mem_import_from_shareable_handle, init, {}),
      TESSERA_EVERY(mem_map, init, {.address = {}, .size = some_size, .handle = {}}),
      TESSERA_EVERY(mem_unmap, init, {.address = {}, .size = some_size}),
      TESSERA_EVERY(mem_set_access, init, {.address = {}, .size = some_size, .descriptors = {}}),
      TESSERA_EVERY(mem_get_access, init, {.address = {}}),
      TESSERA_EVERY(pointer_get_attribute, init,
                    {.attribute = PointerAttribute::memory_type, .address = {}}),
      TESSERA_EVERY(mem_get_address_range, init, {}),
  };
}

std::vector<EveryCall> other_memory_and_data() {
  return {
      TESSERA_EVERY(mem_alloc, context, some_size),
      TESSERA_EVERY(mem_alloc_pitch, context, {.width = some_size, .height = 1, .element_size = 4}),
      TESSERA_EVERY(mem_alloc_managed, context, {.size = some_size}),
      TESSERA_EVERY(mem_free, own, DeviceAddress(4096)),
      TESSERA_EVERY(mem_alloc_async, context, {.size = some_size}),
      TESSERA_EVERY(mem_free_async, context, {.address = DeviceAddress(4096)}),
      TESSERA_EVERY(mem_host_alloc, context, {.size = some_size}),
      TESSERA_EVERY(mem_free_host, own, host_byte.data()),
      TESSERA_EVERY(mem_get_info, context, ),
      TESSERA_EVERY(mem_get_handle_for_address_range, own,
                    {.address = DeviceAddress(4096), .size = some_size}),
      TESSERA_EVERY(memcpy_htod, context,
                    {.destination = DeviceAddress(4096), .source = host_byte}),
      TESSERA_EVERY(memcpy_dtoh, context,
                    {.destination = host_byte, .source = DeviceAddress(4096)}),
      TESSERA_EVERY(
          memcpy_dtod, context,
          {.destination = DeviceAddress(4096), .source = DeviceAddress(8192), .size = Bytes(1)}),
      TESSERA_EVERY(memset_d8, context,
                    {.destination = DeviceAddress(4096), .value = 0, .size = Bytes(1)}),
      TESSERA_EVERY(memcpy_htod_async, context,
                    {.copy = {.destination = DeviceAddress(4096), .source = host_byte}}),
      TESSERA_EVERY(memcpy_dtoh_async, context,
                    {.copy = {.destination = host_byte, .source = DeviceAddress(4096)}}),
      TESSERA_EVERY(memcpy_dtod_async, context,
                    {.copy = {.destination = DeviceAddress(4096),
                              .source = DeviceAddress(8192),
                              .size = Bytes(1)}}),
      TESSERA_EVERY(memset_d8_async, context,
                    {.set = {.destination = DeviceAddress(4096), .value = 0, .size = Bytes(1)}}),
  };
}

std::vector<EveryCall> order_and_multicast() {
  return {
      TESSERA_EVERY(stream_create, context, StreamFlags::blocking),
      TESSERA_EVERY(stream_destroy, own, {}),
      TESSERA_EVERY(stream_synchronize, context, {}),
      TESSERA_EVERY(stream_wait_event, own, {.event = {}}),
      TESSERA_EVERY(event_create, context, EventFlags::none),
      TESSERA_EVERY(event_record, own, {.event = {}}),
      TESSERA_EVERY(event_query, own, {}),
      TESSERA_EVERY(event_synchronize, own, {}),
      TESSERA_EVERY(event_destroy, own, {}),
      TESSERA_EVERY(launch_touch, context, {.address = DeviceAddress(4096), .touch = Touch::read}),
      TESSERA_EVERY(multicast_create, multicast, {.device_count = 1, .size = {}}),
      TESSERA_EVERY(multicast_add_device, multicast, {.multicast = {}, .device = device}),
      TESSERA_EVERY(multicast_bind_mem, multicast,
                    {.multicast = {}, .memory = {}, .size = some_size}),
      TESSERA_EVERY(multicast_bind_addr, multicast,
                    {.multicast = {}, .address = {}, .size = some_size}),
      TESSERA_EVERY(multicast_unbind, multicast,
                    {.multicast = {}, .device = device, .size = some_size}),
      TESSERA_EVERY(multicast_get_granularity, multicast,
                    {.properties = {.device_count = 1, .size = some_size}}),
  };
}

#undef TESSERA_EVERY

}  // namespace

const std::vector<EveryCall>& every_call() {
  static const std::vector<EveryCall> calls = [] {
    std::vector<EveryCall> all;
    for (const auto& part : {system_and_contexts(), virtual_memory(), other_memory_and_data(),
                             order_and_multicast()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return calls;
}

std::vector<std::string> calls_that_differ(Driver& driver, Need need, ErrorCode expected) {
  std::vector<std::string> differing;
  for (const EveryCall& entry : every_call()) {
    if (entry.need != need) {
      continue;
    }
    const std::optional<ErrorCode> code = entry.make(driver);
    if (code != expected) {
      differing.push_back(std::string(method_name(entry.call)) + ": " +
                          (code ? code_name(*code) : "OK"));
    }
  }
  return differing;
}

}  // namespace tessera::conformance
