// What virtual memory on a device can be, found by trying: attributes promise what a machine then
// refuses (fabric handles without an IMEX channel, for one). An attribute that
// says no is believed. Each try makes and releases one granule.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tessera/driver.h"

namespace tessera {

// Available, or why not.
class Capability {
 public:
  Capability() noexcept = default;  // available
  explicit Capability(const Error& why_not) noexcept : why_not_(why_not), available_(false) {}

  [[nodiscard]] explicit operator bool() const noexcept { return available_; }
  [[nodiscard]] bool is_available() const noexcept { return available_; }
  // "available", or the error in words.
  [[nodiscard]] std::string why() const;
  // Only where it is not available (checked).
  [[nodiscard]] const Error& error() const noexcept;

 private:
  Error why_not_ = {};
  bool available_ = true;
};

struct Capabilities {
  DeviceOrdinal device;
  Bytes granularity_minimum;
  Bytes granularity_recommended;
  Capability device_memory;
  Capability export_posix;
  Capability export_fabric;
  Capability export_win32;
  Capability gpu_direct_rdma;  // granted when asked for
  Capability compression;      // granted when asked for
  Capability host_memory;
  Capability host_numa_memory;       // node 0
  std::vector<DeviceOrdinal> peers;  // devices whose memory this one can map
};

// ERRORS: invalid_device; not_supported (no virtual memory management on this device: the first
// call tells); whatever else keeps plain device memory from being made is in `device_memory`.
[[nodiscard]] Result<Capabilities> probe_capabilities(Driver& driver, DeviceOrdinal device);

// "export_fabric: mem_create: NOT_PERMITTED ..."; one line each.
[[nodiscard]] std::string to_string(const Capabilities& capabilities);

// Probes each device once, and remembers. Any thread. The driver outlives it.
class CapabilityCache {
 public:
  explicit CapabilityCache(Driver& driver) noexcept : driver_(&driver) {}

  // The pointer stays valid as long as the cache. ERRORS: as probe_capabilities; not remembered.
  [[nodiscard]] Result<const Capabilities*> of(DeviceOrdinal device);

 private:
  Driver* driver_;
  std::mutex mutex_;
  std::map<DeviceOrdinal, Capabilities> known_;
};

}  // namespace tessera
