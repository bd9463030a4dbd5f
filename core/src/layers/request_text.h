// Requests in words, for calls that a scenario cannot say: "width=4096, height=2".
#pragma once

#include <cstddef>
#include <string>

#include "tessera/driver.h"
#include "tessera/layers/intercept.h"

namespace tessera {

[[nodiscard]] std::string describe(const NoRequest& request);
[[nodiscard]] std::string describe(std::uint32_t flags);
[[nodiscard]] std::string describe(Bytes size);
[[nodiscard]] std::string describe(DeviceAddress address);
[[nodiscard]] std::string describe(DeviceOrdinal device);
[[nodiscard]] std::string describe(const std::byte* memory);
[[nodiscard]] std::string describe(AllocationHandle handle);
[[nodiscard]] std::string describe(ContextHandle context);
[[nodiscard]] std::string describe(StreamHandle stream);
[[nodiscard]] std::string describe(EventHandle event);
[[nodiscard]] std::string describe(ContextLimit limit);
[[nodiscard]] std::string describe(StreamFlags flags);
[[nodiscard]] std::string describe(EventFlags flags);
[[nodiscard]] std::string describe(const ContextCreateRequest& request);
[[nodiscard]] std::string describe(const PeerAccessRequest& request);
[[nodiscard]] std::string describe(const SetLimitRequest& request);
[[nodiscard]] std::string describe(const CreateRequest& request);
[[nodiscard]] std::string describe(const ShareableHandle& request);
[[nodiscard]] std::string describe(const AllocPitchRequest& request);
[[nodiscard]] std::string describe(const AllocManagedRequest& request);
[[nodiscard]] std::string describe(const AllocAsyncRequest& request);
[[nodiscard]] std::string describe(const FreeAsyncRequest& request);
[[nodiscard]] std::string describe(const HostAllocRequest& request);
[[nodiscard]] std::string describe(const RangeHandleRequest& request);
[[nodiscard]] std::string describe(const MemcpyHtodAsyncRequest& request);
[[nodiscard]] std::string describe(const MemcpyDtohAsyncRequest& request);
[[nodiscard]] std::string describe(const MemcpyDtodAsyncRequest& request);
[[nodiscard]] std::string describe(const MemsetD8AsyncRequest& request);
[[nodiscard]] std::string describe(const StreamWaitEventRequest& request);
[[nodiscard]] std::string describe(const EventRecordRequest& request);
[[nodiscard]] std::string describe(const LaunchTouchRequest& request);
[[nodiscard]] std::string describe(const MulticastProperties& request);
[[nodiscard]] std::string describe(const MulticastGranularityRequest& request);
[[nodiscard]] std::string describe(const MulticastAddDeviceRequest& request);
[[nodiscard]] std::string describe(const MulticastBindMemRequest& request);
[[nodiscard]] std::string describe(const MulticastBindAddrRequest& request);
[[nodiscard]] std::string describe(const MulticastUnbindRequest& request);

}  // namespace tessera
