#include "support/sim_refusals.h"

#include <array>

#include <unistd.h>

namespace tessera::sim {
namespace {

bool has_windows_handles(const Profile& profile) {
  return has_all(profile.export_types, HandleTypes::win32);
}

AllocationHandle import_of(SimMachine& machine) {
  const ShareableHandle exported =
      must(machine->mem_export_to_shareable_handle({.handle = machine.exportable()}));
  const AllocationHandle imported = must(machine->mem_import_from_shareable_handle(exported));
  ::close(exported.file_descriptor);
  return imported;
}

}  // namespace

bool has_peers(const Profile& profile) { return profile.peers.empty() || profile.peers[0][1]; }
bool has_descriptors(const Profile& profile) {
  return has_all(profile.export_types, HandleTypes::posix_file_descriptor);
}

// The reservation's size suits profiles whose two granularities differ.
World::World(const Profile& profile, const DriverLayer& make_layer)
    : machine(profile, {.devices = 2}),
      layer(make_layer ? make_layer(&machine.driver()) : nullptr),
      driver(layer ? *layer : machine.driver()),
      unit(machine.unit()),
      range(machine.reserve(8)),
      mapping(range + unit * 2),
      handle(machine.create(2)) {
  machine.map(mapping, 2, handle);
  must(machine.allow(mapping, 2));
  allocated = must(machine->mem_alloc(4_KiB));
  if (profile.managed_memory) {
    managed = must(machine->mem_alloc_managed({.size = 4_KiB}));
  }
  unmapped = machine.create(1);
  released = machine.create(1);
  must(machine->mem_release(released));
  tile_pool = machine.create(1, {.usage = 1});
  if (has_descriptors(profile)) {
    imported = import_of(machine);
  }
  add_rdma();
  destroyed = must(machine->ctx_create({.device = device_0}));
  must(machine->ctx_destroy(destroyed));
  if (has_peers(profile)) {
    peer = must(machine->ctx_create({.device = device_1}));
    must(machine->ctx_set_current(machine.primary()));
    must(machine->ctx_enable_peer_access({.peer = peer}));
  }
  stream = must(machine->stream_create(StreamFlags::blocking));
  event = must(machine->event_create(EventFlags::none));
  if (profile.multicast) {
    add_multicast();
  }
}

void World::add_rdma() {
  rdma = machine.create(1, {.gpu_direct_rdma_capable = 1});
  const DeviceAddress first = machine.reserve(8);
  rdma_mappings = first + unit;
  for (std::uint64_t i = 0; i < 3; ++i) {
    machine.map(first + unit * i, 1, rdma);
  }
  must(machine.unmap(first, 1));
  must(machine.allow(rdma_mappings, 1));
}

void World::add_multicast() {
  multicast = must(machine->multicast_create({.device_count = 1, .size = unit * 2}));
  must(machine->multicast_add_device({.multicast = multicast, .device = device_0}));
  must(machine->multicast_bind_mem(
      {.multicast = multicast, .memory = machine.create(1), .size = unit}));
  multicast_mapping = machine.reserve(2);
  machine.map(multicast_mapping, 2, multicast);
  must(machine.allow(multicast_mapping, 2));
  multicast_empty = must(machine->multicast_create({.device_count = 2, .size = unit}));
  on_other_device = machine.create(1, {.location = on_device(device_1)});
}

Status World::access(DeviceAddress address, Bytes size, AccessDescriptor descriptor) {
  const std::array descriptors = {descriptor};
  return driver.mem_set_access({.address = address, .size = size, .descriptors = descriptors});
}

Status World::put(DeviceAddress address) {
  const std::array source = {std::byte{1}};
  return driver.memcpy_htod({.destination = address, .source = source});
}

Status World::get(DeviceAddress address) {
  std::array<std::byte, 1> byte = {};
  return driver.memcpy_dtoh({.destination = byte, .source = address});
}

const std::vector<RefusalTable>& refusal_tables() {
  static const std::vector<RefusalTable> tables = {
      {"Addresses", address_refusals},
      {"Create", create_refusals},
      {"Handles", handle_refusals},
      {"Mappings", mapping_refusals},
      {"NullPointers", null_pointer_refusals},
      {"SystemAndContexts", system_refusals},
      {"OtherMemoryAndOrder", other_refusals},
      // Where copies fault instead, these lose the context.
      {"Copies", copy_refusals,
       [](const Profile& profile) { return profile.quirks.copies_check_access; }},
      {"MulticastCopies", multicast_copy_refusals,
       [](const Profile& profile) {
         return profile.multicast && profile.quirks.copies_check_access;
       }},
      {"HostMemory", host_memory_refusals,
       [](const Profile& profile) { return profile.host_locations; }},
      {"Compression", compression_refusals,
       [](const Profile& profile) { return profile.compression; }},
      {"ManagedMemory", managed_memory_refusals,
       [](const Profile& profile) { return profile.managed_memory; }},
      {"Rdma", rdma_refusals,
       [](const Profile& profile) { return profile.quirks.rdma_needs_first_mapping; }},
      {"Imports", import_refusals,
       [](const Profile& profile) {
         return has_descriptors(profile) && !profile.quirks.reexport_imported;
       }},
      {"WithoutWindowsHandles", without_windows_handles_refusals,
       [](const Profile& profile) { return !has_windows_handles(profile); }},
      {"WindowsHandles", windows_handles_refusals, has_windows_handles},
      {"Peers", peer_refusals, has_peers},
      {"DmaBuf", dma_buf_refusals, [](const Profile& profile) { return profile.dma_buf; }},
      {"Multicast", multicast_refusals, [](const Profile& profile) { return profile.multicast; }},
  };
  return tables;
}

}  // namespace tessera::sim
