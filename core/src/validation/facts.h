// Facts: what the layer asks the target about the machine: once, and only when a rule needs it.
// Not thread-safe: the ledger's lock guards it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "tessera/driver.h"

namespace tessera::validation {

class Facts {
 public:
  explicit Facts(Driver& target) noexcept : target_(target) {}

  // Zero where it is not known.
  [[nodiscard]] Bytes granularity() {
    return granularity_.is_zero() ? ask_granularity() : granularity_;
  }
  // Nothing where it is not known.
  [[nodiscard]] std::optional<std::int32_t> device_count();
  [[nodiscard]] std::optional<bool> can_access(DeviceOrdinal device, DeviceOrdinal peer);
  // The export types and whether there is compression, by the device's attributes.
  [[nodiscard]] std::optional<HandleTypes> export_types(DeviceOrdinal device);
  [[nodiscard]] std::optional<bool> compression(DeviceOrdinal device);
  // The most that the limit of that name can be.
  [[nodiscard]] std::optional<std::uint64_t> persisting_l2_cache_size(DeviceOrdinal device);
  // The thread's current context; not kept.
  [[nodiscard]] std::optional<ContextHandle> current_context();

 private:
  Bytes ask_granularity();
  [[nodiscard]] std::optional<bool> supports(DeviceOrdinal device, std::int32_t number);
  [[nodiscard]] std::optional<std::int32_t> attribute(DeviceOrdinal device, std::int32_t number);

  Driver& target_;
  Bytes granularity_;
  std::optional<std::int32_t> device_count_;
  std::map<std::pair<DeviceOrdinal, DeviceOrdinal>, bool> peers_;
  std::map<std::pair<DeviceOrdinal, std::int32_t>, std::int32_t> attributes_;
};

}  // namespace tessera::validation
