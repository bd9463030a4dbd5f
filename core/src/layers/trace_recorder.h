// TraceRecorder: turns calls and their answers into the calls of a scenario. One `record` for each
// kind of call, found by its tag and overload; what has none becomes a comment.
// Not for several threads at once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "layers/request_text.h"
#include "layers/trace_names.h"
#include "tessera/layers/tracing_driver.h"

namespace tessera {

class TraceRecorder {
 public:
  template <Call call>
  using Tag = std::integral_constant<Call, call>;

  explicit TraceRecorder(TraceOptions options);

  void descriptor_closed(int descriptor);
  [[nodiscard]] scenario::Scenario trace() const;

  // Calls without an operation.
  template <Call call, class Request, class Value>
  void record(Tag<call> /*tag*/, const Request& request, const Result<Value>& result) {
    comment(call, describe(request), result ? nullptr : &result.error());
    // Data may have moved that the trace knows nothing of.
    contents_known_ = contents_known_ && !moves_data(call);
  }

  // trace_memory.cpp: address space, physical memory, mappings, access, sharing.
  void record(Tag<Call::mem_get_allocation_granularity>, const GranularityRequest& request,
              const Result<Bytes>& result);
  void record(Tag<Call::mem_address_reserve>, const ReserveRequest& request,
              const Result<DeviceAddress>& result);
  void record(Tag<Call::mem_address_free>, const AddressFreeRequest& request, const Status& status);
  void record(Tag<Call::mem_create>, const CreateRequest& request,
              const Result<AllocationHandle>& result);
  void record(Tag<Call::mem_release>, const AllocationHandle& handle, const Status& status);
  void record(Tag<Call::mem_get_allocation_properties_from_handle>,
              const PropertiesRequest& request, const Result<AllocationProperties>& result);
  void record(Tag<Call::mem_retain_allocation_handle>, const DeviceAddress& address,
              const Result<AllocationHandle>& result);
  void record(Tag<Call::mem_export_to_shareable_handle>, const ExportRequest& request,
              const Result<ShareableHandle>& result);
  void record(Tag<Call::mem_import_from_shareable_handle>, const ShareableHandle& request,
              const Result<AllocationHandle>& result);
  void record(Tag<Call::mem_map>, const MapRequest& request, const Status& status);
  void record(Tag<Call::mem_unmap>, const UnmapRequest& request, const Status& status);
  void record(Tag<Call::mem_set_access>, const SetAccessRequest& request, const Status& status);
  void record(Tag<Call::mem_get_access>, const GetAccessRequest& request,
              const Result<AccessFlags>& result);

  // trace_order.cpp: streams, events, what is done in their order; pitched memory, limits,
  // multicast.
  void record(Tag<Call::stream_create>, const StreamFlags& flags,
              const Result<StreamHandle>& result);
  void record(Tag<Call::stream_destroy>, const StreamHandle& stream, const Status& status);
  void record(Tag<Call::stream_synchronize>, const StreamHandle& stream, const Status& status);
  void record(Tag<Call::stream_wait_event>, const StreamWaitEventRequest& request,
              const Status& status);
  void record(Tag<Call::event_create>, const EventFlags& flags, const Result<EventHandle>& result);
  void record(Tag<Call::event_record>, const EventRecordRequest& request, const Status& status);
  void record(Tag<Call::event_query>, const EventHandle& event, const Status& status);
  void record(Tag<Call::event_synchronize>, const EventHandle& event, const Status& status);
  void record(Tag<Call::event_destroy>, const EventHandle& event, const Status& status);
  void record(Tag<Call::memset_d8_async>, const MemsetD8AsyncRequest& request,
              const Status& status);
  void record(Tag<Call::memcpy_dtod_async>, const MemcpyDtodAsyncRequest& request,
              const Status& status);
  void record(Tag<Call::mem_alloc_async>, const AllocAsyncRequest& request,
              const Result<DeviceAddress>& result);
  void record(Tag<Call::mem_free_async>, const FreeAsyncRequest& request, const Status& status);
  void record(Tag<Call::mem_alloc_pitch>, const AllocPitchRequest& request,
              const Result<PitchedAllocation>& result);
  void record(Tag<Call::ctx_set_limit>, const SetLimitRequest& request, const Status& status);
  void record(Tag<Call::ctx_get_limit>, const ContextLimit& limit, const Result<Bytes>& result);
  void record(Tag<Call::multicast_create>, const MulticastProperties& properties,
              const Result<AllocationHandle>& result);
  void record(Tag<Call::multicast_add_device>, const MulticastAddDeviceRequest& request,
              const Status& status);
  void record(Tag<Call::multicast_bind_mem>, const MulticastBindMemRequest& request,
              const Status& status);
  void record(Tag<Call::multicast_unbind>, const MulticastUnbindRequest& request,
              const Status& status);

