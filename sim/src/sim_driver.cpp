// One line a call: Machine::call is the mechanism, Machine's methods are the rules.
#include "tessera/sim/sim_driver.h"

#include "machine.h"

namespace tessera::sim {

std::string check_machine(const Profile& profile, const SimOptions& options) {
  if (std::string fault = check_profile(profile); !fault.empty()) {
    return fault;
  }
  const auto peers = static_cast<std::int32_t>(profile.peers.size());
  const std::int32_t most = peers == 0 ? AddressSpace::devices_max : peers;
  if (options.devices < 1 || options.devices > most) {
    return std::to_string(options.devices) + " devices were asked for; profile " + profile.name +
           " can have 1 to " + std::to_string(most) +
           (peers == 0 ? "" : ", the rows of its peers matrix");
  }
  return "";
}

SimDriver::SimDriver(const Profile& profile, const SimOptions& options)
    : profile_(std::make_unique<const Profile>(profile)), options_(options) {
  if (const std::string fault = check_machine(profile, options); !fault.empty()) {
    detail::check_failed(fault.c_str(), __FILE__, __LINE__);
  }
  restart();
}
SimDriver::~SimDriver() = default;

void SimDriver::restart() {
  machine_.reset();
  machine_ = std::make_unique<Machine>(*profile_, options_);
}

Books SimDriver::books() const {
  Books books;
  read_books(books);
  return books;
}
void SimDriver::read_books(Books& books) const { machine_->read_books(books); }
std::string SimDriver::check_invariants() const { return machine_->check_invariants(); }
std::uint64_t SimDriver::now_ns() const { return machine_->now_ns(); }
void SimDriver::advance(std::uint64_t nanoseconds) { machine_->advance(nanoseconds); }
Result<std::byte> SimDriver::host_read(DeviceAddress address) {
  return machine_->host_read(address);
}
Status SimDriver::host_write(DeviceAddress address, std::byte value) {
  return machine_->host_write(address, value);
}
Status SimDriver::close_win32_handle(std::uint64_t handle) {
  return machine_->close_win32_handle(handle);
}

Status SimDriver::init(std::uint32_t flags) {
  return machine_->call(Call::init, [&] { return machine_->init(flags); });
}

Result<std::int32_t> SimDriver::driver_get_version() {
  return machine_->call(Call::driver_get_version, [&] { return machine_->driver_get_version(); });
}

Result<std::int32_t> SimDriver::device_get_count() {
  return machine_->call(Call::device_get_count, [&] { return machine_->device_get_count(); });
}

Result<std::string> SimDriver::device_get_name(DeviceOrdinal device) {
  return machine_->call(Call::device_get_name, [&] { return machine_->device_get_name(device); });
}

Result<Bytes> SimDriver::device_total_mem(DeviceOrdinal device) {
  return machine_->call(Call::device_total_mem, [&] { return machine_->device_total_mem(device); });
}

Result<std::int32_t> SimDriver::device_get_attribute(const DeviceAttributeRequest& request) {
  return machine_->call(Call::device_get_attribute,
                        [&] { return machine_->device_get_attribute(request); });
}

Result<bool> SimDriver::device_can_access_peer(const PeerQuery& query) {
  return machine_->call(Call::device_can_access_peer,
                        [&] { return machine_->device_can_access_peer(query); });
}

Result<ContextHandle> SimDriver::device_primary_ctx_retain(DeviceOrdinal device) {
  return machine_->call(Call::device_primary_ctx_retain,
                        [&] { return machine_->device_primary_ctx_retain(device); });
}

Status SimDriver::device_primary_ctx_release(DeviceOrdinal device) {
  return machine_->call(Call::device_primary_ctx_release,
                        [&] { return machine_->device_primary_ctx_release(device); });
}

Status SimDriver::device_primary_ctx_reset(DeviceOrdinal device) {
  return machine_->call(Call::device_primary_ctx_reset,
                        [&] { return machine_->device_primary_ctx_reset(device); });
}

Result<ContextHandle> SimDriver::ctx_create(const ContextCreateRequest& request) {
  return machine_->call(Call::ctx_create, [&] { return machine_->ctx_create(request); });
}

Status SimDriver::ctx_destroy(ContextHandle context) {
  return machine_->call(Call::ctx_destroy, [&] { return machine_->ctx_destroy(context); });
}

Status SimDriver::ctx_set_current(ContextHandle context) {
  return machine_->call(Call::ctx_set_current, [&] { return machine_->ctx_set_current(context); });
}

Result<ContextHandle> SimDriver::ctx_get_current() {
  return machine_->call(Call::ctx_get_current, [&] { return machine_->ctx_get_current(); });
}

Status SimDriver::ctx_synchronize() {
  return machine_->call(Call::ctx_synchronize, [&] { return machine_->ctx_synchronize(); });
}

Status SimDriver::ctx_enable_peer_access(const PeerAccessRequest& request) {
  return machine_->call(Call::ctx_enable_peer_access,
                        [&] { return machine_->ctx_enable_peer_access(request); });
}

Status SimDriver::ctx_set_limit(const SetLimitRequest& request) {
  return machine_->call(Call::ctx_set_limit, [&] { return machine_->ctx_set_limit(request); });
}

Result<Bytes> SimDriver::ctx_get_limit(ContextLimit limit) {
  return machine_->call(Call::ctx_get_limit, [&] { return machine_->ctx_get_limit(limit); });
}

Result<Bytes> SimDriver::mem_get_allocation_granularity(const GranularityRequest& request) {
  return machine_->call(Call::mem_get_allocation_granularity,
                        [&] { return machine_->mem_get_allocation_granularity(request); });
}

Result<DeviceAddress> SimDriver::mem_address_reserve(const ReserveRequest& request) {
  return machine_->call(Call::mem_address_reserve,
                        [&] { return machine_->mem_address_reserve(request); });
}

Status SimDriver::mem_address_free(const AddressFreeRequest& request) {
  return machine_->call(Call::mem_address_free,
                        [&] { return machine_->mem_address_free(request); });
}

Result<AllocationHandle> SimDriver::mem_create(const CreateRequest& request) {
  return machine_->call(Call::mem_create, [&] { return machine_->mem_create(request); });
}

Status SimDriver::mem_release(AllocationHandle handle) {
  return machine_->call(Call::mem_release, [&] { return machine_->mem_release(handle); });
}

Result<AllocationProperties> SimDriver::mem_get_allocation_properties_from_handle(
    const PropertiesRequest& request) {
  return machine_->call(Call::mem_get_allocation_properties_from_handle, [&] {
    return machine_->mem_get_allocation_properties_from_handle(request);
  });
}

Result<AllocationHandle> SimDriver::mem_retain_allocation_handle(DeviceAddress address) {
  return machine_->call(Call::mem_retain_allocation_handle,
                        [&] { return machine_->mem_retain_allocation_handle(address); });
}

Result<ShareableHandle> SimDriver::mem_export_to_shareable_handle(const ExportRequest& request) {
  return machine_->call(Call::mem_export_to_shareable_handle,
                        [&] { return machine_->mem_export_to_shareable_handle(request); });
}

Result<AllocationHandle> SimDriver::mem_import_from_shareable_handle(
    const ShareableHandle& handle) {
  return machine_->call(Call::mem_import_from_shareable_handle,
                        [&] { return machine_->mem_import_from_shareable_handle(handle); });
}

Status SimDriver::mem_map(const MapRequest& request) {
  return machine_->call(Call::mem_map, [&] { return machine_->mem_map(request); });
}

Status SimDriver::mem_unmap(const UnmapRequest& request) {
  return machine_->call(Call::mem_unmap, [&] { return machine_->mem_unmap(request); });
}

Status SimDriver::mem_set_access(const SetAccessRequest& request) {
  return machine_->call(Call::mem_set_access, [&] { return machine_->mem_set_access(request); });
}

Result<AccessFlags> SimDriver::mem_get_access(const GetAccessRequest& request) {
  return machine_->call(Call::mem_get_access, [&] { return machine_->mem_get_access(request); });
}

Result<DeviceAddress> SimDriver::mem_alloc(Bytes size) {
  return machine_->call(Call::mem_alloc, [&] { return machine_->mem_alloc(size); });
}

Result<PitchedAllocation> SimDriver::mem_alloc_pitch(const AllocPitchRequest& request) {
  return machine_->call(Call::mem_alloc_pitch, [&] { return machine_->mem_alloc_pitch(request); });
}

Result<DeviceAddress> SimDriver::mem_alloc_managed(const AllocManagedRequest& request) {
  return machine_->call(Call::mem_alloc_managed,
                        [&] { return machine_->mem_alloc_managed(request); });
}

Status SimDriver::mem_free(DeviceAddress address) {
  return machine_->call(Call::mem_free, [&] { return machine_->mem_free(address); });
}

Result<DeviceAddress> SimDriver::mem_alloc_async(const AllocAsyncRequest& request) {
  return machine_->call(Call::mem_alloc_async, [&] { return machine_->mem_alloc_async(request); });
}

Status SimDriver::mem_free_async(const FreeAsyncRequest& request) {
  return machine_->call(Call::mem_free_async, [&] { return machine_->mem_free_async(request); });
}

Result<std::byte*> SimDriver::mem_host_alloc(const HostAllocRequest& request) {
  return machine_->call(Call::mem_host_alloc, [&] { return machine_->mem_host_alloc(request); });
}

Status SimDriver::mem_free_host(std::byte* memory) {
  return machine_->call(Call::mem_free_host, [&] { return machine_->mem_free_host(memory); });
}

Result<MemoryInfo> SimDriver::mem_get_info() {
  return machine_->call(Call::mem_get_info, [&] { return machine_->mem_get_info(); });
}

Result<AddressRange> SimDriver::mem_get_address_range(DeviceAddress address) {
  return machine_->call(Call::mem_get_address_range,
                        [&] { return machine_->mem_get_address_range(address); });
}

Result<std::uint64_t> SimDriver::pointer_get_attribute(const PointerAttributeRequest& request) {
  return machine_->call(Call::pointer_get_attribute,
                        [&] { return machine_->pointer_get_attribute(request); });
}

Result<int> SimDriver::mem_get_handle_for_address_range(const RangeHandleRequest& request) {
  return machine_->call(Call::mem_get_handle_for_address_range,
                        [&] { return machine_->mem_get_handle_for_address_range(request); });
}

Status SimDriver::memcpy_htod(const MemcpyHtodRequest& request) {
  return machine_->call(Call::memcpy_htod, [&] { return machine_->memcpy_htod(request); });
}

Status SimDriver::memcpy_dtoh(const MemcpyDtohRequest& request) {
  return machine_->call(Call::memcpy_dtoh, [&] { return machine_->memcpy_dtoh(request); });
}

Status SimDriver::memcpy_dtod(const MemcpyDtodRequest& request) {
  return machine_->call(Call::memcpy_dtod, [&] { return machine_->memcpy_dtod(request); });
}

Status SimDriver::memset_d8(const MemsetD8Request& request) {
  return machine_->call(Call::memset_d8, [&] { return machine_->memset_d8(request); });
}

Status SimDriver::memcpy_htod_async(const MemcpyHtodAsyncRequest& request) {
  return machine_->call(Call::memcpy_htod_async,
                        [&] { return machine_->memcpy_htod_async(request); });
}

Status SimDriver::memcpy_dtoh_async(const MemcpyDtohAsyncRequest& request) {
  return machine_->call(Call::memcpy_dtoh_async,
                        [&] { return machine_->memcpy_dtoh_async(request); });
}

Status SimDriver::memcpy_dtod_async(const MemcpyDtodAsyncRequest& request) {
  return machine_->call(Call::memcpy_dtod_async,
                        [&] { return machine_->memcpy_dtod_async(request); });
}

Status SimDriver::memset_d8_async(const MemsetD8AsyncRequest& request) {
  return machine_->call(Call::memset_d8_async, [&] { return machine_->memset_d8_async(request); });
}

Result<StreamHandle> SimDriver::stream_create(StreamFlags flags) {
  return machine_->call(Call::stream_create, [&] { return machine_->stream_create(flags); });
}

Status SimDriver::stream_destroy(StreamHandle stream) {
  return machine_->call(Call::stream_destroy, [&] { return machine_->stream_destroy(stream); });
}

Status SimDriver::stream_synchronize(StreamHandle stream) {
  return machine_->call(Call::stream_synchronize,
                        [&] { return machine_->stream_synchronize(stream); });
}

Status SimDriver::stream_wait_event(const StreamWaitEventRequest& request) {
  return machine_->call(Call::stream_wait_event,
                        [&] { return machine_->stream_wait_event(request); });
}

Result<EventHandle> SimDriver::event_create(EventFlags flags) {
  return machine_->call(Call::event_create, [&] { return machine_->event_create(flags); });
}

Status SimDriver::event_record(const EventRecordRequest& request) {
  return machine_->call(Call::event_record, [&] { return machine_->event_record(request); });
}

Status SimDriver::event_query(EventHandle event) {
  return machine_->call(Call::event_query, [&] { return machine_->event_query(event); });
}

Status SimDriver::event_synchronize(EventHandle event) {
  return machine_->call(Call::event_synchronize,
                        [&] { return machine_->event_synchronize(event); });
}

Status SimDriver::event_destroy(EventHandle event) {
  return machine_->call(Call::event_destroy, [&] { return machine_->event_destroy(event); });
}

Status SimDriver::launch_touch(const LaunchTouchRequest& request) {
  return machine_->call(Call::launch_touch, [&] { return machine_->launch_touch(request); });
}

Result<AllocationHandle> SimDriver::multicast_create(const MulticastProperties& properties) {
  return machine_->call(Call::multicast_create,
                        [&] { return machine_->multicast_create(properties); });
}

Status SimDriver::multicast_add_device(const MulticastAddDeviceRequest& request) {
  return machine_->call(Call::multicast_add_device,
                        [&] { return machine_->multicast_add_device(request); });
}

Status SimDriver::multicast_bind_mem(const MulticastBindMemRequest& request) {
  return machine_->call(Call::multicast_bind_mem,
                        [&] { return machine_->multicast_bind_mem(request); });
}

Status SimDriver::multicast_bind_addr(const MulticastBindAddrRequest& request) {
  return machine_->call(Call::multicast_bind_addr,
                        [&] { return machine_->multicast_bind_addr(request); });
}

Status SimDriver::multicast_unbind(const MulticastUnbindRequest& request) {
  return machine_->call(Call::multicast_unbind,
                        [&] { return machine_->multicast_unbind(request); });
}

Result<Bytes> SimDriver::multicast_get_granularity(const MulticastGranularityRequest& request) {
  return machine_->call(Call::multicast_get_granularity,
                        [&] { return machine_->multicast_get_granularity(request); });
}

}  // namespace tessera::sim
