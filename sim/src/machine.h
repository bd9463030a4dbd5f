// Machine: the simulated machine behind SimDriver. It glues the parts (AddressSpace, PhysicalStore,
// Contexts, Timeline, ...) by the driver's rules: one method a driver call, named alike, grouped in
// machine_*.cpp. The order of the checks in a method is the order in which the real driver's errors
// win, as recordings show it.
//
// `call` wraps every method: it takes the lock, lets virtual time pass, runs the work that is due,
// and completes the error. All else here expects the lock to be held.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "address_space.h"
#include "contexts.h"
#include "device_memory.h"
#include "physical_store.h"
#include "sub_allocator.h"
#include "tessera/host_copies.h"
#include "tessera/sim/sim_driver.h"
#include "timeline.h"

namespace tessera::sim {

// An answer that refuses, from the simulator; `call` fills in which call it was.
[[nodiscard]] inline Error refuse(ErrorCode code, Reason reason, std::uint64_t first = 0,
                                  std::uint64_t second = 0, std::uint64_t third = 0) noexcept {
  return {.code = code,
          .origin = Origin::simulator,
          .reason = reason,
          .values = {first, second, third}};
}
[[nodiscard]] inline Error invalid(Reason reason, std::uint64_t first = 0, std::uint64_t second = 0,
                                   std::uint64_t third = 0) noexcept {
  return refuse(ErrorCode::invalid_value, reason, first, second, third);
}

// A signed number as a value of an error or an attribute.
[[nodiscard]] inline std::uint64_t signed_value(std::int32_t value) noexcept {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

enum class LegacyKind : std::uint8_t { device, managed, host, pool };

// What mem_alloc and its relatives gave.
struct LegacyAllocation {
  AddressRange range;    // as asked for
  AddressRange mapping;  // what the driver mapped for it: whole granules or blocks
  LegacyKind kind = LegacyKind::device;
  ContextHandle context;
  DeviceOrdinal device;
  std::unique_ptr<Backing> backing;  // device and pool; null where bytes are off
  std::byte* host_memory = nullptr;  // managed and host: real memory, at that very address
  std::uint64_t buffer_id = 0;
  bool is_being_freed = false;  // mem_free_async is in a stream
  bool sync_memops = false;     // the pointer attribute
};

// A block of memory that a SubAllocator cuts up.
struct HeapBlock {
  AddressRange range;
  DeviceMemory::Piece piece;
};
struct Heap {
  explicit Heap(Bytes alignment) : parts(alignment) {}
  SubAllocator parts;
  std::map<std::uint64_t, HeapBlock> blocks;  // by the begin of the range
};

// What a context has taken from its device.
struct ContextResources {
  explicit ContextResources(Bytes heap_alignment) : heap(heap_alignment) {}
  DeviceMemory::Piece static_piece;
  DeviceMemory::Piece stack_piece;  // for the stacks of all threads
  Heap heap;
};

// A simulated Windows handle of an export.
struct Win32Handle {
  std::uint64_t memory = 0;  // its id
  bool keeps = false;        // the memory alive: an NT handle does, a KMT handle does not
  SlabIndex index = 0;
};

// What wants to touch memory; their rights differ.
enum class Toucher : std::uint8_t { copy_by_device, copy_by_cpu, fill, kernel };
[[nodiscard]] constexpr Toucher copier_of(bool is_by_cpu) noexcept {
  return is_by_cpu ? Toucher::copy_by_cpu : Toucher::copy_by_device;
}

// Part of a range, with the bytes behind it; both null where bytes are off.
struct Segment {
  Backing* backing = nullptr;
  std::byte* host_memory = nullptr;
  Bytes offset;  // into either
  Bytes size;
  // This segment and the next so many are for the same bytes of the range (multicast).
  std::uint32_t further_copies = 0;
};

class Machine {
 public:
  // The profile outlives the machine.
  Machine(const Profile& profile, const SimOptions& options);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  template <class Operation>
  auto call(Call call, Operation&& operation) {
    const std::lock_guard lock(mutex_);
    using Answer = decltype(operation());
    if (auto refusal = begin_call(call)) {
      return Answer(*refusal);
    }
    try {
      Answer answer = operation();
      if (!answer) {
        return Answer(complete(answer.error(), call));
      }
      return answer;
    } catch (const std::bad_alloc&) {
      // The host has no memory left for the simulated bytes.
      return Answer(complete(refuse(ErrorCode::out_of_memory, Reason::host_exhausted), call));
    }
  }

  // --- What only a simulator can tell (each takes the lock itself) ---
  void read_books(Books& books);
  [[nodiscard]] std::string check_invariants();
  [[nodiscard]] std::uint64_t now_ns();
  void advance(std::uint64_t nanoseconds);
  Result<std::byte> host_read(DeviceAddress address);
  Status host_write(DeviceAddress address, std::byte value);
  Status close_win32_handle(std::uint64_t handle);

  // --- The calls of Driver ---
  Status init(std::uint32_t flags);
  Result<std::int32_t> driver_get_version();
  Result<std::int32_t> device_get_count();
  Result<std::string> device_get_name(DeviceOrdinal device);
  Result<Bytes> device_total_mem(DeviceOrdinal device);
  Result<std::int32_t> device_get_attribute(const DeviceAttributeRequest& request);
  Result<bool> device_can_access_peer(const PeerQuery& query);
  Result<ContextHandle> device_primary_ctx_retain(DeviceOrdinal device);
  Status device_primary_ctx_release(DeviceOrdinal device);
  Status device_primary_ctx_reset(DeviceOrdinal device);
  Result<ContextHandle> ctx_create(const ContextCreateRequest& request);
  Status ctx_destroy(ContextHandle context);
  Status ctx_set_current(ContextHandle context);
  Result<ContextHandle> ctx_get_current();
  Status ctx_synchronize();
  Status ctx_enable_peer_access(const PeerAccessRequest& request);
  Status ctx_set_limit(const SetLimitRequest& request);
  Result<Bytes> ctx_get_limit(ContextLimit limit);
  Result<Bytes> mem_get_allocation_granularity(const GranularityRequest& request);
  Result<DeviceAddress> mem_address_reserve(const ReserveRequest& request);
  Status mem_address_free(const AddressFreeRequest& request);
  Result<AllocationHandle> mem_create(const CreateRequest& request);
  Status mem_release(AllocationHandle handle);
  Result<AllocationProperties> mem_get_allocation_properties_from_handle(
      const PropertiesRequest& request);
  Result<AllocationHandle> mem_retain_allocation_handle(DeviceAddress address);
  Result<ShareableHandle> mem_export_to_shareable_handle(const ExportRequest& request);
  Result<AllocationHandle> mem_import_from_shareable_handle(const ShareableHandle& handle);
  Status mem_map(const MapRequest& request);
  Status mem_unmap(const UnmapRequest& request);
  Status mem_set_access(const SetAccessRequest& request);
  Result<AccessFlags> mem_get_access(const GetAccessRequest& request);
  Result<DeviceAddress> mem_alloc(Bytes size);
  Result<PitchedAllocation> mem_alloc_pitch(const AllocPitchRequest& request);
  Result<DeviceAddress> mem_alloc_managed(const AllocManagedRequest& request);
  Status mem_free(DeviceAddress address);
  Result<DeviceAddress> mem_alloc_async(const AllocAsyncRequest& request);
  Status mem_free_async(const FreeAsyncRequest& request);
  Result<std::byte*> mem_host_alloc(const HostAllocRequest& request);
  Status mem_free_host(std::byte* memory);
  Result<MemoryInfo> mem_get_info();
  Result<AddressRange> mem_get_address_range(DeviceAddress address);
  Result<std::uint64_t> pointer_get_attribute(const PointerAttributeRequest& request);
  Result<int> mem_get_handle_for_address_range(const RangeHandleRequest& request);
  Status memcpy_htod(const MemcpyHtodRequest& request);
  Status memcpy_dtoh(const MemcpyDtohRequest& request);
  Status memcpy_dtod(const MemcpyDtodRequest& request);
  Status memset_d8(const MemsetD8Request& request);
  Status memcpy_htod_async(const MemcpyHtodAsyncRequest& request);
  Status memcpy_dtoh_async(const MemcpyDtohAsyncRequest& request);
  Status memcpy_dtod_async(const MemcpyDtodAsyncRequest& request);
  Status memset_d8_async(const MemsetD8AsyncRequest& request);
  Result<StreamHandle> stream_create(StreamFlags flags);
  Status stream_destroy(StreamHandle stream);
  Status stream_synchronize(StreamHandle stream);
  Status stream_wait_event(const StreamWaitEventRequest& request);
  Result<EventHandle> event_create(EventFlags flags);
  Status event_record(const EventRecordRequest& request);
  Status event_query(EventHandle event);
  Status event_synchronize(EventHandle event);
  Status event_destroy(EventHandle event);
  Status launch_touch(const LaunchTouchRequest& request);
  Result<AllocationHandle> multicast_create(const MulticastProperties& properties);
  Status multicast_add_device(const MulticastAddDeviceRequest& request);
  Status multicast_bind_mem(const MulticastBindMemRequest& request);
  Status multicast_bind_addr(const MulticastBindAddrRequest& request);
  Status multicast_unbind(const MulticastUnbindRequest& request);
  Result<Bytes> multicast_get_granularity(const MulticastGranularityRequest& request);

 private:
  // --- Calls (machine.cpp) ---
  [[nodiscard]] std::optional<Error> begin_call(Call call);
  [[nodiscard]] static Error complete(Error error, Call call) noexcept;
  // Further virtual time, for each further thing that a call handled.
  void spend_for(Call call, std::uint64_t further_units);
  [[nodiscard]] std::uint64_t duration_of(Call call, Bytes size) const;
  [[nodiscard]] bool is_device(DeviceOrdinal device) const noexcept;
  [[nodiscard]] Status check_device(DeviceOrdinal device) const;
  // Not zero, and a multiple of the granularity.
  [[nodiscard]] static Status check_size(Bytes size, Bytes granularity);
  [[nodiscard]] DeviceMemory& memory_of(DeviceOrdinal device);
  [[nodiscard]] Error out_of_memory(Bytes wanted, DeviceOrdinal device);
  [[nodiscard]] bool can_reach(DeviceOrdinal device, DeviceOrdinal peer) const;

  // --- Contexts (machine_contexts.cpp) ---
  // The current context, usable.
  [[nodiscard]] Result<Context*> need_context();
  // For calls that may be made without a context: the current one, if there is one, is usable.
  [[nodiscard]] Status check_current();
  // What a new context takes from its device.
  [[nodiscard]] Result<ContextResources> resources_for(DeviceOrdinal device);
  void give_resources(ContextHandle context, ContextResources resources);
  void take_resources(const Context& context);
  void take_driver_addresses();
  void lose(const Error& cause);
  [[nodiscard]] Status check_not_lost() const;
  [[nodiscard]] Bytes stack_share(Bytes stack_size) const;
  [[nodiscard]] Status take_stacks(const Context& context, Bytes stack_size);
  // Waits for all work on a device, or on all, as each end of a context does [h200].
  void wait_for_work(std::optional<DeviceOrdinal> device = std::nullopt);

  // --- Memory (machine_memory.cpp) ---
  [[nodiscard]] Status check_properties(const AllocationProperties& properties) const;
  [[nodiscard]] Result<SlabIndex> need_handle(AllocationHandle handle) const;
  [[nodiscard]] Status check_export_type(HandleTypes type) const;
  [[nodiscard]] Status check_room(Bytes size, Location location) const;
  [[nodiscard]] Result<SlabIndex> import_descriptor(int file_descriptor);

  // --- Mappings (machine_mappings.cpp) ---
  [[nodiscard]] Status check_map_part(const MapRequest& request, Bytes handle_size) const;
  [[nodiscard]] Status check_map_place(const MapRequest& request) const;
  [[nodiscard]] Status check_descriptors(const SetAccessRequest& request) const;
  std::size_t unmap_inside(AddressRange range);  // how many mappings that were
  [[nodiscard]] Status set_access(SlabIndex index, const AccessDescriptor& descriptor);
  [[nodiscard]] Status check_access_reach(const Mapping& mapping,
                                          const AccessDescriptor& descriptor) const;
  // The mappings that make up a range without holes.
  [[nodiscard]] Result<std::vector<SlabIndex>> mappings_of(AddressRange range) const;
  [[nodiscard]] Result<std::vector<SlabIndex>> mappings_to_set(AddressRange range) const;
  [[nodiscard]] Status check_page_tables(const std::vector<SlabIndex>& run,
                                         const SetAccessRequest& request) const;
  [[nodiscard]] Location location_of(const Mapping& mapping) const;

  // --- Legacy allocation (machine_legacy.cpp) ---
  [[nodiscard]] Result<AddressRange> allocate_in_heap(Heap& heap, Bytes size, Bytes block_size,
                                                      DeviceOrdinal device);
  void release_block(Heap& heap, AddressRange block, DeviceOrdinal device);
  // The heap's block around an address; null if there is none.
  [[nodiscard]] static const HeapBlock* block_at(const Heap& heap, DeviceAddress address);
  [[nodiscard]] DeviceAddress add_legacy(LegacyAllocation allocation);
  [[nodiscard]] std::optional<SlabIndex> legacy_at(DeviceAddress address) const;
  [[nodiscard]] std::byte* map_host_memory(Bytes size) const;
  [[nodiscard]] Result<DeviceAddress> allocate_host_memory(Bytes size, LegacyKind kind,
                                                           const Context& context);
  void free_legacy(SlabIndex allocation);
  // What goes with a context that ends.
  void free_legacy_of(ContextHandle context);
  void trim_pools();
  [[nodiscard]] std::unique_ptr<Backing> new_backing(Bytes size) const;

  // --- Queries (machine_queries.cpp) ---
  [[nodiscard]] bool is_on_host(const Mapping& mapping) const;
  // Whether a block of a heap is mapped there, in use or not.
  [[nodiscard]] bool is_in_heap(DeviceAddress address) const;
  [[nodiscard]] Result<std::uint64_t> mapping_attribute(Mapping& mapping,
                                                        const PointerAttributeRequest& request);
  [[nodiscard]] Result<std::uint64_t> legacy_attribute(LegacyAllocation& allocation,
                                                       const PointerAttributeRequest& request);

  // --- Data (machine_data.cpp) ---
  // The parts of a range, if all of it can be touched so.
  [[nodiscard]] Result<std::vector<Segment>> resolve(const Context& context, DeviceAddress address,
                                                     Bytes size, AccessFlags needed,
                                                     Toucher toucher);
  [[nodiscard]] Status resolve_block(const Context& context, const Block& block, AddressRange part,
                                     AccessFlags needed, Toucher toucher,
                                     std::vector<Segment>& segments);
  void resolve_memory(SlabIndex memory, Bytes offset, Bytes size, std::vector<Segment>& segments);
  [[nodiscard]] Status resolve_multicast(const Multicast& multicast, AddressRange part,
                                         Bytes offset, AccessFlags needed,
                                         std::vector<Segment>& segments);
  Status read_bytes(const Context& context, DeviceAddress address, std::span<std::byte> bytes,
                    Toucher toucher);
  Status write_bytes(const Context& context, DeviceAddress address,
                     std::span<const std::byte> bytes, Toucher toucher);
  Status fill_bytes(const Context& context, const MemsetD8Request& request);
  Status copy_bytes(const Context& context, const MemcpyDtodRequest& request, CopiedByCpu by);
  Status touch(const Context& context, const LaunchTouchRequest& request);
  [[nodiscard]] CpuReach cpu_reach(const Context& context, DeviceAddress address, Bytes size) const;
  [[nodiscard]] Result<Segment> resolve_for_cpu(const Block& block, AddressRange part,
                                                AccessFlags needed);
  [[nodiscard]] Result<Segment> host_segment_at(DeviceAddress address, AccessFlags needed);

  // --- Work (machine_work.cpp) ---
  // One access of a piece of work: what, and how.
  struct Access {
    DeviceAddress address;
    Bytes size;
    AccessFlags needed;
    Toucher toucher;
  };
  // Checks the accesses, of which kernels have none, then queues `work(context)`, which may find
  // them gone when it runs: a failure there loses the context, which is the stream's.
  template <class Work>
  Status enqueue(const Context& context, StreamHandle stream, std::uint64_t duration,
                 std::initializer_list<Access> accesses, Work work);
  // The stream's context; a copy looks at the current one, too, if there is one [h200].
  [[nodiscard]] Result<const Context*> need_stream_for_copy(StreamHandle stream);
  [[nodiscard]] CopiedByCpu copiers(const Context& context,
                                    const MemcpyDtodAsyncRequest& request) const;
  // Of copies between host memory of the program's own and a range: who copies the range.
  [[nodiscard]] Toucher copier(const Context& context, DeviceAddress address, Bytes size) const;
  // Until what is in the stream is done, which is there.
  Status wait_for_stream(StreamHandle stream);

  // --- Order (machine_order.cpp) ---
  // The stream's context, usable; another may be current.
  [[nodiscard]] Result<Context*> need_stream(StreamHandle stream);
  // The event's context, usable.
  [[nodiscard]] Result<Context*> need_event(EventHandle event);
  [[nodiscard]] Status wait_until(Timeline::Time time);

  // --- Multicast (machine_multicast.cpp) ---
  [[nodiscard]] Status check_multicast(const MulticastProperties& properties) const;
  [[nodiscard]] Result<SlabIndex> need_multicast(AllocationHandle handle) const;
  [[nodiscard]] Status bind(SlabIndex multicast_handle, const MulticastBinding& binding);

  std::mutex mutex_;
  const Profile& profile_;
  const SimOptions options_;
  std::array<CallCost, call_count> costs_;
  LimitRules limit_rules_;
  bool is_initialized_ = false;
  std::uint64_t fork_count_;  // of the process, when this machine was made

  Timeline timeline_;
  AddressSpace space_;
  std::vector<DeviceMemory> memories_;  // a device each
  PhysicalStore store_;
  Contexts contexts_;
  std::optional<Error> lost_;  // the process, by a fault: what is answered from then on
  bool has_driver_addresses_ = false;
  std::unordered_map<ContextHandle, ContextResources> resources_;
  Slab<LegacyAllocation> legacy_;
  std::unordered_map<std::uint64_t, SlabIndex> legacy_by_address_;
  std::vector<Heap> pools_;  // a device each
  std::uint64_t next_buffer_id_ = 1;
  std::unordered_map<std::uint64_t, Win32Handle> win32_handles_;
  std::uint64_t next_win32_handle_ = 4;
};

}  // namespace tessera::sim
