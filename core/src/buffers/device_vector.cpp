#include "tessera/buffers/device_vector.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "buffers/buffer_access.h"

namespace tessera::detail {

Status DeviceArray::check_inside(std::uint64_t first, std::uint64_t count) const {
  if (!buffer_.is_open()) {
    return buffer_is_closed();
  }
  if (first > count_ || count > count_ - first) {
    return Error{.code = ErrorCode::invalid_value,
                 .reason = Reason::elements_outside,
                 .values = {count, first, count_}};
  }
  return {};
}

Status DeviceArray::reserve(std::uint64_t count, CallSite site) {
  const std::optional<Bytes> size = checked_multiply(element_size_, count);
  if (!size) {
    return Error{.code = ErrorCode::invalid_value,
                 .reason = Reason::too_many_elements,
                 .values = {count, element_size_.value()}};
  }
  TESSERA_TRY(buffer_.grow_to(*size, site));
  return {};
}

Status DeviceArray::resize(std::uint64_t count, bool zeroed, CallSite site) {
  TESSERA_TRY(reserve(count, site));
  if (zeroed && count > count_) {
    TESSERA_TRY(buffer_.driver().memset_d8(
        {.destination = place(count_), .value = 0, .size = element_size_ * (count - count_)}));
  }
  count_ = count;
  return {};
}

Status DeviceArray::append(std::span<const std::byte> elements, CallSite site) {
  const std::uint64_t count = elements.size() / element_size_.value();
  if (count > std::numeric_limits<std::uint64_t>::max() - count_) {
    return reserve(std::numeric_limits<std::uint64_t>::max(), site);
  }
  TESSERA_TRY(reserve(count_ + count, site));
  if (count != 0) {
    TESSERA_TRY(buffer_.driver().memcpy_htod({.destination = place(count_), .source = elements}));
  }
  count_ += count;
  return {};
}

Status DeviceArray::assign(std::span<const std::byte> elements, CallSite site) {
  TESSERA_TRY(reserve(elements.size() / element_size_.value(), site));
  count_ = 0;
  return append(elements, site);
}

Status DeviceArray::write(std::uint64_t first, std::span<const std::byte> elements) {
  TESSERA_TRY(check_inside(first, elements.size() / element_size_.value()));
  return buffer_.driver().memcpy_htod({.destination = place(first), .source = elements});
}

Status DeviceArray::read(std::uint64_t first, std::span<std::byte> elements) const {
  TESSERA_TRY(check_inside(first, elements.size() / element_size_.value()));
  return buffer_.driver().memcpy_dtoh({.destination = elements, .source = place(first)});
}

Result<DeviceAddress> DeviceArray::address_of(std::uint64_t index) const {
  TESSERA_TRY(check_inside(index, 1));
  return place(index);
}

Status DeviceArray::shrink_to_fit(Quiescence proof) {
  const Bytes size = element_size_ * count_;
  if (buffer_.is_open() && buffer_.size() <= size) {
    return {};
  }
  return buffer_.shrink_to(size, std::move(proof));
}

Status DeviceArray::close(Quiescence proof) {
  const Status done = buffer_.close(std::move(proof));
  count_ = std::min(count_, buffer_.size() / element_size_);
  return done;
}

}  // namespace tessera::detail
