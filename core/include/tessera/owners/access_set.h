// AccessSet: who may read or write a range: devices, the host, NUMA nodes of it. A value; sets of
// access rights join and compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "tessera/requests.h"

namespace tessera {

class AccessSet {
 public:
  // Devices and NUMA nodes have numbers below this. Larger ones are checked.
  static constexpr std::int32_t locations_max = 64;

  constexpr AccessSet() noexcept = default;  // nobody

  [[nodiscard]] static AccessSet of_device(DeviceOrdinal device,
                                           AccessFlags flags = AccessFlags::read_write);
  [[nodiscard]] static AccessSet of_devices(std::span<const DeviceOrdinal> devices,
                                            AccessFlags flags = AccessFlags::read_write);
  [[nodiscard]] static AccessSet of_devices(std::initializer_list<DeviceOrdinal> devices,
                                            AccessFlags flags = AccessFlags::read_write);

  // Gives `location` these rights, instead of those it had. The location is a device, the host or
  // a NUMA node with a number in [0, locations_max), the flags are known: checked.
  AccessSet& set(Location location, AccessFlags flags);
  // This set with the rights of `other`: where both name a location, those of `other`.
  [[nodiscard]] AccessSet joined_with(const AccessSet& other) const;
  // This set without the locations of `other`.
  [[nodiscard]] AccessSet without(const AccessSet& other) const;

  [[nodiscard]] AccessFlags of(Location location) const;
  [[nodiscard]] constexpr bool is_empty() const noexcept {
    return (devices_.read | host_.read | numa_.read) == 0;
  }
  // The devices with any right, as a bit each, by ordinal.
  [[nodiscard]] constexpr std::uint64_t device_bits() const noexcept { return devices_.read; }
  [[nodiscard]] std::vector<DeviceOrdinal> devices() const;
  [[nodiscard]] constexpr std::size_t count() const noexcept {  // of locations
    std::size_t count = 0;
    // Not std::popcount: without an option for newer processors that is a call into a library, and
    // few bits are set.
    for (std::uint64_t bits : {devices_.read, host_.read, numa_.read}) {
      for (; bits != 0; bits &= bits - 1) {
        ++count;
      }
    }
    return count;
  }
  [[nodiscard]] std::vector<AccessDescriptor> descriptors() const;
  // The same into the begin of `out`, which has room for count() (checked); allocates nothing.
  [[nodiscard]] std::span<const AccessDescriptor> descriptors_in(
      std::span<AccessDescriptor> out) const;
  [[nodiscard]] std::vector<AccessDescriptor> revoking_descriptors() const;

  friend constexpr bool operator==(const AccessSet&, const AccessSet&) noexcept = default;

 private:
  // A bit a location; writers are readers too.
  struct Rights {
    std::uint64_t read = 0;
    std::uint64_t write = 0;
    friend constexpr bool operator==(const Rights&, const Rights&) noexcept = default;
  };

  [[nodiscard]] Rights& rights_of(LocationType type);
  [[nodiscard]] const Rights& rights_of(LocationType type) const;

  Rights devices_;
  Rights host_;  // bit 0
  Rights numa_;
};

}  // namespace tessera
