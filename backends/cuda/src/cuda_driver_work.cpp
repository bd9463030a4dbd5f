// Data, order, multicast.
#include "conversions.h"
#include "parts.h"
#include "tessera/cuda/cuda_driver.h"

namespace tessera::cuda {
namespace {

MulticastObjectProp to_cuda(const MulticastProperties& properties) noexcept {
  return MulticastObjectProp{.device_count = properties.device_count,
                             .size = properties.size.value(),
                             .handle_types = static_cast<std::uint32_t>(properties.handle_types),
                             .flags = properties.flags};
}

}  // namespace

// --- Data ---------------------------------------------------------------------------------------

Status CudaDriver::memcpy_htod(const MemcpyHtodRequest& request) {
  return parts_->entries.memcpy_htod(request.destination.value(), request.source.data(),
                                     request.source.size());
}

Status CudaDriver::memcpy_dtoh(const MemcpyDtohRequest& request) {
  return parts_->entries.memcpy_dtoh(request.destination.data(), request.source.value(),
                                     request.destination.size());
}

Status CudaDriver::memcpy_dtod(const MemcpyDtodRequest& request) {
  return parts_->entries.memcpy_dtod(request.destination.value(), request.source.value(),
                                     request.size.value());
}

Status CudaDriver::memset_d8(const MemsetD8Request& request) {
  return parts_->entries.memset_d8(request.destination.value(), request.value,
                                   request.size.value());
}

Status CudaDriver::memcpy_htod_async(const MemcpyHtodAsyncRequest& request) {
  const MemcpyHtodRequest& copy = request.copy;
  return parts_->entries.memcpy_htod_async(copy.destination.value(), copy.source.data(),
                                           copy.source.size(),
                                           to_pointer<CUstream>(request.stream));
}

Status CudaDriver::memcpy_dtoh_async(const MemcpyDtohAsyncRequest& request) {
  const MemcpyDtohRequest& copy = request.copy;
  return parts_->entries.memcpy_dtoh_async(copy.destination.data(), copy.source.value(),
                                           copy.destination.size(),
                                           to_pointer<CUstream>(request.stream));
}

Status CudaDriver::memcpy_dtod_async(const MemcpyDtodAsyncRequest& request) {
  const MemcpyDtodRequest& copy = request.copy;
  return parts_->entries.memcpy_dtod_async(copy.destination.value(), copy.source.value(),
                                           copy.size.value(), to_pointer<CUstream>(request.stream));
}

Status CudaDriver::memset_d8_async(const MemsetD8AsyncRequest& request) {
  const MemsetD8Request& set = request.set;
  return parts_->entries.memset_d8_async(set.destination.value(), set.value, set.size.value(),
                                         to_pointer<CUstream>(request.stream));
}

// --- Order --------------------------------------------------------------------------------------

Result<StreamHandle> CudaDriver::stream_create(StreamFlags flags) {
  CUstream stream = nullptr;
  TESSERA_TRY(parts_->entries.stream_create(&stream, static_cast<std::uint32_t>(flags)));
  return to_handle<StreamHandle>(stream);
}

Status CudaDriver::stream_destroy(StreamHandle stream) {
  return parts_->entries.stream_destroy(to_pointer<CUstream>(stream));
}

Status CudaDriver::stream_synchronize(StreamHandle stream) {
  return parts_->entries.stream_synchronize(to_pointer<CUstream>(stream));
}

Status CudaDriver::stream_wait_event(const StreamWaitEventRequest& request) {
  return parts_->entries.stream_wait_event(to_pointer<CUstream>(request.stream),
                                           to_pointer<CUevent>(request.event), request.flags);
}

Result<EventHandle> CudaDriver::event_create(EventFlags flags) {
  CUevent event = nullptr;
  TESSERA_TRY(parts_->entries.event_create(&event, static_cast<std::uint32_t>(flags)));
  return to_handle<EventHandle>(event);
}

Status CudaDriver::event_record(const EventRecordRequest& request) {
  return parts_->entries.event_record(to_pointer<CUevent>(request.event),
                                      to_pointer<CUstream>(request.stream));
}

Status CudaDriver::event_query(EventHandle event) {
  return parts_->entries.event_query(to_pointer<CUevent>(event));
}

Status CudaDriver::event_synchronize(EventHandle event) {
  return parts_->entries.event_synchronize(to_pointer<CUevent>(event));
}

Status CudaDriver::event_destroy(EventHandle event) {
  return parts_->entries.event_destroy(to_pointer<CUevent>(event));
}

Status CudaDriver::launch_touch(const LaunchTouchRequest& request) {
  return parts_->touch_kernel.launch(request);
}

// --- Multicast ----------------------------------------------------------------------------------

Result<AllocationHandle> CudaDriver::multicast_create(const MulticastProperties& properties) {
  const MulticastObjectProp cuda_properties = to_cuda(properties);
  CUmemGenericAllocationHandle handle = 0;
  TESSERA_TRY(parts_->entries.multicast_create(&handle, &cuda_properties));
  return AllocationHandle(handle);
}

Status CudaDriver::multicast_add_device(const MulticastAddDeviceRequest& request) {
  return parts_->entries.multicast_add_device(request.multicast.value(),
                                              parts_->device(request.device));
}

Status CudaDriver::multicast_bind_mem(const MulticastBindMemRequest& request) {
  return parts_->entries.multicast_bind_mem(
      request.multicast.value(), request.multicast_offset.value(), request.memory.value(),
      request.memory_offset.value(), request.size.value(), request.flags);
}

Status CudaDriver::multicast_bind_addr(const MulticastBindAddrRequest& request) {
  return parts_->entries.multicast_bind_addr(
      request.multicast.value(), request.multicast_offset.value(), request.address.value(),
      request.size.value(), request.flags);
}

Status CudaDriver::multicast_unbind(const MulticastUnbindRequest& request) {
  return parts_->entries.multicast_unbind(request.multicast.value(), parts_->device(request.device),
                                          request.multicast_offset.value(), request.size.value());
}

Result<Bytes> CudaDriver::multicast_get_granularity(const MulticastGranularityRequest& request) {
  const MulticastObjectProp properties = to_cuda(request.properties);
  std::size_t granularity = 0;
  TESSERA_TRY(parts_->entries.multicast_get_granularity(
      &granularity, &properties, static_cast<std::uint32_t>(request.option)));
  return Bytes(granularity);
}

}  // namespace tessera::cuda
