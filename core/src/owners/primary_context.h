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

// Waits for all work of the device's primary context.
Status synchronize_primary_context(Driver& driver, DeviceOrdinal device);

// The same for every device with a bit set, where nobody can be told of a failure and none matters:
// a context that cannot be had has no work, and in one that is lost nothing runs any more.
void wait_for_devices(Driver& driver, std::uint64_t device_bits) noexcept;

}  // namespace tessera::detail
