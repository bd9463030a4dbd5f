// The functions of the table in cuda_calls.h, and what they have in common: each makes its call on
// the driver of the scope, with every number passed on as it is.
#pragma once

#include <cstdint>

#include "tessera/testing/cuda_calls.h"

namespace tessera::cuda_calls::functions {

#define TESSERA_CUDA_CALL(member, name, exported_name, parameters) CUresult member parameters;
#include "tessera/testing/cuda_calls.def"
#undef TESSERA_CUDA_CALL

// Of the innermost scope; null: there is none.
[[nodiscard]] Driver* current_driver() noexcept;

template <class Number, class T>
Number number(T value) noexcept {
  return static_cast<Number>(value);
}

inline CUresult result_of(const Status& status) {
  return status ? CUDA_SUCCESS : number<CUresult>(status.error().code);
}

// Makes a call on the driver, which `call` is given.
template <class MakeCall>
CUresult make(const MakeCall& call) {
  Driver* driver = current_driver();
  return driver != nullptr ? result_of(call(*driver)) : CUDA_ERROR_NOT_INITIALIZED;
}

// The same, and puts what it gives, changed by `change`, where it goes; nowhere: as drivers answer.
template <class T, class MakeCall, class Change>
CUresult make(T* output, const MakeCall& call, const Change& change) {
  return make([&](Driver& driver) -> Status {
    if (output == nullptr) {
      return Error{.code = ErrorCode::invalid_value};
    }
    TESSERA_TRY_ASSIGN(const auto value, call(driver));
    *output = change(value);
    return {};
  });
}

template <class Number>
inline constexpr auto value_of = [](const auto& value) { return number<Number>(value.value()); };

inline constexpr auto same = [](const auto& value) { return value; };

inline NullPointers null_if(const void* properties) {
  return properties == nullptr ? NullPointers::properties : NullPointers::none;
}

template <class Pointer>
inline constexpr auto pointer_of = [](const auto& handle) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's handles are such pointers.
  return reinterpret_cast<Pointer>(static_cast<std::uintptr_t>(handle.value()));
};

template <class SeamHandle, class Pointer>
SeamHandle handle_of(Pointer pointer) {
  return SeamHandle(reinterpret_cast<std::uintptr_t>(pointer));
}

}  // namespace tessera::cuda_calls::functions
