#include "physical_store.h"

#include <algorithm>
#include <utility>

#include "exported_memory.h"

namespace tessera::sim {
namespace {

// A handle's value: the serial above the index.
constexpr unsigned index_bits = 24;
constexpr std::uint64_t index_mask = (std::uint64_t{1} << index_bits) - 1;

}  // namespace

PhysicalStore::PhysicalStore(std::vector<DeviceMemory>& devices) : devices_(devices) {}
PhysicalStore::~PhysicalStore() = default;

std::optional<SlabIndex> PhysicalStore::find(AllocationHandle handle) const {
  const auto index = static_cast<SlabIndex>(handle.value() & index_mask);
  const std::uint64_t serial = handle.value() >> index_bits;
  if (serial == 0 || index >= handles_.limit() || handles_[index].serial != serial) {
    return std::nullopt;
  }
  return index;
}

AllocationHandle PhysicalStore::value_of(SlabIndex handle) const {
  return AllocationHandle(handles_[handle].serial << index_bits | handle);
}

SlabIndex PhysicalStore::add_handle(const HandleEntry& entry) {
  const SlabIndex index = handles_.insert(entry);
  TESSERA_CHECK_LE(index, index_mask);
  handles_[index].serial = next_serial_++;
  handles_[index].references = 1;
  return index;
}

SlabIndex PhysicalStore::add_memory_handle(SlabIndex memory, bool is_imported, bool is_tile_pool) {
  ++memories_[memory].holders;
  return add_handle({.object = memory, .is_imported = is_imported, .is_tile_pool = is_tile_pool});
}

SlabIndex PhysicalStore::add_multicast_handle(Multicast multicast) {
  return add_handle({.object = multicasts_.insert(std::move(multicast)), .is_multicast = true});
}

void PhysicalStore::add_reference(SlabIndex handle) { ++handles_[handle].references; }

void PhysicalStore::remove_reference(SlabIndex handle) {
  TESSERA_CHECK(handles_[handle].references != 0);
  --handles_[handle].references;
  drop_if_dead(handle);
}

void PhysicalStore::add_mapping(SlabIndex handle) { ++handles_[handle].mappings; }

void PhysicalStore::remove_mapping(SlabIndex handle) {
  TESSERA_CHECK(handles_[handle].mappings != 0);
  --handles_[handle].mappings;
  drop_if_dead(handle);
}

void PhysicalStore::add_rdma_registration(SlabIndex handle) {
  handles_[handle].rdma = RdmaRegistration();
}

RdmaRegistration* PhysicalStore::rdma_registration(SlabIndex handle) {
  std::optional<RdmaRegistration>& registration = handles_[handle].rdma;
  return registration ? &*registration : nullptr;
}

void PhysicalStore::drop_if_dead(SlabIndex handle) {
  const HandleEntry entry = handles_[handle];
  if (entry.references != 0 || entry.mappings != 0) {
    return;
  }
  handles_.erase(handle);
  if (!entry.is_multicast) {
    remove_holder(entry.object);
    return;
  }
  const Multicast multicast = std::move(multicasts_[entry.object]);
  multicasts_.erase(entry.object);
  for (const MulticastBinding& binding : multicast.bindings) {
    remove_holder(binding.memory);
  }
}

DeviceMemory* PhysicalStore::device_of(const Memory& memory) {
  if (memory.properties.location.type != LocationType::device) {
    return nullptr;
  }
  return &devices_.at(static_cast<std::size_t>(memory.properties.location.id));
}

std::optional<SlabIndex> PhysicalStore::add_memory(Memory memory) {
  if (DeviceMemory* device = device_of(memory)) {
    auto piece = device->take(memory.size);
    if (!piece) {
      collect();
      piece = device->take(memory.size);
    }
    if (!piece) {
      return std::nullopt;
    }
    memory.piece = *piece;
  }
  return memories_.insert(std::move(memory));
}

std::optional<SlabIndex> PhysicalStore::find_memory(std::uint64_t id) const {
  const auto found = exported_.find(id);
  return found != exported_.end() ? std::optional(found->second) : std::nullopt;
}

void PhysicalStore::publish(SlabIndex memory, std::uint64_t id) {
  memories_[memory].id = id;
  exported_.emplace(id, memory);
}

void PhysicalStore::add_holder(SlabIndex memory) { ++memories_[memory].holders; }

void PhysicalStore::remove_holder(SlabIndex memory) {
  TESSERA_CHECK(memories_[memory].holders != 0);
  --memories_[memory].holders;
  free_if_unheld(memory);
}

void PhysicalStore::add_windows_handle(SlabIndex memory) {
  ++memories_[memory].windows_handles;
  add_holder(memory);
}

void PhysicalStore::remove_windows_handle(SlabIndex memory) {
  TESSERA_CHECK(memories_[memory].windows_handles != 0);
  --memories_[memory].windows_handles;
  remove_holder(memory);
}

void PhysicalStore::free_if_unheld(SlabIndex index) {
  Memory& memory = memories_[index];
  if (memory.holders != 0) {
    return;
  }
  std::erase_if(memory.exports_open,
                [&](std::uint32_t number) { return !is_export_open(*memory.backing, number); });
  if (!memory.exports_open.empty()) {
    return;
  }
  if (DeviceMemory* device = device_of(memory)) {
    device->give_back(memory.piece);
  }
  if (memory.id != 0) {
    exported_.erase(memory.id);
  }
  memories_.erase(index);
}

void PhysicalStore::collect() {
  // Only exported memory can be held by descriptors alone.
  if (exported_.empty()) [[likely]] {
    return;
  }
  std::vector<SlabIndex> unheld;
  for (const auto& [id, index] : exported_) {
    if (memories_[index].holders == 0) {
      unheld.push_back(index);
    }
  }
  for (const SlabIndex index : unheld) {
    free_if_unheld(index);
  }
}

Bytes PhysicalStore::size_of(SlabIndex handle) const {
  const HandleEntry& entry = handles_[handle];
  return entry.is_multicast ? multicasts_[entry.object].properties.size
                            : memories_[entry.object].size;
}

std::string PhysicalStore::check_invariants() const {
  std::vector<std::uint32_t> holders(memories_.limit(), 0);
  for (SlabIndex i = 0; i < handles_.limit(); ++i) {
    const HandleEntry& entry = handles_[i];
    if (entry.serial == 0) {
      continue;
    }
    if (entry.references == 0 && entry.mappings == 0) {
      return "a handle without references and mappings is live";
    }
    if (!entry.is_multicast) {
      ++holders.at(entry.object);
      continue;
    }
    for (const MulticastBinding& binding : multicasts_[entry.object].bindings) {
      ++holders.at(binding.memory);
    }
  }
  for (SlabIndex i = 0; i < memories_.limit(); ++i) {
    if (memories_[i].holders != holders[i] + memories_[i].windows_handles) {
      return "a memory's holders are miscounted";
    }
  }
  for (const DeviceMemory& device : devices_) {
    if (std::string fault = device.check_invariants(); !fault.empty()) {
      return fault;
    }
  }
  return "";
}

}  // namespace tessera::sim
