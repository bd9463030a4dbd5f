// The names a driver gives to things, and the ordinals of devices. They compare and print; they
// do not compute. Zero is no handle, except where a type says otherwise.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace tessera {

template <class Tag>
class Handle {
 public:
  constexpr Handle() noexcept = default;  // null
  explicit constexpr Handle(std::uint64_t value) noexcept : value_(value) {}

  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }
  [[nodiscard]] constexpr bool is_null() const noexcept { return value_ == 0; }

  friend constexpr auto operator<=>(Handle, Handle) noexcept = default;

 private:
  std::uint64_t value_ = 0;
};

// Physical memory (CUmemGenericAllocationHandle), multicast objects too, as in CUDA.
using AllocationHandle = Handle<struct AllocationTag>;
// A context (CUcontext); null where none is current.
using ContextHandle = Handle<struct ContextTag>;
// A stream (CUstream); null is the default stream of the current context.
using StreamHandle = Handle<struct StreamTag>;
using EventHandle = Handle<struct EventTag>;

// Three streams are there in every context, and never created: null, the default stream; 1, the
// same; and 2, the calling thread's own.
inline constexpr StreamHandle legacy_stream(1);      // CU_STREAM_LEGACY
inline constexpr StreamHandle per_thread_stream(2);  // CU_STREAM_PER_THREAD
[[nodiscard]] constexpr bool is_implicit(StreamHandle stream) noexcept {
  return stream <= per_thread_stream;
}

// The device's number, from 0; what a driver would reject can be said too (-1, 99).
class DeviceOrdinal {
 public:
  constexpr DeviceOrdinal() noexcept = default;  // device 0
  explicit constexpr DeviceOrdinal(std::int32_t value) noexcept : value_(value) {}

  [[nodiscard]] constexpr std::int32_t value() const noexcept { return value_; }

  friend constexpr auto operator<=>(DeviceOrdinal, DeviceOrdinal) noexcept = default;

 private:
  std::int32_t value_ = 0;
};

}  // namespace tessera

template <class Tag>
struct std::hash<tessera::Handle<Tag>> {
  std::size_t operator()(tessera::Handle<Tag> handle) const noexcept {
    return std::hash<std::uint64_t>()(handle.value());
  }
};
