// Makes a device's primary context current for a moment, and puts back what was.
#pragma once

#include "tessera/driver.h"

namespace tessera::detail {

class PrimaryContextScope {
 public:
  explicit PrimaryContextScope(Driver& driver) noexcept : driver_(driver) {}
  PrimaryContextScope(const PrimaryContextScope&) = delete;
  PrimaryContextScope& operator=(const PrimaryContextScope&) = delete;
  ~PrimaryContextScope() { static_cast<void>(leave()); }

  Status enter(DeviceOrdinal device);
  // The first error of putting things back; the rest is still done.
  Status leave();

 private:
  Driver& driver_;
  DeviceOrdinal device_;
  ContextHandle before_;
  bool retained_ = false;
  bool current_ = false;
};

// Waits for all work of the device's primary context; one that memory lacks for has none.
Status synchronize_primary_context(Driver& driver, DeviceOrdinal device);

// The same for every device with a bit set. ERRORS: those that leave it open whether work is still
// running: after a fault, which loses all contexts, nothing runs any more.
Status wait_for_devices(Driver& driver, std::uint64_t device_bits) noexcept;

}  // namespace tessera::detail
