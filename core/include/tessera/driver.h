// Driver: the seam between programs and a CUDA driver. One method a driver call, named from it by
// rule: drop `cu`, snake_case (cuMemAddressReserve -> mem_address_reserve). Implementations are
// sim::SimDriver and cuda::CudaDriver; layers derive from DriverWrapper, below.
//
// The comment of a method states: what it does; VALID, what a correct program keeps to (a clause
// is a rule of the validation layer); OK, what holds afterwards; ERRORS, the codes and when.
// What holds for every method, and is not repeated there:
//   - Breaking VALID is not undefined here: the simulator answers with an error. A real driver
//     may accept it silently or crash; docs/fidelity.md says where.
//   - After an error nothing has changed, unless the method says otherwise.
//   - Any thread may call any method at any time. Only "current context" belongs to a thread.
//   - ERRORS of all methods but init, driver_get_version: not_initialized before init, and in a
//     forked child. ERRORS of all methods that need a current context: invalid_context without
//     one; illegal_address once a fault has lost the process's contexts: all, on every device, for
//     good, whatever is destroyed or reset; nor can new ones be made [h200].
//   - Rules are from the CUDA Driver API's documentation, or, marked [h200], from recordings of
//     an H200 with driver 580.159.04.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tessera/check.h"
#include "tessera/requests.h"
#include "tessera/result.h"

namespace tessera {

class Driver {
 public:
  Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  virtual ~Driver();

  // --- System -----------------------------------------------------------------------------

  // Starts the driver in this process; again is harmless. VALID: flags is 0.
  // ERRORS: invalid_value (flags); no_device; not_initialized in a forked child [h200].
  virtual Status init(std::uint32_t flags) = 0;
  // The CUDA version the driver supports: 1000 * major + 10 * minor. Works before init.
  virtual Result<std::int32_t> driver_get_version() = 0;
  virtual Result<std::int32_t> device_get_count() = 0;
  // The four below. VALID: the device exists. ERRORS: invalid_device.
  virtual Result<std::string> device_get_name(DeviceOrdinal device) = 0;
  virtual Result<Bytes> device_total_mem(DeviceOrdinal device) = 0;
  // The value of CUdevice_attribute number `attribute`. ERRORS also: invalid_value (no such one).
  virtual Result<std::int32_t> device_get_attribute(const DeviceAttributeRequest& request) = 0;
  // Whether `device` can map the memory of `peer`; a device is not its own peer.
  virtual Result<bool> device_can_access_peer(const PeerQuery& query) = 0;

  // --- Contexts: the virtual memory calls need none; most others do, as their headings say ------

