// Multicast: one object over the memory of several devices; what is written to it reaches all of
// them. MulticastObject owns the object, MulticastBinding a device's memory bound to it. A binding
// keeps both alive, so that memory cannot go before it is unbound.
#pragma once

#include <memory>
#include <span>

#include "tessera/owners/physical_allocation.h"
#include "tessera/owners/quiescence.h"

namespace tessera {

struct MulticastOptions {
  Bytes size;  // rounded up, once, to the multicast granularity
  // At least one; each once.
  std::span<const DeviceOrdinal> devices;
  HandleTypes exports = HandleTypes::none;
  GranularityOption granularity = GranularityOption::minimum;
};

class MulticastObject {
 public:
  // Makes the object and adds its devices: all or nothing.
  // ERRORS: those of multicast_create and multicast_add_device; not_supported where a device has no
  // multicast.
  [[nodiscard]] static Result<MulticastObject> make(DriverUse use, const MulticastOptions& options,
                                                    CallSite site = CallSite::here());

  [[nodiscard]] bool is_open() const noexcept { return memory_.is_open(); }
  [[nodiscard]] AllocationHandle handle() const noexcept { return memory_.handle(); }
  [[nodiscard]] Bytes size() const noexcept { return memory_.size(); }
  [[nodiscard]] Bytes granularity() const noexcept { return granularity_; }
  // What a Mapping maps, once every device has memory bound.
  [[nodiscard]] const PhysicalAllocation& memory() const noexcept { return memory_; }

  // Gives the object up, unless mappings or bindings are left: then the last of those does.
  Status close() { return memory_.close(); }

 private:
  MulticastObject(PhysicalAllocation memory, Bytes granularity) noexcept;

  PhysicalAllocation memory_;
  Bytes granularity_;
};

class MulticastBinding {
 public:
  // Binds all of `memory` at `offset` of the object, for the device that it is on. Both may be
  // closed at once. They are of one driver (checked). ERRORS: those of multicast_bind_mem;
  // invalid_value (memory that is on no device).
  [[nodiscard]] static Result<MulticastBinding> bind(const MulticastObject& object, Bytes offset,
                                                     const PhysicalAllocation& memory,
                                                     CallSite site = CallSite::here());

  MulticastBinding(MulticastBinding&&) noexcept;
  MulticastBinding& operator=(MulticastBinding&& other) noexcept;
  MulticastBinding(const MulticastBinding&) = delete;
  MulticastBinding& operator=(const MulticastBinding&) = delete;
  // Waits for the device's work first; failures go to the sink.
  ~MulticastBinding();

  [[nodiscard]] bool is_open() const noexcept { return object_ != nullptr; }
  [[nodiscard]] DeviceOrdinal device() const noexcept { return device_; }

  // Unbinds, then gives up the memory and the object. `proof` covers the device. Again is harmless.
  // After an error it is still open, and close may be tried again.
  Status close(Quiescence proof);

 private:
  MulticastBinding(std::shared_ptr<detail::PhysicalState> object,
                   std::shared_ptr<detail::PhysicalState> memory, DeviceOrdinal device,
                   Bytes offset, CallSite site) noexcept;

  [[nodiscard]] MulticastUnbindRequest unbind_request() const noexcept;
  void abandon() noexcept;

  std::shared_ptr<detail::PhysicalState> object_;
  std::shared_ptr<detail::PhysicalState> memory_;
  DeviceOrdinal device_;
  Bytes offset_;
  CallSite site_;
  bool bound_ = false;  // false while closing, once the driver has unbound it
};

}  // namespace tessera
