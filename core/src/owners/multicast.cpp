#include "tessera/owners/multicast.h"

#include <utility>

#include "owners/primary_context.h"
#include "owners/states.h"

namespace tessera {

MulticastObject::MulticastObject(PhysicalAllocation memory, Bytes granularity) noexcept
    : memory_(std::move(memory)), granularity_(granularity) {}

Result<MulticastObject> MulticastObject::make(DriverUse use, const MulticastOptions& options,
                                              CallSite site) {
  const CallSiteScope scope(site);
  MulticastProperties properties = {
      .device_count = static_cast<std::uint32_t>(options.devices.size()),
      .size = options.size,
      .handle_types = options.exports};
  TESSERA_TRY_ASSIGN(const Bytes granularity,
                     use.driver->multicast_get_granularity(
                         {.properties = properties, .option = options.granularity}));
  TESSERA_TRY_ASSIGN(properties.size, rounded_size(options.size, granularity));
  TESSERA_TRY_ASSIGN(const AllocationHandle handle, use.driver->multicast_create(properties));
  // Owned from here on, so that a device that cannot be added leaves nothing.
  PhysicalAllocation memory(detail::make_state<detail::PhysicalState>(
      use, handle, properties.size,
      AllocationProperties{.requested_handle_types = options.exports,
                           .location = {.type = LocationType::none}},
      MemoryOrigin::created, site));
  for (const DeviceOrdinal device : options.devices) {
    TESSERA_TRY(use.driver->multicast_add_device({.multicast = handle, .device = device}));
  }
  return MulticastObject(std::move(memory), granularity);
}

MulticastBinding::MulticastBinding(std::shared_ptr<detail::PhysicalState> object,
                                   std::shared_ptr<detail::PhysicalState> memory,
                                   DeviceOrdinal device, Bytes offset, CallSite site) noexcept
    : object_(std::move(object)),
      memory_(std::move(memory)),
      device_(device),
      offset_(offset),
      site_(site),
      bound_(true) {}

Result<MulticastBinding> MulticastBinding::bind(const MulticastObject& object, Bytes offset,
                                                const PhysicalAllocation& memory, CallSite site) {
  TESSERA_CHECK(object.is_open() && memory.is_open());
  TESSERA_CHECK(&object.memory().driver() == &memory.driver());
  const Location location = memory.asked().location;
  if (location.type != LocationType::device) {
    return Error{.code = ErrorCode::invalid_value,
                 .call = Call::multicast_bind_mem,
                 .reason = Reason::not_device_memory,
                 .values = {static_cast<std::uint64_t>(location.type)}};
  }
  const DeviceOrdinal device(location.id);
  const CallSiteScope scope(site);
  TESSERA_TRY(memory.driver().multicast_bind_mem({.multicast = object.handle(),
                                                  .multicast_offset = offset,
                                                  .memory = memory.handle(),
                                                  .size = memory.size()}));
  return MulticastBinding(object.memory().state_, memory.state_, device, offset, site);
}

MulticastBinding::MulticastBinding(MulticastBinding&&) noexcept = default;

MulticastBinding& MulticastBinding::operator=(MulticastBinding&& other) noexcept {
  if (this != &other) {
    abandon();
    object_ = std::move(other.object_);
    memory_ = std::move(other.memory_);
    device_ = other.device_;
    offset_ = other.offset_;
    site_ = other.site_;
    bound_ = other.bound_;
  }
  return *this;
}

MulticastBinding::~MulticastBinding() { abandon(); }

MulticastUnbindRequest MulticastBinding::unbind_request() const noexcept {
  return {.multicast = object_->handle(),
          .device = device_,
          .multicast_offset = offset_,
          .size = memory_->size()};
}

Status MulticastBinding::close(Quiescence proof) {
  if (!is_open()) {
    return {};
  }
  if (bound_) {
    TESSERA_TRY(proof.check_covers(std::uint64_t{1} << static_cast<unsigned>(device_.value())));
    TESSERA_TRY(memory_->driver().multicast_unbind(unbind_request()));
    bound_ = false;
  }
  TESSERA_TRY(detail::give_up(memory_));
  return detail::give_up(object_);
}

void MulticastBinding::abandon() noexcept {
  if (!is_open()) {
    return;
  }
  if (bound_) {
    const DriverUse& use = object_->use();
    const Status idle = detail::wait_for_devices(
        *use.driver, std::uint64_t{1} << static_cast<unsigned>(device_.value()));
    const Status done = idle ? use.driver->multicast_unbind(unbind_request()) : idle;
    if (!done) {
      use.sink->undo_failed({.error = done.error(),
                             .driver = use.driver,
                             .step = unbind_request(),
                             .made_at = site_});
      memory_->leave_behind(done.error());
      object_->leave_behind(done.error());
    }
  }
  memory_.reset();
  object_.reset();
}

}  // namespace tessera
