// LedgerDriver: a layer that keeps a Ledger and nothing else: leak reports without validation.
//
//   LedgerDriver driver(&simulator);
//   program(driver);
//   EXPECT_TRUE(driver.ledger().leak_report().is_empty()) << to_string(...);
//
// Any thread may call it. Calls that don't wait are made one at a time, under the ledger's lock, as
// the driver makes them anyway [h200].
#pragma once

#include <cstdint>

#include "tessera/driver.h"
#include "tessera/ledger.h"

namespace tessera {

class LedgerDriver : public DriverWrapper {
 public:
  using DriverWrapper::DriverWrapper;
  ~LedgerDriver() override;

  [[nodiscard]] Ledger& ledger() noexcept { return ledger_; }
  [[nodiscard]] const Ledger& ledger() const noexcept { return ledger_; }

  Result<ContextHandle> device_primary_ctx_retain(DeviceOrdinal device) override;
  Status device_primary_ctx_release(DeviceOrdinal device) override;
  Status device_primary_ctx_reset(DeviceOrdinal device) override;
  Result<ContextHandle> ctx_create(const ContextCreateRequest& request) override;
  Status ctx_destroy(ContextHandle context) override;
  Status ctx_set_current(ContextHandle context) override;
  Result<DeviceAddress> mem_address_reserve(const ReserveRequest& request) override;
  Status mem_address_free(const AddressFreeRequest& request) override;
  Result<AllocationHandle> mem_create(const CreateRequest& request) override;
  Status mem_release(AllocationHandle handle) override;
  Result<AllocationHandle> mem_retain_allocation_handle(DeviceAddress address) override;
  Result<ShareableHandle> mem_export_to_shareable_handle(const ExportRequest& request) override;
  Result<AllocationHandle> mem_import_from_shareable_handle(const ShareableHandle& handle) override;
  Status mem_map(const MapRequest& request) override;
  Status mem_unmap(const UnmapRequest& request) override;
  Status mem_set_access(const SetAccessRequest& request) override;
  Result<DeviceAddress> mem_alloc(Bytes size) override;
  Result<PitchedAllocation> mem_alloc_pitch(const AllocPitchRequest& request) override;
  Result<DeviceAddress> mem_alloc_managed(const AllocManagedRequest& request) override;
  Status mem_free(DeviceAddress address) override;
  Result<DeviceAddress> mem_alloc_async(const AllocAsyncRequest& request) override;
  Status mem_free_async(const FreeAsyncRequest& request) override;
  Result<std::byte*> mem_host_alloc(const HostAllocRequest& request) override;
  Status mem_free_host(std::byte* memory) override;
  Result<int> mem_get_handle_for_address_range(const RangeHandleRequest& request) override;
  Result<StreamHandle> stream_create(StreamFlags flags) override;
  Status stream_destroy(StreamHandle stream) override;
  Result<EventHandle> event_create(EventFlags flags) override;
  Status event_destroy(EventHandle event) override;
  Result<AllocationHandle> multicast_create(const MulticastProperties& properties) override;
  Status multicast_add_device(const MulticastAddDeviceRequest& request) override;
  Status multicast_bind_mem(const MulticastBindMemRequest& request) override;
  Status multicast_bind_addr(const MulticastBindAddrRequest& request) override;
  Status multicast_unbind(const MulticastUnbindRequest& request) override;

 private:
  template <Call call, class Argument>
  auto keep(const Argument& argument);

  Ledger ledger_;
  std::uint64_t calls_ = 0;  // under the ledger's lock; of those above
};

}  // namespace tessera
