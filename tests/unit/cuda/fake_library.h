// The fake driver library, as a test holds it.
#pragma once

#include <memory>
#include <string>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "fake_control.h"
#include "tessera/cuda/cuda_driver.h"

namespace tessera::cuda {

class FakeLibrary {
 public:
  FakeLibrary() : library_(dlopen(TESSERA_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) {
      ADD_FAILURE() << dlerror();
      std::abort();
    }
    control<FakeReset>("fake_reset")();
  }

  [[nodiscard]] std::unique_ptr<CudaDriver> open() const {
    auto driver = CudaDriver::open_library(TESSERA_FAKE_CUDA);
    if (!driver) {
      ADD_FAILURE() << to_string(driver.error());
      std::abort();
    }
    return std::move(driver).value();
  }

  void reset() const { control<FakeReset>("fake_reset")(); }
  [[nodiscard]] std::string take_log() const { return control<FakeTakeLog>("fake_take_log")(); }
  void fail(const std::string& name, int result) const {
    control<FakeFail>("fake_fail")(name.c_str(), result);
  }
  void hide(const std::string& name) const { control<FakeHide>("fake_hide")(name.c_str()); }
  void answer(const std::string& name, std::uint64_t value) const {
    control<FakeAnswer>("fake_answer")(name.c_str(), value);
  }
  void break_lookup() const { control<FakeBreakLookup>("fake_break_lookup")(); }

 private:
  template <class Function>
  [[nodiscard]] Function control(const char* name) const {
    return reinterpret_cast<Function>(dlsym(library_, name));
  }

  void* library_;
};

}  // namespace tessera::cuda
