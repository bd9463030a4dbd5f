#include "tessera/layers/ledger_driver.h"

#include "layers/records.h"

namespace tessera {

using layers::CallTag;
using layers::CallTraits;

LedgerDriver::~LedgerDriver() = default;

template <Call call, class Argument>
auto LedgerDriver::keep(const Argument& argument) {
  const CallSite site = announced_call_site();
  Ledger::Locked objects = ledger_.lock();
  const MadeBy made = {.call_number = ++calls_, .call = call, .site = site};
  if constexpr (call == Call::mem_free || call == Call::mem_free_host) {
    DeviceAddress address;
    if constexpr (call == Call::mem_free) {
      address = argument;
    } else {
      address = DeviceAddress(reinterpret_cast<std::uintptr_t>(argument));
    }
    const auto taken = layers::take_out(call, *objects, made, address);
    objects.unlock();
    const auto answer = CallTraits<call>::forward(target(), argument);
    objects.lock();
    if (!answer && taken) {
      objects->add_allocation(*taken);
    }
    return answer;
  } else {
    auto answer = CallTraits<call>::forward(target(), argument);
    layers::record(CallTag<call>(), *objects, made, argument, answer);
    return answer;
  }
}

#define TESSERA_KEEP(Answer, method, Argument) \
  Answer LedgerDriver::method(Argument argument) { return keep<Call::method>(argument); }

TESSERA_KEEP(Result<ContextHandle>, device_primary_ctx_retain, DeviceOrdinal)
TESSERA_KEEP(Status, device_primary_ctx_release, DeviceOrdinal)
TESSERA_KEEP(Status, device_primary_ctx_reset, DeviceOrdinal)
TESSERA_KEEP(Result<ContextHandle>, ctx_create, const ContextCreateRequest&)
TESSERA_KEEP(Status, ctx_destroy, ContextHandle)
TESSERA_KEEP(Status, ctx_set_current, ContextHandle)
TESSERA_KEEP(Result<DeviceAddress>, mem_address_reserve, const ReserveRequest&)
TESSERA_KEEP(Status, mem_address_free, const AddressFreeRequest&)
TESSERA_KEEP(Result<AllocationHandle>, mem_create, const CreateRequest&)
TESSERA_KEEP(Status, mem_release, AllocationHandle)
TESSERA_KEEP(Result<AllocationHandle>, mem_retain_allocation_handle, DeviceAddress)
TESSERA_KEEP(Result<ShareableHandle>, mem_export_to_shareable_handle, const ExportRequest&)
TESSERA_KEEP(Result<AllocationHandle>, mem_import_from_shareable_handle, const ShareableHandle&)
TESSERA_KEEP(Status, mem_map, const MapRequest&)
TESSERA_KEEP(Status, mem_unmap, const UnmapRequest&)
TESSERA_KEEP(Status, mem_set_access, const SetAccessRequest&)
TESSERA_KEEP(Result<DeviceAddress>, mem_alloc, Bytes)
TESSERA_KEEP(Result<PitchedAllocation>, mem_alloc_pitch, const AllocPitchRequest&)
TESSERA_KEEP(Result<DeviceAddress>, mem_alloc_managed, const AllocManagedRequest&)
TESSERA_KEEP(Status, mem_free, DeviceAddress)
TESSERA_KEEP(Result<DeviceAddress>, mem_alloc_async, const AllocAsyncRequest&)
TESSERA_KEEP(Status, mem_free_async, const FreeAsyncRequest&)
TESSERA_KEEP(Result<std::byte*>, mem_host_alloc, const HostAllocRequest&)
TESSERA_KEEP(Status, mem_free_host, std::byte*)
TESSERA_KEEP(Result<int>, mem_get_handle_for_address_range, const RangeHandleRequest&)
TESSERA_KEEP(Result<StreamHandle>, stream_create, StreamFlags)
TESSERA_KEEP(Status, stream_destroy, StreamHandle)
TESSERA_KEEP(Result<EventHandle>, event_create, EventFlags)
TESSERA_KEEP(Status, event_destroy, EventHandle)
TESSERA_KEEP(Result<AllocationHandle>, multicast_create, const MulticastProperties&)
TESSERA_KEEP(Status, multicast_add_device, const MulticastAddDeviceRequest&)
TESSERA_KEEP(Status, multicast_bind_mem, const MulticastBindMemRequest&)
TESSERA_KEEP(Status, multicast_bind_addr, const MulticastBindAddrRequest&)
TESSERA_KEEP(Status, multicast_unbind, const MulticastUnbindRequest&)
#undef TESSERA_KEEP

}  // namespace tessera
