#include "support/exhausted_host.h"

#include <cstdlib>
#include <new>

namespace tessera::test {
namespace {

thread_local bool is_exhausted = false;

[[maybe_unused]] void* allocate(std::size_t size) noexcept {
  return is_exhausted ? nullptr : std::malloc(size == 0 ? 1 : size);
}

}  // namespace

ExhaustedHost::ExhaustedHost() noexcept { is_exhausted = true; }
ExhaustedHost::~ExhaustedHost() { is_exhausted = false; }

}  // namespace tessera::test

#if TESSERA_HOST_IS_EXHAUSTIBLE
// All forms but the aligned ones, which keep to themselves: a sanitizer must not see memory of one
// given back to another.
void* operator new(std::size_t size) {
  void* memory = tessera::test::allocate(size);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return tessera::test::allocate(size);
}
void* operator new[](std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return tessera::test::allocate(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t& /*tag*/) noexcept { std::free(memory); }
#endif
