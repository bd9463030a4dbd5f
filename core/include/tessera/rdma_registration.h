// RdmaRegistration: through which of its mappings memory for GPU-direct RDMA is registered with the
// driver, and why another mapping of it, or access to one, may be refused.
//
// What an H200's driver does (1,800 random sequences, rdma.vmm.gz and dual_rdma.vmm.gz): memory's
// first mapping is registered and noted. When that one goes, none takes its place; the next one
// made does. Until then, the first mapping to which the memory's own device gets other access is
// registered without the driver's noting it, and as long as it is there and has access, further
// mappings, and access to other mappings, are refused (CUDA_ERROR_UNKNOWN); and while none is
// noted, other devices get no access (CUDA_ERROR_INVALID_VALUE). Memory that was imported is not
// registered.
#pragma once

#include <optional>

#include "tessera/error.h"
#include "tessera/requests.h"

namespace tessera {

class RdmaRegistration {
 public:
  // Whether a new mapping is refused, with `unknown`.
  [[nodiscard]] bool refuses_mappings() const noexcept {
    return noted_.is_null() && !unnoted_.is_null();
  }
  // What happens to the mapping that begins at `mapping`; `map` only where it is not refused.
  void map(DeviceAddress mapping) noexcept { noted_ = noted_.is_null() ? mapping : noted_; }
  void unmap(DeviceAddress mapping) noexcept {
    forget(noted_, mapping);
    forget(unnoted_, mapping);
  }
  // A device's access becomes `now`; `is_own`: the memory is on that device. Gives why it is
  // refused, if it is; the device has no access then, whatever it had before.
  [[nodiscard]] std::optional<ErrorCode> set_access(DeviceAddress mapping, bool is_own,
                                                    AccessFlags before, AccessFlags now) noexcept {
    if (now == AccessFlags::none && is_own && now != before) {
      forget(unnoted_, mapping);
    }
    if (now == AccessFlags::none || now == before || !noted_.is_null()) {
      return std::nullopt;
    }
    if (!is_own) {
      return ErrorCode::invalid_value;
    }
    if (!unnoted_.is_null() && unnoted_ != mapping) {
      return ErrorCode::unknown;
    }
    unnoted_ = mapping;
    return std::nullopt;
  }
  // The mapping that is registered without being noted; null where there is none.
  [[nodiscard]] DeviceAddress unnoted() const noexcept { return unnoted_; }

 private:
  static void forget(DeviceAddress& known, DeviceAddress mapping) noexcept {
    known = known == mapping ? DeviceAddress() : known;
  }

  DeviceAddress noted_;
  DeviceAddress unnoted_;
};

}  // namespace tessera
