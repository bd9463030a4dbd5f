#include "driver_world.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tessera::tools {

int DriverWorld::open_descriptor(scenario::DescriptorKind kind) {
  return kind == scenario::DescriptorKind::dev_null ? open("/dev/null", O_RDWR | O_CLOEXEC)
                                                    : memfd_create("tessera", MFD_CLOEXEC);
}

bool DriverWorld::close_descriptor(int descriptor) { return close(descriptor) == 0; }

Result<std::byte> DriverWorld::host_read(DeviceAddress) {
  return Error{.code = ErrorCode::not_supported};
}

Status DriverWorld::host_write(DeviceAddress, std::byte) {
  return Error{.code = ErrorCode::not_supported};
}

std::string DriverWorld::run_child(const scenario::ChildTask&) { return "spawn:NOT_SUPPORTED"; }

}  // namespace tessera::tools
