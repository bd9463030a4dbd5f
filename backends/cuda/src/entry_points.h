// The entry points of a CUDA driver library: found once, called as functions that answer with a
// Status. Immutable after `load`, so any thread may call any of them.
#pragma once

#include <cstddef>
#include <string>

#include <cuda.h>

#include "tessera/error.h"
#include "tessera/result.h"

namespace tessera::cuda {

// CUmulticastObjectProp, which cuda.h has only since 12.1; abi_checks.cpp compares the two.
struct MulticastObjectProp {
  unsigned device_count;
  std::size_t size;
  unsigned long long handle_types;
  unsigned long long flags;
};

template <class Signature>
class EntryPoint;

// The function returns CUresult, taken as the number it is: drivers newer than cuda.h answer with
// numbers that the enumeration lacks.
template <class... Parameters>
class EntryPoint<int(Parameters...)> {
 public:
  using Function = int (*)(Parameters...);

  constexpr EntryPoint() noexcept = default;
  EntryPoint(Call call, void* address) noexcept
      : function_(reinterpret_cast<Function>(address)), call_(call) {}

  [[nodiscard]] bool is_missing() const noexcept { return function_ == nullptr; }

  Status operator()(Parameters... arguments) const { return call_as(call_, arguments...); }

  // The same for a call of the seam that needs this entry point besides its own.
  [[nodiscard]] Status call_as(Call call, Parameters... arguments) const {
    if (is_missing()) {
      return Error{.code = ErrorCode::not_supported,
                   .call = call,
                   .origin = Origin::library,
                   .reason = Reason::entry_point_missing};
    }
    const int result = function_(arguments...);
    if (result == 0) {
      return {};
    }
    return Error{.code = ErrorCode{result}, .call = call, .origin = Origin::driver};
  }

 private:
  Function function_ = nullptr;
  Call call_ = Call::none;
};

struct EntryPoints {
#define TESSERA_ENTRY_POINT(member, call, name, exported_name, version, parameters) \
  EntryPoint<int parameters> member;
#include "entry_points.def"

  // Opens the library and looks all entry points up; what is missing is found out when called.
  // ERRORS: no_device, with a reason: it can't be opened, or is no CUDA driver.
  static Result<EntryPoints> load(const std::string& library);
};

}  // namespace tessera::cuda
