#include "entry_points.h"

#include <cstdint>

#include <dlfcn.h>

#include "tessera/cuda/cuda_driver.h"

namespace tessera::cuda {
namespace {

// A driver library and its two ways to find an entry point.
class Library {
 public:
  explicit Library(void* handle) noexcept
      : handle_(handle),
        get_proc_address_v2_(
            reinterpret_cast<GetProcAddressV2>(dlsym(handle, "cuGetProcAddress_v2"))),
        get_proc_address_(reinterpret_cast<GetProcAddress>(dlsym(handle, "cuGetProcAddress"))) {}

  // Null if the driver lacks it.
  [[nodiscard]] void* find(const char* name, int version, const char* exported_name) const {
    // Zero asks for the legacy default stream: what a null StreamHandle means.
    constexpr std::uint64_t flags = 0;
    void* address = nullptr;
    int status = 0;
    if (get_proc_address_v2_ != nullptr) {
      if (get_proc_address_v2_(name, &address, version, flags, &status) != 0) {
        address = nullptr;
      }
    } else if (get_proc_address_ != nullptr) {
      if (get_proc_address_(name, &address, version, flags) != 0) {
        address = nullptr;
      }
    }
    // An exported name has its version in it, so this finds the same function or none. Drivers
    // before 11.3 have no other way; the toolkit's stub library answers errors to the first.
    return address != nullptr ? address : dlsym(handle_, exported_name);
  }

 private:
  using GetProcAddress = int (*)(const char* name, void** address, int version,
                                 std::uint64_t flags);
  using GetProcAddressV2 = int (*)(const char* name, void** address, int version,
                                   std::uint64_t flags, int* status);

  void* handle_;
  GetProcAddressV2 get_proc_address_v2_;
  GetProcAddress get_proc_address_;
};

Error open_error(Reason reason) noexcept {
  return Error{.code = ErrorCode::no_device, .reason = reason};
}

}  // namespace

Result<EntryPoints> EntryPoints::load(const std::string& library) {
  // Never closed: a driver has threads and exit handlers that outlive any object here.
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return open_error(library == default_library ? Reason::no_libcuda
                                                 : Reason::driver_library_not_opened);
  }
  const Library found(handle);
  EntryPoints entries;
#define TESSERA_ENTRY_POINT(member, call, name, exported_name, version, parameters) \
  entries.member =                                                                  \
      EntryPoint<int parameters>(Call::call, found.find(name, version, #exported_name));
#include "entry_points.def"
  if (entries.init.is_missing()) {
    return open_error(Reason::not_a_driver_library);
  }
  return entries;
}

}  // namespace tessera::cuda
