// Refusals of the virtual memory calls.
#include "support/sim_refusals.h"

namespace tessera::sim {

std::vector<Refusal> address_refusals() {
  return {
      TESSERA_REFUSAL(mem_get_allocation_granularity, "option",
                      w.driver.mem_get_allocation_granularity(
                          {.properties = {}, .option = static_cast<GranularityOption>(7)})),
      TESSERA_REFUSAL(mem_address_reserve, "0", w.driver.mem_address_reserve({.size = {}})),
      TESSERA_REFUSAL(mem_address_reserve, "1", w.driver.mem_address_reserve({.size = 1_B})),
      TESSERA_REFUSAL(mem_address_reserve, "huge",
                      w.driver.mem_address_reserve({.size = Bytes(huge)})),
      TESSERA_REFUSAL(mem_address_reserve, "huge and aligned",
                      w.driver.mem_address_reserve({.size = last_unit})),
      TESSERA_REFUSAL(mem_address_reserve, "alignment",
                      w.driver.mem_address_reserve({.size = w.unit * 8, .alignment = 3_B})),
      TESSERA_REFUSAL(mem_address_reserve, "huge alignment",
                      w.driver.mem_address_reserve(
                          {.size = w.unit * 8, .alignment = Bytes(std::uint64_t{1} << 63U)})),
      TESSERA_REFUSAL(mem_address_reserve, "hint",
                      w.driver.mem_address_reserve({.size = w.unit * 8, .hint = DeviceAddress(1)})),
      TESSERA_REFUSAL(mem_address_reserve, "far hint",
                      w.driver.mem_address_reserve(
                          {.size = w.unit * 8, .hint = DeviceAddress(last_unit.value())})),
      TESSERA_REFUSAL(mem_address_reserve, "flags",
                      w.driver.mem_address_reserve({.size = w.unit * 8, .flags = 1})),
      TESSERA_REFUSAL(mem_address_free, "null",
                      w.driver.mem_address_free({.address = {}, .size = w.unit})),
      TESSERA_REFUSAL(mem_address_free, "part",
                      w.driver.mem_address_free({.address = w.range, .size = w.unit})),
      TESSERA_REFUSAL(mem_address_free, "inside",
                      w.driver.mem_address_free({.address = w.range + w.unit, .size = w.unit * 7})),
      TESSERA_REFUSAL(mem_address_free, "huge",
                      w.driver.mem_address_free({.address = w.range, .size = Bytes(huge)})),
      TESSERA_REFUSAL(mem_address_free, "mem_alloc's",
                      w.driver.mem_address_free({.address = w.allocated, .size = 4_KiB})),
  };
}

std::vector<Refusal> create_refusals() {
  return {
      TESSERA_REFUSAL(mem_create, "0", w.driver.mem_create({.size = {}, .properties = {}})),
      TESSERA_REFUSAL(mem_create, "huge",
                      w.driver.mem_create({.size = Bytes(huge), .properties = {}})),
      TESSERA_REFUSAL(mem_create, "huge and aligned",
                      w.driver.mem_create({.size = last_unit, .properties = {}})),
      TESSERA_REFUSAL(
          mem_create, "device",
          w.driver.mem_create({.size = w.unit, .properties = {.location = on_device(no_device)}})),
      TESSERA_REFUSAL(
          mem_create, "type",
          w.driver.mem_create(
              {.size = w.unit, .properties = {.type = static_cast<AllocationType>(0xffff'ffff)}})),
      TESSERA_REFUSAL(mem_create, "location",
                      w.driver.mem_create(
                          {.size = w.unit,
                           .properties = {.location = {.type = static_cast<LocationType>(77)}}})),
      TESSERA_REFUSAL(
          mem_create, "fabric",
          w.driver.mem_create(
              {.size = w.unit, .properties = {.requested_handle_types = HandleTypes::fabric}})),
      TESSERA_REFUSAL(mem_create, "flags",
                      w.driver.mem_create({.size = w.unit, .properties = {}, .flags = huge})),
      TESSERA_REFUSAL(mem_create, "reserved bytes", w.create({.reserved = {0, 0, 1, 0}})),
      TESSERA_REFUSAL(mem_create, "compression",
                      w.create({.compression = static_cast<Compression>(2)})),
      TESSERA_REFUSAL(mem_create, "tile pool with RDMA",
                      w.create({.gpu_direct_rdma_capable = 1, .usage = 1})),
  };
}

std::vector<Refusal> host_memory_refusals() {
  return {
      TESSERA_REFUSAL(mem_create, "exportable",
                      w.create({.requested_handle_types = HandleTypes::posix_file_descriptor,
                                .location = {.type = LocationType::host}})),
      TESSERA_REFUSAL(mem_create, "NUMA node",
                      w.create({.location = {.type = LocationType::host_numa, .id = 99}})),
      TESSERA_REFUSAL(
          mem_create, "RDMA",
          w.create({.location = {.type = LocationType::host_numa}, .gpu_direct_rdma_capable = 1})),
  };
}

std::vector<Refusal> compression_refusals() {
  return {
      TESSERA_REFUSAL(mem_create, "decompression of what is compressed",
                      w.create({.compression = Compression::generic, .usage = 2})),
  };
}

std::vector<Refusal> without_windows_handles_refusals() {
  return {
      TESSERA_REFUSAL(mem_create, "Windows metadata", w.create({.win32_handle_metadata = &w})),
      TESSERA_REFUSAL(mem_import_from_shareable_handle, "Windows handle",
                      w.driver.mem_import_from_shareable_handle({.type = HandleTypes::win32})),
  };
}

std::vector<Refusal> windows_handles_refusals() {
  return {
      TESSERA_REFUSAL(mem_import_from_shareable_handle, "made up Windows handle",
                      w.driver.mem_import_from_shareable_handle(
                          {.type = HandleTypes::win32, .win32 = 0xdead'beef})),
  };
}

std::vector<Refusal> handle_refusals() {
  return {
      TESSERA_REFUSAL(mem_release, "null", w.driver.mem_release({})),
      TESSERA_REFUSAL(mem_release, "made up", w.driver.mem_release(made_up)),
      TESSERA_REFUSAL(mem_release, "released", w.driver.mem_release(w.released)),
      TESSERA_REFUSAL(mem_release, "largest", w.driver.mem_release(AllocationHandle(huge))),
      TESSERA_REFUSAL(mem_get_allocation_properties_from_handle, "made up",
                      w.driver.mem_get_allocation_properties_from_handle({.handle = made_up})),
      TESSERA_REFUSAL(mem_get_allocation_properties_from_handle, "released",
                      w.driver.mem_get_allocation_properties_from_handle({.handle = w.released})),
      TESSERA_REFUSAL(mem_retain_allocation_handle, "nothing there",
                      w.driver.mem_retain_allocation_handle(w.range)),
      TESSERA_REFUSAL(mem_retain_allocation_handle, "mem_alloc's",
                      w.driver.mem_retain_allocation_handle(w.allocated)),
      TESSERA_REFUSAL(mem_retain_allocation_handle, "last",
                      w.driver.mem_retain_allocation_handle(last_address)),
      TESSERA_REFUSAL(mem_export_to_shareable_handle, "not exportable",
                      w.driver.mem_export_to_shareable_handle({.handle = w.handle})),
      TESSERA_REFUSAL(mem_export_to_shareable_handle, "made up",
                      w.driver.mem_export_to_shareable_handle({.handle = made_up})),
      TESSERA_REFUSAL(mem_export_to_shareable_handle, "type",
                      w.driver.mem_export_to_shareable_handle(
                          {.handle = w.handle, .type = static_cast<HandleTypes>(1024)})),
      TESSERA_REFUSAL(mem_import_from_shareable_handle, "-1",
                      w.driver.mem_import_from_shareable_handle({})),
      TESSERA_REFUSAL(mem_import_from_shareable_handle, "0",
                      w.driver.mem_import_from_shareable_handle({.file_descriptor = 0})),
      TESSERA_REFUSAL(mem_import_from_shareable_handle, "fabric",
                      w.driver.mem_import_from_shareable_handle({.type = HandleTypes::fabric})),
      TESSERA_REFUSAL(
          mem_import_from_shareable_handle, "several types",
          w.driver.mem_import_from_shareable_handle({.type = static_cast<HandleTypes>(7)})),
  };
}

std::vector<Refusal> import_refusals() {
  return {
      TESSERA_REFUSAL(mem_export_to_shareable_handle, "imported",
                      w.driver.mem_export_to_shareable_handle({.handle = w.imported})),
  };
}

std::vector<Refusal> mapping_refusals() {
  return {
      TESSERA_REFUSAL(mem_map, "tile pool",
                      w.map({.address = w.range, .size = w.unit, .handle = w.tile_pool})),
      TESSERA_REFUSAL(mem_map, "released",
                      w.map({.address = w.range, .size = w.unit, .handle = w.released})),
      TESSERA_REFUSAL(mem_map, "made up",
                      w.map({.address = w.range, .size = w.unit, .handle = made_up})),
      TESSERA_REFUSAL(mem_map, "null handle",
                      w.map({.address = w.range, .size = w.unit, .handle = {}})),
      TESSERA_REFUSAL(mem_map, "nowhere",
                      w.map({.address = nowhere, .size = w.unit, .handle = w.unmapped})),
      TESSERA_REFUSAL(
          mem_map, "last address",
          w.map(
              {.address = DeviceAddress(last_unit.value()), .size = w.unit, .handle = w.unmapped})),
      TESSERA_REFUSAL(mem_map, "misaligned",
                      w.map({.address = w.range + 1_B, .size = w.unit, .handle = w.unmapped})),
      TESSERA_REFUSAL(mem_map, "mapped",
                      w.map({.address = w.mapping, .size = w.unit, .handle = w.unmapped})),
      TESSERA_REFUSAL(mem_map, "huge",
                      w.map({.address = w.range, .size = last_unit, .handle = w.unmapped})),
      TESSERA_REFUSAL(
          mem_map, "huge offset",
          w.map({.address = w.range, .size = w.unit, .offset = last_unit, .handle = w.unmapped})),
      TESSERA_REFUSAL(
          mem_map, "flags",
          w.map({.address = w.range, .size = w.unit, .handle = w.unmapped, .flags = huge})),
      TESSERA_REFUSAL(mem_unmap, "0", w.driver.mem_unmap({.address = w.mapping, .size = {}})),
      TESSERA_REFUSAL(mem_unmap, "cut", w.driver.mem_unmap({.address = w.mapping, .size = w.unit})),
      TESSERA_REFUSAL(mem_unmap, "nowhere",
                      w.driver.mem_unmap({.address = nowhere, .size = w.unit})),
      TESSERA_REFUSAL(mem_unmap, "mem_alloc's",
                      w.driver.mem_unmap({.address = w.allocated, .size = 4_KiB})),
      TESSERA_REFUSAL(
          mem_set_access, "none given",
          w.driver.mem_set_access({.address = w.mapping, .size = w.unit * 2, .descriptors = {}})),
      TESSERA_REFUSAL(mem_set_access, "flags",
                      w.access(w.mapping, w.unit * 2,
                               {.location = on_device(device_0),
                                .flags = static_cast<AccessFlags>(0xffff'ffff)})),
      TESSERA_REFUSAL(mem_set_access, "device",
                      w.access(w.mapping, w.unit * 2,
                               {.location = on_device(no_device), .flags = AccessFlags::read})),
      TESSERA_REFUSAL(mem_set_access, "location",
                      w.access(w.mapping, w.unit * 2,
                               {.location = {.type = static_cast<LocationType>(9)},
                                .flags = AccessFlags::read})),
      TESSERA_REFUSAL(
          mem_set_access, "host",
          w.access(w.mapping, w.unit * 2,
                   {.location = {.type = LocationType::host}, .flags = AccessFlags::read})),
      TESSERA_REFUSAL(
          mem_set_access, "unmapped",
          w.access(w.range, w.unit, {.location = on_device(device_0), .flags = AccessFlags::read})),
      TESSERA_REFUSAL(mem_set_access, "wraps",
                      w.access(w.mapping, Bytes(huge),
                               {.location = on_device(device_0), .flags = AccessFlags::read})),
      TESSERA_REFUSAL(mem_get_access, "unmapped", w.driver.mem_get_access({.address = w.range})),
      TESSERA_REFUSAL(mem_get_access, "last", w.driver.mem_get_access({.address = last_address})),
      TESSERA_REFUSAL(
          mem_get_access, "location",
          w.driver.mem_get_access(
              {.address = w.mapping, .location = {.type = static_cast<LocationType>(9)}})),
  };
}

std::vector<Refusal> rdma_refusals() {
  return {
      TESSERA_REFUSAL(
          mem_map, "first mapping gone",
          w.map({.address = w.rdma_mappings + w.unit * 2, .size = w.unit, .handle = w.rdma})),
      TESSERA_REFUSAL(
          mem_set_access, "first mapping gone",
          w.access(w.rdma_mappings + w.unit, w.unit,
                   {.location = on_device(device_0), .flags = AccessFlags::read_write})),
      TESSERA_REFUSAL(mem_set_access, "first mapping gone, of a peer",
                      w.access(w.rdma_mappings, w.unit,
                               {.location = on_device(device_1), .flags = AccessFlags::read})),
  };
}

// What CUDA's own calls can be given, and Driver's in a request.
std::vector<Refusal> null_pointer_refusals() {
  constexpr NullPointers no_output = NullPointers::output;
  return {
      TESSERA_REFUSAL(
          mem_get_allocation_granularity, "output",
          w.driver.mem_get_allocation_granularity({.properties = {}, .null_pointers = no_output})),
      TESSERA_REFUSAL(
          mem_address_reserve, "output",
          w.driver.mem_address_reserve({.size = w.unit * 8, .null_pointers = no_output})),
      TESSERA_REFUSAL(mem_create, "output",
                      w.driver.mem_create({.size = w.unit, .null_pointers = no_output})),
      TESSERA_REFUSAL(mem_get_allocation_properties_from_handle, "output",
                      w.driver.mem_get_allocation_properties_from_handle(
                          {.handle = w.handle, .null_pointers = no_output})),
      TESSERA_REFUSAL(mem_get_access, "output",
                      w.driver.mem_get_access({.address = w.mapping, .null_pointers = no_output})),
      TESSERA_REFUSAL(mem_set_access, "descriptors",
                      w.driver.mem_set_access(
                          {.address = w.mapping,
                           .size = w.unit * 2,
                           .descriptors = {static_cast<const AccessDescriptor*>(nullptr), 1}})),
      TESSERA_REFUSAL(
          memcpy_htod, "source",
          w.driver.memcpy_htod(
              {.destination = w.mapping, .source = {static_cast<const std::byte*>(nullptr), 1}})),
      TESSERA_REFUSAL(memcpy_dtoh, "destination",
                      w.driver.memcpy_dtoh({.destination = {static_cast<std::byte*>(nullptr), 1},
                                            .source = w.mapping})),
  };
}

}  // namespace tessera::sim
