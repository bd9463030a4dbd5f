// PhysicalStore: physical memory, the handles that name it, and who keeps it alive.
//
// A handle is live while it has references (create, retain, import) or mappings; a memory lives
// while a live handle, a multicast binding or an open exported descriptor holds it. The value of a
// dead handle is never given out again, so a stale one is always recognised.
//
// Descriptors are closed without a word (close(2)), perhaps by another process: memory that only
// they hold is looked after in `collect`.
// Not thread-safe: the machine's lock guards it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "backing.h"
#include "device_memory.h"
#include "slab.h"
#include "tessera/rdma_registration.h"
#include "tessera/requests.h"

namespace tessera::sim {

struct Memory {
  Bytes size;
  AllocationProperties properties;
  DeviceMemory::Piece piece;  // what was taken from the device; nothing for host memory
  // Null where the memory has no bytes: bytes are off, and it cannot be exported.
  std::unique_ptr<Backing> backing;
  std::uint64_t id = 0;               // what travels with exports
  std::uint32_t holders = 0;          // live handles, bindings, Windows handles
  std::uint32_t windows_handles = 0;  // open ones that hold it
  std::uint32_t exports_made = 0;
  std::vector<std::uint32_t> exports_open;  // as far as is known
  bool is_foreign = false;                  // another process made it
  bool hw_decompress = false;               // made for hardware decompression
};

struct MulticastBinding {
  DeviceOrdinal device;
  Bytes multicast_offset;
  Bytes size;
  SlabIndex memory = 0;
  Bytes memory_offset;
};

struct Multicast {
  MulticastProperties properties = {};
  std::vector<DeviceOrdinal> devices;
  std::vector<MulticastBinding> bindings;
};

struct HandleEntry {
  std::uint64_t serial = 0;  // with the index it makes the handle's value; zero: dead
  std::uint32_t references = 0;
  std::uint32_t mappings = 0;
  SlabIndex object = 0;  // a Memory or a Multicast
  bool is_multicast = false;
  bool is_imported = false;
  bool is_tile_pool = false;  // made for sparse textures: mem_map refuses it [h200]
  // Only of memory made here for GPU-direct RDMA, by profiles that need its first mapping.
  std::optional<RdmaRegistration> rdma = {};
};

class PhysicalStore {
 public:
  // `devices` outlives the store.
  explicit PhysicalStore(std::vector<DeviceMemory>& devices);
  ~PhysicalStore();

  // --- Handles ---
  // The live handle's index; nothing for null, stale and made-up ones.
  [[nodiscard]] std::optional<SlabIndex> find(AllocationHandle handle) const;
  [[nodiscard]] AllocationHandle value_of(SlabIndex handle) const;
  [[nodiscard]] const HandleEntry& entry(SlabIndex handle) const { return handles_[handle]; }
  // A new handle with one reference.
  SlabIndex add_memory_handle(SlabIndex memory, bool is_imported, bool is_tile_pool);
  SlabIndex add_multicast_handle(Multicast multicast);
  void add_reference(SlabIndex handle);
  void remove_reference(SlabIndex handle);  // it has one
  void add_mapping(SlabIndex handle);
  void remove_mapping(SlabIndex handle);
  void add_rdma_registration(SlabIndex handle);
  // Null where it has none.
  [[nodiscard]] RdmaRegistration* rdma_registration(SlabIndex handle);

  // --- Memory ---
  // Takes it from its device (by the location in the properties). Nothing when there is too little.
  // Held by nobody yet: give it a handle next, or free it.
  [[nodiscard]] std::optional<SlabIndex> add_memory(Memory memory);
  void free_if_unheld(SlabIndex memory);
  [[nodiscard]] Memory& memory(SlabIndex index) { return memories_[index]; }
  [[nodiscard]] const Memory& memory(SlabIndex index) const { return memories_[index]; }
  [[nodiscard]] std::optional<SlabIndex> find_memory(std::uint64_t id) const;
  // From now on `find_memory(id)` finds it: it can be exported.
  void publish(SlabIndex memory, std::uint64_t id);
  void add_holder(SlabIndex memory);
  void remove_holder(SlabIndex memory);
  // A Windows handle that holds the memory until it is closed.
  void add_windows_handle(SlabIndex memory);
  void remove_windows_handle(SlabIndex memory);
  [[nodiscard]] Multicast& multicast(SlabIndex index) { return multicasts_[index]; }
  [[nodiscard]] const Multicast& multicast(SlabIndex index) const { return multicasts_[index]; }
  [[nodiscard]] Bytes size_of(SlabIndex handle) const;

  // Frees memory that only descriptors held and that nobody holds any more.
  void collect();

  [[nodiscard]] std::size_t memory_count() const noexcept { return memories_.size(); }
  [[nodiscard]] std::size_t handle_count() const noexcept { return handles_.size(); }
  [[nodiscard]] std::string check_invariants() const;

 private:
  [[nodiscard]] DeviceMemory* device_of(const Memory& memory);
  SlabIndex add_handle(const HandleEntry& entry);
  void drop_if_dead(SlabIndex handle);

  std::vector<DeviceMemory>& devices_;
  Slab<HandleEntry> handles_;
  Slab<Memory> memories_;
  Slab<Multicast> multicasts_;
  std::unordered_map<std::uint64_t, SlabIndex> exported_;  // by id
  std::uint64_t next_serial_ = 1;
};

}  // namespace tessera::sim
