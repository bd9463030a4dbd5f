#include "tessera/testing/cuda_calls.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "testing/cuda_call_functions.h"

namespace tessera::cuda_calls {
namespace {

std::atomic<Driver*> scoped_driver = nullptr;

// What cuGetErrorName says of a number, and its words, which cuGetErrorString's are about.
struct ErrorText {
  std::string name;
  std::string words;
};

ErrorText error_text(ErrorCode code, std::string words) {
  std::replace(words.begin(), words.end(), '_', ' ');
  return {.name = "CUDA_ERROR_" + code_name(code), .words = std::move(words)};
}

const std::map<std::uint32_t, ErrorText>& error_texts() {
  static const std::map<std::uint32_t, ErrorText> texts = {
      {0, {.name = "CUDA_SUCCESS", .words = "no error"}},
#define TESSERA_ERROR_CODE(name, number) {number, error_text(ErrorCode::name, #name)},
#include "tessera/error_codes.def"
#undef TESSERA_ERROR_CODE
  };
  return texts;
}

// Null, and an error, for a number that is not known, as drivers do.
CUresult put_text(CUresult result, const char** text, std::string ErrorText::*which) {
  if (text == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto found = error_texts().find(result);
  *text = found == error_texts().end() ? nullptr : (found->second.*which).c_str();
  return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

constexpr CudaCalls table = {
#define TESSERA_CUDA_CALL(member, name, exported_name, parameters) .member = functions::member,
#include "tessera/testing/cuda_calls.def"
#undef TESSERA_CUDA_CALL
};

}  // namespace

namespace functions {

Driver* current_driver() noexcept { return scoped_driver.load(std::memory_order_acquire); }

CUresult get_error_name(CUresult result, const char** text) {
  return put_text(result, text, &ErrorText::name);
}

CUresult get_error_string(CUresult result, const char** text) {
  return put_text(result, text, &ErrorText::words);
}

CUresult init(unsigned flags) {
  return make([&](Driver& driver) { return driver.init(flags); });
}

CUresult driver_get_version(int* version) {
  return make(
      version, [](Driver& driver) { return driver.driver_get_version(); }, same);
}

// A device's name is its ordinal.
CUresult device_get(CUdevice* device, int ordinal) {
  return make(
      device,
      [&](Driver& driver) -> Result<int> {
        TESSERA_TRY_ASSIGN(const int count, driver.device_get_count());
        if (ordinal < 0 || ordinal >= count) {
          return Error{.code = ErrorCode::invalid_device};
        }
        return ordinal;
      },
      same);
}

CUresult device_get_count(int* count) {
  return make(
      count, [](Driver& driver) { return driver.device_get_count(); }, same);
}

CUresult device_get_attribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return make(
      value,
      [&](Driver& driver) {
        return driver.device_get_attribute(
            {.attribute = number<std::int32_t>(attribute), .device = DeviceOrdinal(device)});
      },
      same);
}

CUresult device_can_access_peer(int* can_access, CUdevice device, CUdevice peer) {
  return make(
      can_access,
      [&](Driver& driver) {
        return driver.device_can_access_peer(
            {.device = DeviceOrdinal(device), .peer = DeviceOrdinal(peer)});
      },
      number<int, bool>);
}

CUresult device_primary_ctx_retain(CUcontext* context, CUdevice device) {
  return make(
      context,
      [&](Driver& driver) { return driver.device_primary_ctx_retain(DeviceOrdinal(device)); },
      pointer_of<CUcontext>);
}

CUresult device_primary_ctx_release(CUdevice device) {
  return make(
      [&](Driver& driver) { return driver.device_primary_ctx_release(DeviceOrdinal(device)); });
}

CUresult ctx_set_current(CUcontext context) {
  return make(
      [&](Driver& driver) { return driver.ctx_set_current(handle_of<ContextHandle>(context)); });
}

CUresult ctx_get_current(CUcontext* context) {
  return make(
      context, [](Driver& driver) { return driver.ctx_get_current(); }, pointer_of<CUcontext>);
}

CUresult ctx_synchronize() {
  return make([](Driver& driver) { return driver.ctx_synchronize(); });
}

CUresult ctx_enable_peer_access(CUcontext peer, unsigned flags) {
  return make([&](Driver& driver) {
    return driver.ctx_enable_peer_access({.peer = handle_of<ContextHandle>(peer), .flags = flags});
  });
}

}  // namespace functions

CudaCallsScope::CudaCallsScope(Driver& driver) noexcept
    : outer_(scoped_driver.exchange(&driver, std::memory_order_acq_rel)) {}
CudaCallsScope::~CudaCallsScope() { scoped_driver.store(outer_, std::memory_order_release); }

const CudaCalls& cuda_calls() noexcept { return table; }

void* cuda_entry_point(const char* name) noexcept {
  const std::string_view wanted = name;
#define TESSERA_CUDA_CALL(member, name, exported_name, parameters) \
  if (wanted == #name || wanted == #exported_name) {               \
    return reinterpret_cast<void*>(table.member);                  \
  }
#include "tessera/testing/cuda_calls.def"
#undef TESSERA_CUDA_CALL
  return nullptr;
}

}  // namespace tessera::cuda_calls
