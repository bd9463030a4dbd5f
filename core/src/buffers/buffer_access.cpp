#include "buffers/buffer_access.h"

#include <vector>

#include "tessera/owners/peers.h"

namespace tessera::detail {

Status check_devices(Driver& driver, std::span<const DeviceOrdinal> devices) {
  TESSERA_TRY_ASSIGN(const std::int32_t count, driver.device_get_count());
  for (const DeviceOrdinal device : devices) {
    if (device.value() < 0 || device.value() >= count) {
      return Error{.code = ErrorCode::invalid_device,
                   .reason = Reason::no_such_device,
                   .values = {static_cast<std::uint64_t>(std::int64_t{device.value()}),
                              static_cast<std::uint64_t>(count)}};
    }
  }
  return {};
}

Result<AccessSet> checked_access(Driver& driver, const MemoryOptions& memory,
                                 const AccessSet& access) {
  if (memory.location.type != LocationType::device) {
    return access;
  }
  const DeviceOrdinal owner(memory.location.id);
  TESSERA_TRY(check_devices(driver, std::span(&owner, 1)));
  TESSERA_TRY(check_reach(driver, owner, access.devices()));
  return AccessSet::of_device(owner).joined_with(access);
}

Error buffer_is_closed() noexcept {
  return {.code = ErrorCode::illegal_state, .reason = Reason::buffer_is_closed};
}

}  // namespace tessera::detail