  // Takes a reference to the device's primary context, made by the first; does not make it current.
  // ERRORS: invalid_device, out_of_memory (the context's own share of the device's memory).
  virtual Result<ContextHandle> device_primary_ctx_retain(DeviceOrdinal device) = 0;
  // Gives one reference back; the last destroys the context and all it allocated, though not what
  // mem_create made. ERRORS: invalid_device; invalid_context (none retained).
  virtual Status device_primary_ctx_release(DeviceOrdinal device) = 0;
  // Destroys the context's resources whatever its references; its mappings and mem_create memory
  // stay [h200]. It can be retained again. ERRORS: invalid_device.
  virtual Status device_primary_ctx_reset(DeviceOrdinal device) = 0;
  // Makes a context and pushes it on this thread's stack: it is current.
  // ERRORS: invalid_device, invalid_value (flags), out_of_memory.
  virtual Result<ContextHandle> ctx_create(const ContextCreateRequest& request) = 0;
  // Destroys a context that ctx_create made; popped if it is current here.
  // ERRORS: context_is_destroyed (twice); invalid_context (a primary one); invalid_value (null)
  // [h200].
  virtual Status ctx_destroy(ContextHandle context) = 0;
  // Replaces the top of this thread's stack; null pops it. A destroyed context is taken [h200]: the
  // calls that need one say context_is_destroyed then. ERRORS: invalid_context (never was one).
  virtual Status ctx_set_current(ContextHandle context) = 0;
  // The current context; null if there is none.
  virtual Result<ContextHandle> ctx_get_current() = 0;
  // Waits for all work of the current context. ERRORS: illegal_address if any of it faulted; the
  // context is lost then.
  virtual Status ctx_synchronize() = 0;
  // Lets the current context use what mem_alloc gave `peer`. Grants nothing on mem_map's mappings:
  // those take mem_set_access. VALID: another device's live context. ERRORS: invalid_context,
  // peer_access_unsupported (not a peer, or the same device [h200]), peer_access_already_enabled,
  // invalid_value.
  virtual Status ctx_enable_peer_access(const PeerAccessRequest& request) = 0;
  // Sets or reads a limit of the current context. What is set is raised to the least there is and
  // rounded up (the stack to 16 bytes, unless that is what it has: then it is kept as given); more
  // than there is becomes the most, but for the stack and the L2 cache's limits, where it is
  // refused [h200]. ERRORS: unsupported_limit; not_permitted (it can only be read); invalid_value
  // (more than there is; no such limit [h200]); out_of_memory.
  virtual Status ctx_set_limit(const SetLimitRequest& request) = 0;
  virtual Result<Bytes> ctx_get_limit(ContextLimit limit) = 0;

  // --- Address space ------------------------------------------------------------------------

  // What sizes of mem_create and places of mem_map must be multiples of.
  // ERRORS: invalid_value (option or null pointers; other properties are not looked at [h200]).
  virtual Result<Bytes> mem_get_allocation_granularity(const GranularityRequest& request) = 0;
  // Reserves addresses; takes no memory. VALID: size > 0 and a multiple of the granularity;
  // alignment 0 or a power of two; hint null or a multiple of the granularity and alignment; flags
  // 0. OK: the range [result, result + size) overlaps no other reservation. The hint is a wish:
  // look at the result. ERRORS: invalid_value; out_of_memory: of addresses, not of memory.
  virtual Result<DeviceAddress> mem_address_reserve(const ReserveRequest& request) = 0;
  // Gives a reservation back. VALID: base and size of one reservation, with nothing mapped in it.
  // ERRORS: invalid_value.
  virtual Status mem_address_free(const AddressFreeRequest& request) = 0;

  // --- Physical memory ----------------------------------------------------------------------

  // Makes memory, mapped nowhere, and one reference to it. VALID: size > 0 and a multiple of the
  // granularity; type pinned; a location and export types that the device supports; flags 0.
  // ERRORS: invalid_value (of a tile pool, also where memory is short [h200]); invalid_device;
  // not_supported; not_permitted (fabric without IMEX channel [h200]); out_of_memory.
  virtual Result<AllocationHandle> mem_create(const CreateRequest& request) = 0;
  // Gives one reference back. The memory lives on while another reference, a mapping, a binding, an
  // imported handle or an open descriptor holds it. VALID: a live handle.
  // ERRORS: invalid_value.
  virtual Status mem_release(AllocationHandle handle) = 0;
  // ERRORS: invalid_value. Imported handles report no handle types [h200].
  virtual Result<AllocationProperties> mem_get_allocation_properties_from_handle(
      const PropertiesRequest& request) = 0;
  // The handle of the memory mapped at `address` (anywhere inside), and one more reference to it,
  // to be released. VALID: mapped there by mem_map. ERRORS: invalid_value.
  virtual Result<AllocationHandle> mem_retain_allocation_handle(DeviceAddress address) = 0;
  // Something that another process can import. A descriptor belongs to the caller, who closes it;
  // it keeps the memory alive while open. VALID: a type that mem_create was asked for; flags 0.
  // ERRORS: invalid_value; not_supported; operating_system (no descriptor left).
  virtual Result<ShareableHandle> mem_export_to_shareable_handle(const ExportRequest& request) = 0;
  // A new handle, with one reference, to exported memory. The descriptor stays the caller's and
  // may be closed at once. It cannot be exported again [h200].
  // ERRORS: unknown (999: no descriptor of such memory [h200]); invalid_value; not_supported.
  virtual Result<AllocationHandle> mem_import_from_shareable_handle(
      const ShareableHandle& handle) = 0;

