#include "tessera/owners/physical_allocation.h"

#include <utility>

#include "owners/states.h"
#include "owners/with_reason.h"

namespace tessera {

PhysicalAllocation::PhysicalAllocation(std::shared_ptr<detail::PhysicalState> state) noexcept
    : state_(std::move(state)) {}

Result<PhysicalAllocation> PhysicalAllocation::create(DriverUse use,
                                                      const PhysicalAllocationOptions& options,
                                                      CallSite site) {
  const CallSiteScope scope(site);
  Bytes granularity = options.granularity;
  if (granularity.is_zero()) {
    TESSERA_TRY_ASSIGN(granularity, granularity_of(*use.driver, options.memory));
  }
  TESSERA_TRY_ASSIGN(const Bytes size, rounded_size(options.size, granularity));
  const AllocationProperties properties = properties_of(options.memory);
  const auto handle = use.driver->mem_create({.size = size, .properties = properties});
  if (!handle) {
    return detail::with_reason(handle.error(), Reason::memory_not_made,
                               {size.value(), granularity.value()});
  }
  return PhysicalAllocation(detail::make_state<detail::PhysicalState>(
      use, *handle, size, properties, MemoryOrigin::created, site));
}

Result<PhysicalAllocation> PhysicalAllocation::import(DriverUse use,
                                                      const ShareableHandle& shareable, Bytes size,
                                                      CallSite site) {
  const CallSiteScope scope(site);
  if (size.is_zero()) {
    return Error{.code = ErrorCode::invalid_value, .reason = Reason::imported_size_missing};
  }
  TESSERA_TRY_ASSIGN(const AllocationHandle handle,
                     use.driver->mem_import_from_shareable_handle(shareable));
  const auto state = detail::make_state<detail::PhysicalState>(
      use, handle, size, AllocationProperties(), MemoryOrigin::imported, site);
  TESSERA_TRY_ASSIGN(const AllocationProperties properties,
                     use.driver->mem_get_allocation_properties_from_handle({.handle = handle}));
  state->note_properties(properties);
  return PhysicalAllocation(state);
}

Result<PhysicalAllocation> PhysicalAllocation::retain(DriverUse use, DeviceAddress address,
                                                      CallSite site) {
  const CallSiteScope scope(site);
  // The size first: what fails afterwards would have to be undone.
  TESSERA_TRY_ASSIGN(const std::uint64_t size,
                     use.driver->pointer_get_attribute(
                         {.attribute = PointerAttribute::mapping_size, .address = address}));
  TESSERA_TRY_ASSIGN(const AllocationHandle handle,
                     use.driver->mem_retain_allocation_handle(address));
  const auto state = detail::make_state<detail::PhysicalState>(
      use, handle, Bytes(size), AllocationProperties(), MemoryOrigin::retained, site);
  TESSERA_TRY_ASSIGN(const AllocationProperties properties,
                     use.driver->mem_get_allocation_properties_from_handle({.handle = handle}));
  state->note_properties(properties);
  return PhysicalAllocation(state);
}

AllocationHandle PhysicalAllocation::handle() const noexcept {
  TESSERA_CHECK(is_open());
  return state_->handle();
}

Bytes PhysicalAllocation::size() const noexcept {
  TESSERA_CHECK(is_open());
  return state_->size();
}

MemoryOrigin PhysicalAllocation::origin() const noexcept {
  TESSERA_CHECK(is_open());
  return state_->origin();
}

Driver& PhysicalAllocation::driver() const noexcept {
  TESSERA_CHECK(is_open());
  return state_->driver();
}

std::size_t PhysicalAllocation::mapping_count() const noexcept {
  TESSERA_CHECK(is_open());
  return static_cast<std::size_t>(state_.use_count()) - 1;
}

const AllocationProperties& PhysicalAllocation::asked() const noexcept {
  TESSERA_CHECK(is_open());
  return state_->asked();
}

Result<AllocationProperties> PhysicalAllocation::granted() const {
  return driver().mem_get_allocation_properties_from_handle({.handle = handle()});
}

Result<ShareableHandle> PhysicalAllocation::export_to(HandleTypes type) const {
  return driver().mem_export_to_shareable_handle({.handle = handle(), .type = type});
}

Status PhysicalAllocation::close() { return detail::give_up(state_); }

}  // namespace tessera
