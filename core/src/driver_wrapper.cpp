#include "tessera/driver.h"

namespace tessera {

DriverWrapper::~DriverWrapper() = default;

Status DriverWrapper::init(std::uint32_t flags) { return target_.init(flags); }

Result<std::int32_t> DriverWrapper::driver_get_version() { return target_.driver_get_version(); }

Result<std::int32_t> DriverWrapper::device_get_count() { return target_.device_get_count(); }

Result<std::string> DriverWrapper::device_get_name(DeviceOrdinal device) {
  return target_.device_get_name(device);
}

Result<Bytes> DriverWrapper::device_total_mem(DeviceOrdinal device) {
  return target_.device_total_mem(device);
}

Result<std::int32_t> DriverWrapper::device_get_attribute(const DeviceAttributeRequest& request) {
  return target_.device_get_attribute(request);
}

Result<bool> DriverWrapper::device_can_access_peer(const PeerQuery& query) {
  return target_.device_can_access_peer(query);
}

Result<ContextHandle> DriverWrapper::device_primary_ctx_retain(DeviceOrdinal device) {
  return target_.device_primary_ctx_retain(device);
}

Status DriverWrapper::device_primary_ctx_release(DeviceOrdinal device) {
  return target_.device_primary_ctx_release(device);
}

Status DriverWrapper::device_primary_ctx_reset(DeviceOrdinal device) {
  return target_.device_primary_ctx_reset(device);
}

Result<ContextHandle> DriverWrapper::ctx_create(const ContextCreateRequest& request) {
  return target_.ctx_create(request);
}

Status DriverWrapper::ctx_destroy(ContextHandle context) { return target_.ctx_destroy(context); }

Status DriverWrapper::ctx_set_current(ContextHandle context) {
  return target_.ctx_set_current(context);
}

Result<ContextHandle> DriverWrapper::ctx_get_current() { return target_.ctx_get_current(); }

Status DriverWrapper::ctx_synchronize() { return target_.ctx_synchronize(); }

Status DriverWrapper::ctx_enable_peer_access(const PeerAccessRequest& request) {
  return target_.ctx_enable_peer_access(request);
}

Status DriverWrapper::ctx_set_limit(const SetLimitRequest& request) {
  return target_.ctx_set_limit(request);
}

Result<Bytes> DriverWrapper::ctx_get_limit(ContextLimit limit) {
  return target_.ctx_get_limit(limit);
}

Result<Bytes> DriverWrapper::mem_get_allocation_granularity(const GranularityRequest& request) {
  return target_.mem_get_allocation_granularity(request);
}

Result<DeviceAddress> DriverWrapper::mem_address_reserve(const ReserveRequest& request) {
  return target_.mem_address_reserve(request);
}

Status DriverWrapper::mem_address_free(const AddressFreeRequest& request) {
  return target_.mem_address_free(request);
}

Result<AllocationHandle> DriverWrapper::mem_create(const CreateRequest& request) {
  return target_.mem_create(request);
}

Status DriverWrapper::mem_release(AllocationHandle handle) { return target_.mem_release(handle); }

Result<AllocationProperties> DriverWrapper::mem_get_allocation_properties_from_handle(
    const PropertiesRequest& request) {
  return target_.mem_get_allocation_properties_from_handle(request);
}

Result<AllocationHandle> DriverWrapper::mem_retain_allocation_handle(DeviceAddress address) {
  return target_.mem_retain_allocation_handle(address);
}

Result<ShareableHandle> DriverWrapper::mem_export_to_shareable_handle(
    const ExportRequest& request) {
  return target_.mem_export_to_shareable_handle(request);
}

Result<AllocationHandle> DriverWrapper::mem_import_from_shareable_handle(
    const ShareableHandle& handle) {
  return target_.mem_import_from_shareable_handle(handle);
}

Status DriverWrapper::mem_map(const MapRequest& request) { return target_.mem_map(request); }

Status DriverWrapper::mem_unmap(const UnmapRequest& request) { return target_.mem_unmap(request); }

Status DriverWrapper::mem_set_access(const SetAccessRequest& request) {
  return target_.mem_set_access(request);
}

Result<AccessFlags> DriverWrapper::mem_get_access(const GetAccessRequest& request) {
  return target_.mem_get_access(request);
}

Result<DeviceAddress> DriverWrapper::mem_alloc(Bytes size) { return target_.mem_alloc(size); }

Result<PitchedAllocation> DriverWrapper::mem_alloc_pitch(const AllocPitchRequest& request) {
  return target_.mem_alloc_pitch(request);
}

Result<DeviceAddress> DriverWrapper::mem_alloc_managed(const AllocManagedRequest& request) {
  return target_.mem_alloc_managed(request);
}

Status DriverWrapper::mem_free(DeviceAddress address) { return target_.mem_free(address); }

Result<DeviceAddress> DriverWrapper::mem_alloc_async(const AllocAsyncRequest& request) {
  return target_.mem_alloc_async(request);
}

Status DriverWrapper::mem_free_async(const FreeAsyncRequest& request) {
  return target_.mem_free_async(request);
}

Result<std::byte*> DriverWrapper::mem_host_alloc(const HostAllocRequest& request) {
  return target_.mem_host_alloc(request);
}

Status DriverWrapper::mem_free_host(std::byte* memory) { return target_.mem_free_host(memory); }

Result<MemoryInfo> DriverWrapper::mem_get_info() { return target_.mem_get_info(); }

Result<AddressRange> DriverWrapper::mem_get_address_range(DeviceAddress address) {
  return target_.mem_get_address_range(address);
}

Result<std::uint64_t> DriverWrapper::pointer_get_attribute(const PointerAttributeRequest& request) {
  return target_.pointer_get_attribute(request);
}

Result<int> DriverWrapper::mem_get_handle_for_address_range(const RangeHandleRequest& request) {
  return target_.mem_get_handle_for_address_range(request);
}

Status DriverWrapper::memcpy_htod(const MemcpyHtodRequest& request) {
  return target_.memcpy_htod(request);
}

Status DriverWrapper::memcpy_dtoh(const MemcpyDtohRequest& request) {
  return target_.memcpy_dtoh(request);
}

Status DriverWrapper::memcpy_dtod(const MemcpyDtodRequest& request) {
  return target_.memcpy_dtod(request);
}

Status DriverWrapper::memset_d8(const MemsetD8Request& request) {
  return target_.memset_d8(request);
}

Status DriverWrapper::memcpy_htod_async(const MemcpyHtodAsyncRequest& request) {
  return target_.memcpy_htod_async(request);
}

Status DriverWrapper::memcpy_dtoh_async(const MemcpyDtohAsyncRequest& request) {
  return target_.memcpy_dtoh_async(request);
}

Status DriverWrapper::memcpy_dtod_async(const MemcpyDtodAsyncRequest& request) {
  return target_.memcpy_dtod_async(request);
}

Status DriverWrapper::memset_d8_async(const MemsetD8AsyncRequest& request) {
  return target_.memset_d8_async(request);
}

Result<StreamHandle> DriverWrapper::stream_create(StreamFlags flags) {
  return target_.stream_create(flags);
}

Status DriverWrapper::stream_destroy(StreamHandle stream) { return target_.stream_destroy(stream); }

Status DriverWrapper::stream_synchronize(StreamHandle stream) {
  return target_.stream_synchronize(stream);
}

Status DriverWrapper::stream_wait_event(const StreamWaitEventRequest& request) {
  return target_.stream_wait_event(request);
}

Result<EventHandle> DriverWrapper::event_create(EventFlags flags) {
  return target_.event_create(flags);
}

Status DriverWrapper::event_record(const EventRecordRequest& request) {
  return target_.event_record(request);
}

Status DriverWrapper::event_query(EventHandle event) { return target_.event_query(event); }

Status DriverWrapper::event_synchronize(EventHandle event) {
  return target_.event_synchronize(event);
}

Status DriverWrapper::event_destroy(EventHandle event) { return target_.event_destroy(event); }

Status DriverWrapper::launch_touch(const LaunchTouchRequest& request) {
  return target_.launch_touch(request);
}

Result<AllocationHandle> DriverWrapper::multicast_create(const MulticastProperties& properties) {
  return target_.multicast_create(properties);
}

Status DriverWrapper::multicast_add_device(const MulticastAddDeviceRequest& request) {
  return target_.multicast_add_device(request);
}

Status DriverWrapper::multicast_bind_mem(const MulticastBindMemRequest& request) {
  return target_.multicast_bind_mem(request);
}

Status DriverWrapper::multicast_bind_addr(const MulticastBindAddrRequest& request) {
  return target_.multicast_bind_addr(request);
}

Status DriverWrapper::multicast_unbind(const MulticastUnbindRequest& request) {
  return target_.multicast_unbind(request);
}

Result<Bytes> DriverWrapper::multicast_get_granularity(const MulticastGranularityRequest& request) {
  return target_.multicast_get_granularity(request);
}

}  // namespace tessera