  // trace_data.cpp: other allocation, queries of memory, copies, kernels.
  void record(Tag<Call::mem_alloc>, const Bytes& size, const Result<DeviceAddress>& result);
  void record(Tag<Call::mem_alloc_managed>, const AllocManagedRequest& request,
              const Result<DeviceAddress>& result);
  void record(Tag<Call::mem_host_alloc>, const HostAllocRequest& request,
              const Result<std::byte*>& result);
  void record(Tag<Call::mem_free>, const DeviceAddress& address, const Status& status);
  void record(Tag<Call::mem_free_host>, std::byte* const& memory, const Status& status);
  void record(Tag<Call::mem_get_info>, const NoRequest& request, const Result<MemoryInfo>& result);
  void record(Tag<Call::mem_get_address_range>, const DeviceAddress& address,
              const Result<AddressRange>& result);
  void record(Tag<Call::pointer_get_attribute>, const PointerAttributeRequest& request,
              const Result<std::uint64_t>& result);
  void record(Tag<Call::mem_get_handle_for_address_range>, const RangeHandleRequest& request,
              const Result<int>& result);
  void record(Tag<Call::memcpy_htod>, const MemcpyHtodRequest& request, const Status& status);
  void record(Tag<Call::memcpy_dtoh>, const MemcpyDtohRequest& request, const Status& status);
  void record(Tag<Call::memcpy_dtod>, const MemcpyDtodRequest& request, const Status& status);
  void record(Tag<Call::memset_d8>, const MemsetD8Request& request, const Status& status);
  void record(Tag<Call::launch_touch>, const LaunchTouchRequest& request, const Status& status);

  // trace_contexts.cpp: the system, contexts, peers.
  void record(Tag<Call::init>, const std::uint32_t& flags, const Status& status);
  void record(Tag<Call::driver_get_version>, const NoRequest& request,
              const Result<std::int32_t>& result);
  void record(Tag<Call::device_get_count>, const NoRequest& request,
              const Result<std::int32_t>& result);
  void record(Tag<Call::device_get_name>, const DeviceOrdinal& device,
              const Result<std::string>& result);
  void record(Tag<Call::device_total_mem>, const DeviceOrdinal& device,
              const Result<Bytes>& result);
  void record(Tag<Call::device_get_attribute>, const DeviceAttributeRequest& request,
              const Result<std::int32_t>& result);
  void record(Tag<Call::device_can_access_peer>, const PeerQuery& query,
              const Result<bool>& result);
  void record(Tag<Call::device_primary_ctx_retain>, const DeviceOrdinal& device,
              const Result<ContextHandle>& result);
  void record(Tag<Call::device_primary_ctx_release>, const DeviceOrdinal& device,
              const Status& status);
  void record(Tag<Call::device_primary_ctx_reset>, const DeviceOrdinal& device,
              const Status& status);
  void record(Tag<Call::ctx_create>, const ContextCreateRequest& request,
              const Result<ContextHandle>& result);
  void record(Tag<Call::ctx_destroy>, const ContextHandle& context, const Status& status);
  void record(Tag<Call::ctx_set_current>, const ContextHandle& context, const Status& status);
  void record(Tag<Call::ctx_synchronize>, const NoRequest& request, const Status& status);
  void record(Tag<Call::ctx_enable_peer_access>, const PeerAccessRequest& request,
              const Status& status);

 private:
  // What the last operation is, where the next call can change it.
  enum class Last : std::uint8_t {
    other,
    synchronizing,  // the operation waits, as a ctx_synchronize after the call would
    restoring,      // sets what was current before a `ctx.retain`
  };

  void add(scenario::Operation operation, std::optional<scenario::Answer> answer);
  void comment(Call call, const std::string& request, const Error* error);
  void note(const std::string& words);
  static bool moves_data(Call call) noexcept;
  // Nothing for the default stream, where an operation may leave it out.
  [[nodiscard]] scenario::Operand unless_default(StreamHandle stream) const;
  [[nodiscard]] scenario::Operand offset_of(Bytes offset) const;
  scenario::Case& current_case() { return trace_.cases.back(); }
  // Memory that others than these calls may write: what it holds is not compared from now on.
  void written_by_others() { contents_known_ = false; }

  TraceOptions options_;
  scenario::Scenario trace_;
  std::vector<std::string> lines_before_next_;
  TraceNames names_;
  Last last_ = Last::other;
  ContextHandle last_retained_;
  std::vector<ContextHandle> context_stack_;
  bool contents_known_ = true;
};

}  // namespace tessera