  // --- Mappings -----------------------------------------------------------------------------

  // Maps all of a handle's memory into reserved addresses; nobody has access yet. VALID: address
  // and size multiples of the granularity; the range inside one reservation, with nothing mapped
  // there; size is the handle's, offset 0; flags 0. ERRORS: invalid_value; not_supported (size or
  // offset [h200]); out_of_memory; unknown (rdma_registration.h [h200]).
  virtual Status mem_map(const MapRequest& request) = 0;
  // Takes mappings away and their access with them. Waits for no work [h200]. VALID: exactly whole
  // mappings; no work uses them. ERRORS: invalid_value.
  virtual Status mem_unmap(const UnmapRequest& request) = 0;
  // Sets what each location named may do with the mappings in the range; others keep what they had.
  // VALID: starts where a mapping starts, ends where one ends, no hole between; flags none, read or
  // read_write; locations that can reach the memory. ERRORS: invalid_value, invalid_device,
  // not_supported; out_of_memory (page tables); unknown (rdma_registration.h [h200]).
  virtual Status mem_set_access(const SetAccessRequest& request) = 0;
  // What a location may do at an address. VALID: mapped there.
  // ERRORS: invalid_value, invalid_device.
  virtual Result<AccessFlags> mem_get_access(const GetAccessRequest& request) = 0;

  // --- Other allocation: all but mem_free, mem_free_host and the two in the order of a stream that
  // stream_create made need a current context [h200] -------------------------------------------

  // Memory with an address and access, from the current context's device. VALID: size > 0.
  // ERRORS: invalid_value, out_of_memory.
  virtual Result<DeviceAddress> mem_alloc(Bytes size) = 0;
  // Rows of one pitch, aligned for `element_size`. ERRORS: invalid_value, out_of_memory.
  virtual Result<PitchedAllocation> mem_alloc_pitch(const AllocPitchRequest& request) = 0;
  // Memory that host and devices reach. ERRORS: invalid_value, not_supported, out_of_memory.
  virtual Result<DeviceAddress> mem_alloc_managed(const AllocManagedRequest& request) = 0;
  // Frees what mem_alloc, mem_alloc_pitch, mem_alloc_managed or mem_alloc_async gave; waits for the
  // device's work [h200], but not for memory of mem_alloc_async. VALID: no work uses such memory
  // any more. Null is harmless. ERRORS: invalid_value; context_is_destroyed (the current one is);
  // illegal_address (the contexts are lost).
  virtual Status mem_free(DeviceAddress address) = 0;
  // In the stream's order, from the device's pool; usable in that stream at once. It outlives
  // contexts, the device's primary one too [h200]. VALID: size > 0; size zero gives null [h200].
  // ERRORS: not_supported, out_of_memory.
  virtual Result<DeviceAddress> mem_alloc_async(const AllocAsyncRequest& request) = 0;
  // In the stream's order. VALID: from mem_alloc_async or mem_alloc; no work in other streams uses
  // it any more. ERRORS: invalid_value; not_supported (managed memory [h200]).
  virtual Status mem_free_async(const FreeAsyncRequest& request) = 0;
  // Page-locked host memory that the host reads and writes directly; its address is valid on the
  // devices too. VALID: size > 0; size zero gives null [h200]. ERRORS: invalid_value,
  // out_of_memory.
  virtual Result<std::byte*> mem_host_alloc(const HostAllocRequest& request) = 0;
  // Null is harmless [h200]. ERRORS: as mem_free.
  virtual Status mem_free_host(std::byte* memory) = 0;

