// SimDriver: a CUDA driver simulated in this process, on a machine that a Profile describes.
//
// Same calls, same answers: no wall clock and no randomness is read, so a run repeats. Where the
// real driver's behaviour is undefined it answers with an error and says so; it never crashes.
// Any thread may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tessera/driver.h"
#include "tessera/sim/profile.h"

namespace tessera::sim {

struct SimOptions {
  std::int32_t devices = 1;
  // Whether memory has bytes. Off: copies and fills check access and move nothing, reads give
  // zeros, and a device of any size costs no memory.
  bool bytes = true;
};

// What the simulator's books say now.
struct Books {
  std::size_t reservations = 0;
  Bytes reserved;
  std::size_t mappings = 0;
  std::size_t accessible_mappings = 0;
  std::size_t allocations = 0;  // of physical memory, by mem_create or import, alive
  std::size_t handles = 0;      // of those, with a live handle
  std::size_t legacy_allocations = 0;
  std::size_t contexts = 0;
  std::vector<MemoryInfo> devices;

  friend bool operator==(const Books&, const Books&) = default;
};

// Why such a machine cannot be simulated, in words; empty when it can.
[[nodiscard]] std::string check_machine(const Profile& profile, const SimOptions& options);

class Machine;  // the simulated machine; private

class SimDriver final : public Driver {
 public:
  // The machine can be simulated (check_machine): checked.
  explicit SimDriver(const Profile& profile, const SimOptions& options = {});
  ~SimDriver() override;

  // Ends the machine and begins another like it, on which nothing has happened yet. No thread is in
  // a call. Quicker than another SimDriver.
  void restart();

  // --- What only a simulator can tell ---

  [[nodiscard]] Books books() const;
  // The same into `books`, whose memory is used again: for comparisons after each call.
  void read_books(Books& books) const;
  // What is wrong in the simulator's own state, in words; empty when all is well.
  [[nodiscard]] std::string check_invariants() const;
  // The virtual time.
  [[nodiscard]] std::uint64_t now_ns() const;
  // Lets virtual time pass, as if the host computed for so long; work in flight goes on.
  void advance(std::uint64_t nanoseconds);
  // A byte as the CPU sees it at that address: memory on the host that the host has access to.
  // ERRORS: illegal_address where a real program would crash.
  Result<std::byte> host_read(DeviceAddress address);
  Status host_write(DeviceAddress address, std::byte value);
  // What CloseHandle does to an exported Windows handle, which is simulated (CUDA has no call).
  Status close_win32_handle(std::uint64_t handle);

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
  std::unique_ptr<const Profile> profile_;
  SimOptions options_;
  std::unique_ptr<Machine> machine_;
};

}  // namespace tessera::sim
