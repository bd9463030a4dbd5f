// Refusals of all but the virtual memory calls.
#include "support/sim_refusals.h"

namespace tessera::sim {

std::vector<Refusal> system_refusals() {
  return {
      TESSERA_REFUSAL(init, "flags", w.driver.init(1)),
      TESSERA_REFUSAL(device_get_name, "device", w.driver.device_get_name(no_device)),
      TESSERA_REFUSAL(device_get_name, "-1", w.driver.device_get_name(DeviceOrdinal(-1))),
      TESSERA_REFUSAL(device_total_mem, "device", w.driver.device_total_mem(no_device)),
      TESSERA_REFUSAL(device_get_attribute, "attribute",
                      w.driver.device_get_attribute({.attribute = -7, .device = device_0})),
      TESSERA_REFUSAL(device_get_attribute, "device",
                      w.driver.device_get_attribute({.attribute = 102, .device = no_device})),
      TESSERA_REFUSAL(device_can_access_peer, "peer",
                      w.driver.device_can_access_peer({.device = device_0, .peer = no_device})),
      TESSERA_REFUSAL(device_primary_ctx_retain, "device",
                      w.driver.device_primary_ctx_retain(no_device)),
      TESSERA_REFUSAL(device_primary_ctx_release, "none",
                      w.driver.device_primary_ctx_release(device_1)),
      TESSERA_REFUSAL(device_primary_ctx_reset, "device",
                      w.driver.device_primary_ctx_reset(no_device)),
      TESSERA_REFUSAL(ctx_create, "flags",
                      w.driver.ctx_create({.device = device_0, .flags = 0xffff'ffff})),
      TESSERA_REFUSAL(ctx_create, "device", w.driver.ctx_create({.device = no_device})),
      TESSERA_REFUSAL(ctx_destroy, "null", w.driver.ctx_destroy({})),
      TESSERA_REFUSAL(ctx_destroy, "made up", w.driver.ctx_destroy(made_up_context)),
      TESSERA_REFUSAL(ctx_destroy, "twice", w.driver.ctx_destroy(w.destroyed)),
      TESSERA_REFUSAL(ctx_destroy, "primary", w.driver.ctx_destroy(w.machine.primary())),
      TESSERA_REFUSAL(ctx_set_current, "made up", w.driver.ctx_set_current(made_up_context)),
      TESSERA_REFUSAL(ctx_enable_peer_access, "null",
                      w.driver.ctx_enable_peer_access({.peer = {}})),
      TESSERA_REFUSAL(ctx_enable_peer_access, "made up",
                      w.driver.ctx_enable_peer_access({.peer = made_up_context})),
      TESSERA_REFUSAL(ctx_enable_peer_access, "itself",
                      w.driver.ctx_enable_peer_access({.peer = w.machine.primary()})),
      TESSERA_REFUSAL(
          ctx_set_limit, "unknown",
          w.driver.ctx_set_limit({.limit = static_cast<ContextLimit>(99), .value = 4_KiB})),
      TESSERA_REFUSAL(
          ctx_set_limit, "huge",
          w.driver.ctx_set_limit({.limit = ContextLimit::stack_size, .value = Bytes(huge)})),
      TESSERA_REFUSAL(ctx_set_limit, "read only",
                      w.driver.ctx_set_limit({.limit = ContextLimit::cig_enabled, .value = 1_B})),
      TESSERA_REFUSAL(
          ctx_set_limit, "unsupported",
          w.driver.ctx_set_limit({.limit = ContextLimit::dev_runtime_sync_depth, .value = 1_B})),
      TESSERA_REFUSAL(ctx_get_limit, "unknown",
                      w.driver.ctx_get_limit(static_cast<ContextLimit>(99))),
      TESSERA_REFUSAL(ctx_get_limit, "unsupported",
                      w.driver.ctx_get_limit(ContextLimit::cig_shmem_fallback_enabled)),
  };
}

std::vector<Refusal> peer_refusals() {
  return {
      TESSERA_REFUSAL(ctx_enable_peer_access, "again",
                      w.driver.ctx_enable_peer_access({.peer = w.peer})),
  };
}

std::vector<Refusal> other_refusals() {
  return {
      TESSERA_REFUSAL(mem_alloc, "0", w.driver.mem_alloc({})),
      TESSERA_REFUSAL(mem_alloc, "huge", w.driver.mem_alloc(Bytes(huge))),
      TESSERA_REFUSAL(
          mem_alloc_pitch, "overflow",
          w.driver.mem_alloc_pitch({.width = 1_TiB, .height = huge, .element_size = 4})),
      TESSERA_REFUSAL(
          mem_alloc_pitch, "wide",
          w.driver.mem_alloc_pitch({.width = Bytes(huge), .height = 1, .element_size = 4})),
      TESSERA_REFUSAL(mem_alloc_pitch, "element",
                      w.driver.mem_alloc_pitch({.width = 4_B, .height = 1, .element_size = 5})),
      TESSERA_REFUSAL(
          mem_alloc_managed, "flags",
          w.driver.mem_alloc_managed({.size = 4_KiB, .flags = static_cast<ManagedFlags>(64)})),
      TESSERA_REFUSAL(mem_alloc_managed, "huge", w.driver.mem_alloc_managed({.size = Bytes(huge)})),
      TESSERA_REFUSAL(mem_free, "mapping", w.driver.mem_free(w.mapping)),
      TESSERA_REFUSAL(mem_free, "inside", w.driver.mem_free(w.allocated + 1_B)),
      TESSERA_REFUSAL(mem_free, "last", w.driver.mem_free(last_address)),
      TESSERA_REFUSAL(mem_alloc_async, "huge", w.driver.mem_alloc_async({.size = Bytes(huge)})),
      TESSERA_REFUSAL(mem_alloc_async, "stream",
                      w.driver.mem_alloc_async({.size = 1_B, .stream = made_up_stream})),
      TESSERA_REFUSAL(mem_free_async, "mapping", w.driver.mem_free_async({.address = w.mapping})),
      TESSERA_REFUSAL(mem_host_alloc, "huge", w.driver.mem_host_alloc({.size = Bytes(huge)})),
      TESSERA_REFUSAL(mem_host_alloc, "flags",
                      w.driver.mem_host_alloc({.size = 1_B, .flags = 0xffff'ffff})),
      TESSERA_REFUSAL(mem_get_address_range, "nowhere", w.driver.mem_get_address_range(nowhere)),
      TESSERA_REFUSAL(mem_get_address_range, "last", w.driver.mem_get_address_range(last_address)),
      TESSERA_REFUSAL(pointer_get_attribute, "nowhere",
                      w.driver.pointer_get_attribute(
                          {.attribute = PointerAttribute::mapped, .address = nowhere})),
      TESSERA_REFUSAL(pointer_get_attribute, "unknown",
                      w.driver.pointer_get_attribute(
                          {.attribute = static_cast<PointerAttribute>(0), .address = w.mapping})),
      TESSERA_REFUSAL(pointer_get_attribute, "unknown of mem_alloc",
                      w.driver.pointer_get_attribute(
                          {.attribute = static_cast<PointerAttribute>(0), .address = w.allocated})),
      TESSERA_REFUSAL(mem_get_handle_for_address_range, "type",
                      w.driver.mem_get_handle_for_address_range(
                          {.address = w.mapping, .size = w.unit, .handle_type = 9})),
      TESSERA_REFUSAL(
          mem_get_handle_for_address_range, "0",
          w.driver.mem_get_handle_for_address_range({.address = w.mapping, .size = {}})),
      TESSERA_REFUSAL(stream_create, "flags", w.driver.stream_create(static_cast<StreamFlags>(8))),
      TESSERA_REFUSAL(stream_destroy, "made up", w.driver.stream_destroy(made_up_stream)),
      TESSERA_REFUSAL(stream_synchronize, "made up", w.driver.stream_synchronize(made_up_stream)),
      TESSERA_REFUSAL(stream_wait_event, "event",
                      w.driver.stream_wait_event({.stream = w.stream, .event = made_up_event})),
      TESSERA_REFUSAL(
          stream_wait_event, "flags",
          w.driver.stream_wait_event({.stream = w.stream, .event = w.event, .flags = 77})),
      TESSERA_REFUSAL(event_create, "flags", w.driver.event_create(static_cast<EventFlags>(64))),
      TESSERA_REFUSAL(event_record, "stream",
                      w.driver.event_record({.event = w.event, .stream = made_up_stream})),
      TESSERA_REFUSAL(event_record, "null", w.driver.event_record({.event = {}})),
      TESSERA_REFUSAL(event_query, "made up", w.driver.event_query(made_up_event)),
      TESSERA_REFUSAL(event_synchronize, "made up", w.driver.event_synchronize(made_up_event)),
      TESSERA_REFUSAL(event_destroy, "made up", w.driver.event_destroy(made_up_event)),
      TESSERA_REFUSAL(launch_touch, "stream",
                      w.driver.launch_touch(
                          {.address = w.mapping, .touch = Touch::read, .stream = made_up_stream})),
      TESSERA_REFUSAL(
          launch_touch, "touch",
          w.driver.launch_touch({.address = w.mapping, .touch = static_cast<Touch>(9)})),
  };
}

std::vector<Refusal> managed_memory_refusals() {
  return {
      TESSERA_REFUSAL(mem_free_async, "managed", w.driver.mem_free_async({.address = w.managed})),
  };
}

std::vector<Refusal> copy_refusals() {
  return {
      TESSERA_REFUSAL(memcpy_htod, "unmapped", w.put(w.range)),
      TESSERA_REFUSAL(memcpy_dtoh, "unmapped", w.get(w.range)),
      TESSERA_REFUSAL(
          memcpy_dtod, "past the end",
          w.driver.memcpy_dtod(
              {.destination = w.mapping + w.unit * 2 - 1_B, .source = w.mapping, .size = 2_B})),
      TESSERA_REFUSAL(memcpy_dtod, "huge",
                      w.driver.memcpy_dtod(
                          {.destination = w.mapping, .source = w.mapping, .size = Bytes(huge)})),
      TESSERA_REFUSAL(
          memset_d8, "huge",
          w.driver.memset_d8({.destination = w.mapping, .value = 1, .size = Bytes(huge)})),
      TESSERA_REFUSAL(memset_d8, "last",
                      w.driver.memset_d8({.destination = last_address, .value = 1, .size = 1_B})),
      TESSERA_REFUSAL(
          memset_d8_async, "stream",
          w.driver.memset_d8_async({.set = {.destination = w.mapping, .value = 1, .size = 1_B},
                                    .stream = made_up_stream})),
      TESSERA_REFUSAL(memcpy_dtod_async, "unmapped",
                      w.driver.memcpy_dtod_async(
                          {.copy = {.destination = w.range, .source = w.mapping, .size = 1_B}})),
  };
}

std::vector<Refusal> dma_buf_refusals() {
  return {
      TESSERA_REFUSAL(
          mem_get_handle_for_address_range, "part of a page",
          w.driver.mem_get_handle_for_address_range({.address = w.mapping, .size = 1_B})),
      TESSERA_REFUSAL(
          mem_get_handle_for_address_range, "unmapped",
          w.driver.mem_get_handle_for_address_range({.address = w.range, .size = w.unit})),
  };
}

}  // namespace tessera::sim