  // --- Queries ------------------------------------------------------------------------------

  // Free and total memory of the current context's device; needs a context.
  virtual Result<MemoryInfo> mem_get_info() = 0;
  // The allocation, or the mapping with access, around an address; needs a context [h200]. Of a
  // mapping of host memory the begin is null [h200]. ERRORS: not_found.
  virtual Result<AddressRange> mem_get_address_range(DeviceAddress address) = 0;
  // The attribute's value; addresses and handles as numbers, signed ones sign-extended. Asking for
  // p2p_tokens sets sync_memops of the mapping or the allocation [h200]. access_flags are what the
  // current context's device may do with a mapping: without a context, nothing [h200].
  // ERRORS: invalid_value (nothing known at that address, or not this of it); not_supported;
  // invalid_context (device_pointer without a context [h200]).
  virtual Result<std::uint64_t> pointer_get_attribute(const PointerAttributeRequest& request) = 0;
  // A dma-buf descriptor for a range of device memory; the caller closes it. VALID: host-page
  // aligned, mapped; a current context. ERRORS: invalid_value, not_supported (also of flag 1, a
  // mapping over PCIe [h200]); operating_system (no descriptor left).
  virtual Result<int> mem_get_handle_for_address_range(const RangeHandleRequest& request) = 0;

  // --- Data: the device of the stream's context has the access; ranges may cross mappings -------

  // memset_d8 and memcpy_dtod are done in the default stream's order. memcpy_dtoh waits until it is
  // done. So does memcpy_htod from what mem_host_alloc gave; from other memory it returns when the
  // source may be used again, and the device may still be copying: synchronize before unmapping
  // [doc; h200]. Where a side of a copy begins in memory on the host to which the device has no
  // access, the CPU reads or writes that side, with the host's access; so it does between memory
  // that it reaches like the device, and of a little for an idle stream. The call waits then, but
  // for 2 MiB or less that the CPU reads for a device (tessera/host_copies.h) [h200]. Size zero
  // does nothing. All need a current context. ERRORS: invalid_value (no access, or nothing there
  // [h200]).
  virtual Status memcpy_htod(const MemcpyHtodRequest& request) = 0;
  virtual Status memcpy_dtoh(const MemcpyDtohRequest& request) = 0;
  virtual Status memcpy_dtod(const MemcpyDtodRequest& request) = 0;
  virtual Status memset_d8(const MemsetD8Request& request) = 0;
  // The same in a stream's order; one that stream_create made knows its context, and none need be
  // current [h200]. VALID: the ranges stay mapped and accessible until it is done. ERRORS also:
  // invalid_context (no live stream). What fails later is said at the next synchronize.
  virtual Status memcpy_htod_async(const MemcpyHtodAsyncRequest& request) = 0;
  virtual Status memcpy_dtoh_async(const MemcpyDtohAsyncRequest& request) = 0;
  virtual Status memcpy_dtod_async(const MemcpyDtodAsyncRequest& request) = 0;
  virtual Status memset_d8_async(const MemsetD8AsyncRequest& request) = 0;

  // --- Order: what makes something, or names a default stream, needs a current context; streams
  // and events know their own [h200] ---------------------------------------------------------

