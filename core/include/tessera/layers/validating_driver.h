// ValidatingDriver: the layer that says what a program does wrong, also where the driver accepts it
// silently, crashes, or faults later. Rules are in rules.def and, as a table, in docs/rules.md.
//
//   ValidatingDriver driver(&target, {.on_finding = [](const Finding& finding) {
//     std::cerr << to_string(finding) << '\n';
//   }});
//   program(driver);
//   driver.check_leaks();
//   EXPECT_TRUE(driver.findings().empty());
//
// It knows what went through it: a finding is about that, never about memory, streams or contexts
// that came another way. A correct program has none. Once and when needed it asks the target for
// granularity, devices, peers and a thread's current context; nothing on each call.
//
// Any thread may call it. Calls that don't wait are made one at a time, as the driver makes them
// anyway [h200].
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tessera/driver.h"
#include "tessera/layers/finding.h"
#include "tessera/ledger.h"

namespace tessera {

// What is done with a call that breaks a rule: forward it anyway; or answer with an error of origin
// validation and the rule's id and code, and don't make the call. Portability rules, and those that
// only the driver's answer shows, never refuse.
enum class ValidationMode : std::uint8_t { report, refuse };

struct ValidationOptions {
  ValidationMode mode = ValidationMode::report;
  // Told of each finding, on the thread that made the call, after it; may call the driver.
  std::function<void(const Finding&)> on_finding = {};
  bool portability = true;           // whether portability rules are looked at
  std::vector<RuleId> ignored = {};  // rules that are not looked at
  std::size_t findings_max = 1000;   // how many findings() keeps; the sink gets all
};

class ValidatingDriver : public DriverWrapper {
 public:
  // `target` outlives the layer.
  explicit ValidatingDriver(Driver* target, ValidationOptions options = {});
  ~ValidatingDriver() override;

  // The first findings so far; how many there were.
  [[nodiscard]] std::vector<Finding> findings() const;
  [[nodiscard]] std::uint64_t finding_count() const;
  // How many calls were made through the layer.
  [[nodiscard]] std::uint64_t call_count() const;
  // One finding for each thing that is still live.
  LeakReport check_leaks();
  [[nodiscard]] Ledger& ledger() noexcept;
  [[nodiscard]] const Ledger& ledger() const noexcept;

  Status init(std::uint32_t flags) override;
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
  std::unique_ptr<class Validator> validator_;
};

}  // namespace tessera
