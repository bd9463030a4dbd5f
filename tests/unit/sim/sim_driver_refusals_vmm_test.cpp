// Refusals of the virtual memory calls.
#include "sim_driver_refusals.h"

namespace tessera::sim {
namespace {

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

std::vector<Refusal> mapping_refusals() {
  return {
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

class SimDriverVmmRefusals : public SimDriverRefusals {};

TEST_P(SimDriverVmmRefusals, OfAddressesAndMemory) { expect_refused(address_refusals()); }
TEST_P(SimDriverVmmRefusals, OfHandles) { expect_refused(handle_refusals()); }
TEST_P(SimDriverVmmRefusals, OfMappings) { expect_refused(mapping_refusals()); }

INSTANTIATE_TEST_SUITE_P(Profiles, SimDriverVmmRefusals,
                         testing::ValuesIn(built_in_profile_names()), profile_of);

}  // namespace
}  // namespace tessera::sim