  // A stream or event belongs to the context that was current when it was made, and works
  // whichever is current later. ERRORS of all: invalid_context (no live stream),
  // context_is_destroyed (no live event), invalid_handle (a null event; a default stream destroyed;
  // an event recorded in another context's stream) [h200]; invalid_value (flags);
  // illegal_address (the contexts are lost).
  virtual Result<StreamHandle> stream_create(StreamFlags flags) = 0;
  // Returns at once; the work it holds is still done. VALID: one that stream_create made.
  virtual Status stream_destroy(StreamHandle stream) = 0;
  // ERRORS also: illegal_address where its own work has faulted: the contexts are lost then.
  virtual Status stream_synchronize(StreamHandle stream) = 0;
  // Later work of the stream waits for the event's last record. The host does not. ERRORS also:
  // illegal_state (flag 1, an external wait: it belongs into the capture of a graph [h200]).
  virtual Status stream_wait_event(const StreamWaitEventRequest& request) = 0;
  virtual Result<EventHandle> event_create(EventFlags flags) = 0;
  // Marks the end of what the stream holds now.
  virtual Status event_record(const EventRecordRequest& request) = 0;
  // OK: all work before the last record is done. ERRORS also: not_ready.
  virtual Status event_query(EventHandle event) = 0;
  virtual Status event_synchronize(EventHandle event) = 0;
  virtual Status event_destroy(EventHandle event) = 0;
  // Launches a kernel of one thread that waits `duration_ns`, then reads or writes one byte: what
  // a kernel sees. OK: it is in the stream; a missing access faults when it runs: the next
  // synchronize says illegal_address and the context is lost. VALID: a stream of the current
  // context. ERRORS also: invalid_value (touch); invalid_handle (another context's stream [h200]).
  virtual Status launch_touch(const LaunchTouchRequest& request) = 0;

  // --- Multicast: one object over the memory of several devices ------------------------------

  // VALID: device_count >= 1 and at most the devices there are; size a multiple of the granularity.
  // ERRORS: invalid_value, not_supported (a device without the attribute), not_permitted.
  virtual Result<AllocationHandle> multicast_create(const MulticastProperties& properties) = 0;
  // VALID: each device once, before the first binding. ERRORS: invalid_value, invalid_device.
  virtual Status multicast_add_device(const MulticastAddDeviceRequest& request) = 0;
  // Binds memory of one device; the binding keeps it alive. VALID: all devices added; offsets and
  // size multiples of the granularity, inside both; nothing of that device bound there.
  // ERRORS: invalid_value, invalid_device (not added), illegal_state (devices missing).
  virtual Status multicast_bind_mem(const MulticastBindMemRequest& request) = 0;
  virtual Status multicast_bind_addr(const MulticastBindAddrRequest& request) = 0;
  // VALID: offset and size of bindings of that device. ERRORS: invalid_value.
  virtual Status multicast_unbind(const MulticastUnbindRequest& request) = 0;
  virtual Result<Bytes> multicast_get_granularity(const MulticastGranularityRequest& request) = 0;
};

// Forwards everything to another driver, which outlives it. Layers derive and override. Takes a
// pointer (checked not to be null), because a reference to a layer would ask for a copy of it.
class DriverWrapper : public Driver {
 public:
  explicit DriverWrapper(Driver* target) noexcept : target_(*checked(target)) {}
  ~DriverWrapper() override;

  [[nodiscard]] Driver& target() const noexcept { return target_; }

