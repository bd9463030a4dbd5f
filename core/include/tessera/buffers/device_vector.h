// DeviceVector<T>: elements in a GrowableBuffer, reached by copies in the current context, which is
// one of a device with access. What can fail says so; after an error the elements are as before.
// Each call that moves elements costs a copy: append many at once. The device may still be copying
// when append, assign and set return, and filling after resize: a proof to shrink or close covers
// that, too. Not for several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "tessera/buffers/growable_buffer.h"

namespace tessera {

namespace detail {

// All that needs no T: counts elements of one size.
class DeviceArray {
 public:
  DeviceArray(GrowableBuffer buffer, Bytes element_size) noexcept
      : buffer_(std::move(buffer)), element_size_(element_size) {}

  [[nodiscard]] std::uint64_t size() const noexcept { return buffer_.is_open() ? count_ : 0; }
  [[nodiscard]] std::uint64_t capacity() const noexcept {
    return buffer_.capacity() / element_size_;
  }
  [[nodiscard]] GrowableBuffer& buffer() noexcept { return buffer_; }
  [[nodiscard]] const GrowableBuffer& buffer() const noexcept { return buffer_; }
  [[nodiscard]] Bytes element_size() const noexcept { return element_size_; }

  Status reserve(std::uint64_t count, CallSite site);
  Status resize(std::uint64_t count, bool zeroed, CallSite site);
  Status assign(std::span<const std::byte> elements, CallSite site);
  Status append(std::span<const std::byte> elements, CallSite site);
  Status write(std::uint64_t first, std::span<const std::byte> elements);
  Status read(std::uint64_t first, std::span<std::byte> elements) const;
  [[nodiscard]] Result<DeviceAddress> address_of(std::uint64_t index) const;
  Status shrink_to_fit(Quiescence proof);
  Status close(Quiescence proof);

 private:
  [[nodiscard]] Status check_inside(std::uint64_t first, std::uint64_t count) const;
  [[nodiscard]] DeviceAddress place(std::uint64_t index) const noexcept {
    return buffer_.address() + element_size_ * index;
  }

  GrowableBuffer buffer_;
  Bytes element_size_;
  std::uint64_t count_ = 0;
};

}  // namespace detail

template <class T>
class DeviceVector {
  static_assert(std::is_trivially_copyable_v<T>, "elements are copied byte by byte");

 public:
  using value_type = T;

  // Empty. ERRORS: those of GrowableBuffer::make.
  [[nodiscard]] static Result<DeviceVector> make(DriverUse use,
                                                 const GrowableBufferOptions& options = {},
                                                 CallSite site = CallSite::here()) {
    TESSERA_TRY_ASSIGN(GrowableBuffer buffer, GrowableBuffer::make(use, options, site));
    return DeviceVector(std::move(buffer));
  }

  [[nodiscard]] std::uint64_t size() const noexcept { return array_.size(); }
  [[nodiscard]] bool is_empty() const noexcept { return size() == 0; }
  // How many elements there is memory for.
  [[nodiscard]] std::uint64_t capacity() const noexcept { return array_.capacity(); }
  // The first element's address; it changes only with buffer().generation().
  [[nodiscard]] DeviceAddress address() const noexcept { return array_.buffer().address(); }
  // ERRORS: invalid_value (no such element).
  [[nodiscard]] Result<DeviceAddress> address_of(std::uint64_t index) const {
    return array_.address_of(index);
  }
  // What is underneath: access, pieces, statistics, retired addresses.
  [[nodiscard]] const GrowableBuffer& buffer() const noexcept { return array_.buffer(); }
  Status grant(const AccessSet& access) { return array_.buffer().grant(access); }
  Status release_retired(Quiescence proof) {
    return array_.buffer().release_retired(std::move(proof));
  }

  // Makes memory for `count` elements in all. ERRORS: as grow_to of GrowableBuffer, here and where
  // elements are added; invalid_value (so many elements need more bytes than 64 bits count).
  Status reserve(std::uint64_t count, CallSite site = CallSite::here()) {
    return array_.reserve(count, site);
  }
  // New elements are zero bytes, in the order of the current context's default stream. Fewer
  // elements give no memory back: shrink_to_fit does. ERRORS also: those of memset_d8.
  Status resize(std::uint64_t count, CallSite site = CallSite::here()) {
    return array_.resize(count, true, site);
  }
  // New elements are whatever is there. Needs no context.
  Status resize_uninitialized(std::uint64_t count, CallSite site = CallSite::here()) {
    return array_.resize(count, false, site);
  }
  Status clear() { return array_.resize(0, false, CallSite::here()); }

  // ERRORS also: those of memcpy_htod.
  Status push_back(const T& element, CallSite site = CallSite::here()) {
    return append(std::span(&element, 1), site);
  }
  Status append(std::span<const T> elements, CallSite site = CallSite::here()) {
    return array_.append(std::as_bytes(elements), site);
  }
  // In the place of all there is. After an error in the copy, the elements are lost: there are
  // none.
  Status assign(std::span<const T> elements, CallSite site = CallSite::here()) {
    return array_.assign(std::as_bytes(elements), site);
  }

  // Copies elements from number `first` on, to and from the host. ERRORS: invalid_value (not all
  // inside); those of memcpy_dtoh and memcpy_htod.
  Status copy_to_host(std::span<T> elements, std::uint64_t first = 0) const {
    return array_.read(first, std::as_writable_bytes(elements));
  }
  Status copy_from_host(std::span<const T> elements, std::uint64_t first = 0) {
    return array_.write(first, std::as_bytes(elements));
  }
  [[nodiscard]] Result<T> get(std::uint64_t index) const {
    T element;
    TESSERA_TRY(copy_to_host(std::span(&element, 1), index));
    return element;
  }
  Status set(std::uint64_t index, const T& element) {
    return copy_from_host(std::span(&element, 1), index);
  }

  // Unmaps the pieces wholly beyond the elements. ERRORS: as shrink_to of GrowableBuffer.
  Status shrink_to_fit(Quiescence proof) { return array_.shrink_to_fit(std::move(proof)); }
  // As GrowableBuffer's.
  Status close(Quiescence proof) { return array_.close(std::move(proof)); }

 private:
  explicit DeviceVector(GrowableBuffer buffer) noexcept
      : array_(std::move(buffer), Bytes(sizeof(T))) {}

  detail::DeviceArray array_;
};

}  // namespace tessera
