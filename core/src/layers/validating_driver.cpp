#include "tessera/layers/validating_driver.h"

#include <utility>

#include "validation/validator.h"

namespace tessera {

ValidatingDriver::ValidatingDriver(Driver* target, ValidationOptions options)
    : DriverWrapper(target),
      validator_(std::make_unique<Validator>(DriverWrapper::target(), std::move(options))) {}
ValidatingDriver::~ValidatingDriver() = default;

std::vector<Finding> ValidatingDriver::findings() const { return validator_->findings(); }
std::uint64_t ValidatingDriver::finding_count() const { return validator_->finding_count(); }
std::uint64_t ValidatingDriver::call_count() const { return validator_->call_count(); }
LeakReport ValidatingDriver::check_leaks() { return validator_->check_leaks(); }
Ledger& ValidatingDriver::ledger() noexcept { return validator_->ledger(); }
const Ledger& ValidatingDriver::ledger() const noexcept { return validator_->ledger(); }

#define TESSERA_VALIDATE(Answer, method, Argument)    \
  Answer ValidatingDriver::method(Argument request) { \
    return validator_->run<Call::method>(request);    \
  }
#define TESSERA_VALIDATE_PLAIN(Answer, method) \
  Answer ValidatingDriver::method() { return validator_->run<Call::method>({}); }

TESSERA_VALIDATE(Status, init, std::uint32_t)
TESSERA_VALIDATE_PLAIN(Result<std::int32_t>, device_get_count)
TESSERA_VALIDATE(Result<std::string>, device_get_name, DeviceOrdinal)
TESSERA_VALIDATE(Result<Bytes>, device_total_mem, DeviceOrdinal)
TESSERA_VALIDATE(Result<std::int32_t>, device_get_attribute, const DeviceAttributeRequest&)
TESSERA_VALIDATE(Result<bool>, device_can_access_peer, const PeerQuery&)
TESSERA_VALIDATE(Result<ContextHandle>, device_primary_ctx_retain, DeviceOrdinal)
TESSERA_VALIDATE(Status, device_primary_ctx_release, DeviceOrdinal)
TESSERA_VALIDATE(Status, device_primary_ctx_reset, DeviceOrdinal)
TESSERA_VALIDATE(Result<ContextHandle>, ctx_create, const ContextCreateRequest&)
TESSERA_VALIDATE(Status, ctx_destroy, ContextHandle)
TESSERA_VALIDATE(Status, ctx_set_current, ContextHandle)
TESSERA_VALIDATE_PLAIN(Result<ContextHandle>, ctx_get_current)
TESSERA_VALIDATE_PLAIN(Status, ctx_synchronize)
TESSERA_VALIDATE(Status, ctx_enable_peer_access, const PeerAccessRequest&)
TESSERA_VALIDATE(Status, ctx_set_limit, const SetLimitRequest&)
TESSERA_VALIDATE(Result<Bytes>, ctx_get_limit, ContextLimit)
TESSERA_VALIDATE(Result<Bytes>, mem_get_allocation_granularity, const GranularityRequest&)
TESSERA_VALIDATE(Result<DeviceAddress>, mem_address_reserve, const ReserveRequest&)
TESSERA_VALIDATE(Status, mem_address_free, const AddressFreeRequest&)
TESSERA_VALIDATE(Result<AllocationHandle>, mem_create, const CreateRequest&)
TESSERA_VALIDATE(Status, mem_release, AllocationHandle)
TESSERA_VALIDATE(Result<AllocationProperties>, mem_get_allocation_properties_from_handle,
                 const PropertiesRequest&)
TESSERA_VALIDATE(Result<AllocationHandle>, mem_retain_allocation_handle, DeviceAddress)
TESSERA_VALIDATE(Result<ShareableHandle>, mem_export_to_shareable_handle, const ExportRequest&)
TESSERA_VALIDATE(Result<AllocationHandle>, mem_import_from_shareable_handle, const ShareableHandle&)
TESSERA_VALIDATE(Status, mem_map, const MapRequest&)
TESSERA_VALIDATE(Status, mem_unmap, const UnmapRequest&)
TESSERA_VALIDATE(Status, mem_set_access, const SetAccessRequest&)
TESSERA_VALIDATE(Result<AccessFlags>, mem_get_access, const GetAccessRequest&)
TESSERA_VALIDATE(Result<DeviceAddress>, mem_alloc, Bytes)
TESSERA_VALIDATE(Result<PitchedAllocation>, mem_alloc_pitch, const AllocPitchRequest&)
TESSERA_VALIDATE(Result<DeviceAddress>, mem_alloc_managed, const AllocManagedRequest&)
TESSERA_VALIDATE(Status, mem_free, DeviceAddress)
TESSERA_VALIDATE(Result<DeviceAddress>, mem_alloc_async, const AllocAsyncRequest&)
TESSERA_VALIDATE(Status, mem_free_async, const FreeAsyncRequest&)
TESSERA_VALIDATE(Result<std::byte*>, mem_host_alloc, const HostAllocRequest&)
TESSERA_VALIDATE(Status, mem_free_host, std::byte*)
TESSERA_VALIDATE_PLAIN(Result<MemoryInfo>, mem_get_info)
TESSERA_VALIDATE(Result<AddressRange>, mem_get_address_range, DeviceAddress)
TESSERA_VALIDATE(Result<std::uint64_t>, pointer_get_attribute, const PointerAttributeRequest&)
TESSERA_VALIDATE(Result<int>, mem_get_handle_for_address_range, const RangeHandleRequest&)
TESSERA_VALIDATE(Status, memcpy_htod, const MemcpyHtodRequest&)
TESSERA_VALIDATE(Status, memcpy_dtoh, const MemcpyDtohRequest&)
TESSERA_VALIDATE(Status, memcpy_dtod, const MemcpyDtodRequest&)
TESSERA_VALIDATE(Status, memset_d8, const MemsetD8Request&)
TESSERA_VALIDATE(Status, memcpy_htod_async, const MemcpyHtodAsyncRequest&)
TESSERA_VALIDATE(Status, memcpy_dtoh_async, const MemcpyDtohAsyncRequest&)
TESSERA_VALIDATE(Status, memcpy_dtod_async, const MemcpyDtodAsyncRequest&)
TESSERA_VALIDATE(Status, memset_d8_async, const MemsetD8AsyncRequest&)
TESSERA_VALIDATE(Result<StreamHandle>, stream_create, StreamFlags)
TESSERA_VALIDATE(Status, stream_destroy, StreamHandle)
TESSERA_VALIDATE(Status, stream_synchronize, StreamHandle)
TESSERA_VALIDATE(Status, stream_wait_event, const StreamWaitEventRequest&)
TESSERA_VALIDATE(Result<EventHandle>, event_create, EventFlags)
TESSERA_VALIDATE(Status, event_record, const EventRecordRequest&)
TESSERA_VALIDATE(Status, event_query, EventHandle)
TESSERA_VALIDATE(Status, event_synchronize, EventHandle)
TESSERA_VALIDATE(Status, event_destroy, EventHandle)
TESSERA_VALIDATE(Status, launch_touch, const LaunchTouchRequest&)
TESSERA_VALIDATE(Result<AllocationHandle>, multicast_create, const MulticastProperties&)
TESSERA_VALIDATE(Status, multicast_add_device, const MulticastAddDeviceRequest&)
TESSERA_VALIDATE(Status, multicast_bind_mem, const MulticastBindMemRequest&)
TESSERA_VALIDATE(Status, multicast_bind_addr, const MulticastBindAddrRequest&)
TESSERA_VALIDATE(Status, multicast_unbind, const MulticastUnbindRequest&)
TESSERA_VALIDATE(Result<Bytes>, multicast_get_granularity, const MulticastGranularityRequest&)
#undef TESSERA_VALIDATE
#undef TESSERA_VALIDATE_PLAIN

}  // namespace tessera
