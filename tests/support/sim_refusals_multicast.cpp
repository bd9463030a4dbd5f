// Refusals of the multicast calls, and of others that are given what is multicast.
#include "support/sim_refusals.h"

namespace tessera::sim {

std::vector<Refusal> multicast_refusals() {
  return {
      TESSERA_REFUSAL(multicast_create, "no device",
                      w.driver.multicast_create({.device_count = 0, .size = w.unit})),
      TESSERA_REFUSAL(multicast_create, "devices",
                      w.driver.multicast_create({.device_count = 3, .size = w.unit})),
      TESSERA_REFUSAL(multicast_create, "0",
                      w.driver.multicast_create({.device_count = 2, .size = {}})),
      TESSERA_REFUSAL(multicast_create, "1",
                      w.driver.multicast_create({.device_count = 2, .size = 1_B})),
      TESSERA_REFUSAL(multicast_create, "flags",
                      w.driver.multicast_create({.device_count = 2, .size = w.unit, .flags = 1})),
      TESSERA_REFUSAL(multicast_create, "types",
                      w.driver.multicast_create(
                          {.device_count = 2, .size = w.unit, .handle_types = HandleTypes::win32})),
      TESSERA_REFUSAL(
          multicast_get_granularity, "option",
          w.driver.multicast_get_granularity({.properties = {.device_count = 2, .size = w.unit},
                                              .option = static_cast<GranularityOption>(7)})),
      TESSERA_REFUSAL(
          multicast_get_granularity, "devices",
          w.driver.multicast_get_granularity({.properties = {.device_count = 3, .size = w.unit}})),
      TESSERA_REFUSAL(multicast_add_device, "memory",
                      w.driver.multicast_add_device({.multicast = w.handle, .device = device_0})),
      TESSERA_REFUSAL(
          multicast_add_device, "device",
          w.driver.multicast_add_device({.multicast = w.multicast_empty, .device = no_device})),
      TESSERA_REFUSAL(
          multicast_add_device, "twice",
          w.driver.multicast_add_device({.multicast = w.multicast, .device = device_0})),
      TESSERA_REFUSAL(
          multicast_add_device, "full",
          w.driver.multicast_add_device({.multicast = w.multicast, .device = device_1})),
      TESSERA_REFUSAL(multicast_bind_mem, "devices missing",
                      w.driver.multicast_bind_mem(
                          {.multicast = w.multicast_empty, .memory = w.unmapped, .size = w.unit})),
      TESSERA_REFUSAL(multicast_bind_mem, "bound already",
                      w.driver.multicast_bind_mem(
                          {.multicast = w.multicast, .memory = w.unmapped, .size = w.unit})),
      TESSERA_REFUSAL(multicast_bind_mem, "other device",
                      w.driver.multicast_bind_mem({.multicast = w.multicast,
                                                   .multicast_offset = w.unit,
                                                   .memory = w.on_other_device,
                                                   .size = w.unit})),
      TESSERA_REFUSAL(multicast_bind_mem, "misaligned",
                      w.driver.multicast_bind_mem({.multicast = w.multicast,
                                                   .multicast_offset = w.unit,
                                                   .memory = w.unmapped,
                                                   .size = 1_B})),
      TESSERA_REFUSAL(multicast_bind_mem, "outside",
                      w.driver.multicast_bind_mem({.multicast = w.multicast,
                                                   .multicast_offset = w.unit * 2,
                                                   .memory = w.unmapped,
                                                   .size = w.unit})),
      TESSERA_REFUSAL(multicast_bind_mem, "multicast",
                      w.driver.multicast_bind_mem({.multicast = w.multicast,
                                                   .multicast_offset = w.unit,
                                                   .memory = w.multicast_empty,
                                                   .size = w.unit})),
      TESSERA_REFUSAL(multicast_bind_mem, "flags",
                      w.driver.multicast_bind_mem({.multicast = w.multicast,
                                                   .multicast_offset = w.unit,
                                                   .memory = w.unmapped,
                                                   .size = w.unit,
                                                   .flags = 1})),
      TESSERA_REFUSAL(multicast_bind_addr, "unmapped",
                      w.driver.multicast_bind_addr({.multicast = w.multicast,
                                                    .multicast_offset = w.unit,
                                                    .address = w.range,
                                                    .size = w.unit})),
      TESSERA_REFUSAL(multicast_bind_addr, "flags",
                      w.driver.multicast_bind_addr({.multicast = w.multicast,
                                                    .multicast_offset = w.unit,
                                                    .address = w.mapping,
                                                    .size = w.unit,
                                                    .flags = 1})),
      TESSERA_REFUSAL(multicast_unbind, "device",
                      w.driver.multicast_unbind(
                          {.multicast = w.multicast, .device = no_device, .size = w.unit})),
      TESSERA_REFUSAL(multicast_unbind, "nothing bound",
                      w.driver.multicast_unbind({.multicast = w.multicast,
                                                 .device = device_0,
                                                 .multicast_offset = w.unit,
                                                 .size = w.unit})),
      TESSERA_REFUSAL(mem_get_allocation_properties_from_handle, "multicast",
                      w.driver.mem_get_allocation_properties_from_handle({.handle = w.multicast})),
      TESSERA_REFUSAL(mem_export_to_shareable_handle, "multicast",
                      w.driver.mem_export_to_shareable_handle({.handle = w.multicast})),
  };
}

std::vector<Refusal> multicast_copy_refusals() {
  return {
      TESSERA_REFUSAL(memcpy_htod, "nothing bound", w.put(w.multicast_mapping + w.unit)),
      TESSERA_REFUSAL(memcpy_dtoh, "multicast", w.get(w.multicast_mapping)),
  };
}

}  // namespace tessera::sim