  Status init(std::uint32_t flags) override;
  Result<std::int32_t> driver_get_version() override;
  Result<std::int32_t> device_get_count() override;
  Result<std::string> device_get_name(DeviceOrdinal device) override;
  Result<Bytes> device_total_mem(DeviceOrdinal device) override;
  Result<std::int32_t> device_get_attribute(const DeviceAttributeRequest& request) override;
  Result<bool> device_can_access_peer(const PeerQuery& query) override;
  Result<ContextHandle> device_primary_ctx_retain(DeviceOrdinal device) override;
  Status device_primary_ctx_release(DeviceOrdinal device) override;
  Status device_primary_ctx_reset(DeviceOrdinal device) override;
  Result<ContextHandle> ctx_create(const ContextCreateRequest& request) override;
  Status ctx_destroy(ContextHandle context) override;
  Status ctx_set_current(ContextHandle context) override;
  Result<ContextHandle> ctx_get_current() override;
  Status ctx_synchronize() override;
  Status ctx_enable_peer_access(const PeerAccessRequest& request) override;
  Status ctx_set_limit(const SetLimitRequest& request) override;
  Result<Bytes> ctx_get_limit(ContextLimit limit) override;
  Result<Bytes> mem_get_allocation_granularity(const GranularityRequest& request) override;
  Result<DeviceAddress> mem_address_reserve(const ReserveRequest& request) override;
  Status mem_address_free(const AddressFreeRequest& request) override;
  Result<AllocationHandle> mem_create(const CreateRequest& request) override;
  Status mem_release(AllocationHandle handle) override;
  Result<AllocationProperties> mem_get_allocation_properties_from_handle(
      const PropertiesRequest& request) override;
  Result<AllocationHandle> mem_retain_allocation_handle(DeviceAddress address) override;
  Result<ShareableHandle> mem_export_to_shareable_handle(const ExportRequest& request) override;
  Result<AllocationHandle> mem_import_from_shareable_handle(const ShareableHandle& handle) override;
  Status mem_map(const MapRequest& request) override;
  Status mem_unmap(const UnmapRequest& request) override;
  Status mem_set_access(const SetAccessRequest& request) override;
  Result<AccessFlags> mem_get_access(const GetAccessRequest& request) override;
  Result<DeviceAddress> mem_alloc(Bytes size) override;
  Result<PitchedAllocation> mem_alloc_pitch(const AllocPitchRequest& request) override;
  Result<DeviceAddress> mem_alloc_managed(const AllocManagedRequest& request) override;
  Status mem_free(DeviceAddress address) override;
  Result<DeviceAddress> mem_alloc_async(const AllocAsyncRequest& request) override;
  Status mem_free_async(const FreeAsyncRequest& request) override;
  Result<std::byte*> mem_host_alloc(const HostAllocRequest& request) override;
  Status mem_free_host(std::byte* memory) override;
  Result<MemoryInfo> mem_get_info() override;
  Result<AddressRange> mem_get_address_range(DeviceAddress address) override;
  Result<std::uint64_t> pointer_get_attribute(const PointerAttributeRequest& request) override;
  Result<int> mem_get_handle_for_address_range(const RangeHandleRequest& request) override;
  Status memcpy_htod(const MemcpyHtodRequest& request) override;
  Status memcpy_dtoh(const MemcpyDtohRequest& request) override;
  Status memcpy_dtod(const MemcpyDtodRequest& request) override;
  Status memset_d8(const MemsetD8Request& request) override;
  Status memcpy_htod_async(const MemcpyHtodAsyncRequest& request) override;
  Status memcpy_dtoh_async(const MemcpyDtohAsyncRequest& request) override;
  Status memcpy_dtod_async(const MemcpyDtodAsyncRequest& request) override;
  Status memset_d8_async(const MemsetD8AsyncRequest& request) override;
  Result<StreamHandle> stream_create(StreamFlags flags) override;
  Status stream_destroy(StreamHandle stream) override;
  Status stream_synchronize(StreamHandle stream) override;
  Status stream_wait_event(const StreamWaitEventRequest& request) override;
  Result<EventHandle> event_create(EventFlags flags) override;
  Status event_record(const EventRecordRequest& request) override;
  Status event_query(EventHandle event) override;
  Status event_synchronize(EventHandle event) override;
  Status event_destroy(EventHandle event) override;
  Status launch_touch(const LaunchTouchRequest& request) override;
  Result<AllocationHandle> multicast_create(const MulticastProperties& properties) override;
  Status multicast_add_device(const MulticastAddDeviceRequest& request) override;
  Status multicast_bind_mem(const MulticastBindMemRequest& request) override;
  Status multicast_bind_addr(const MulticastBindAddrRequest& request) override;
  Status multicast_unbind(const MulticastUnbindRequest& request) override;
  Result<Bytes> multicast_get_granularity(const MulticastGranularityRequest& request) override;

 private:
  static Driver* checked(Driver* target) noexcept {
    TESSERA_CHECK(target != nullptr);
    return target;
  }

  Driver& target_;
};

}  // namespace tessera
