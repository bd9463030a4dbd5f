#include <sys/stat.h>

#include "tessera/live_objects.h"

namespace tessera {

std::optional<DescriptorIdentity> identity_of(int descriptor) noexcept {
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) {
    return std::nullopt;
  }
  return DescriptorIdentity{.device = static_cast<std::uint64_t>(status.st_dev),
                            .file = static_cast<std::uint64_t>(status.st_ino)};
}

}  // namespace tessera
