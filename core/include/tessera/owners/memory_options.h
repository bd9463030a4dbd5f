// MemoryOptions: what physical memory should be like, as choices with names; and what of it was
// granted. A request is not a guarantee: drivers ignore what a machine does not have (compression,
// for one), so what was got can be asked for and compared.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/driver.h"

namespace tessera {

struct MemoryOptions {
  // on_device(d), on_host() or on_host_numa_node(n).
  Location location = on_device(DeviceOrdinal(0));
  // How it may be exported, joined by `|`. Kinds that a system lacks are values like the others and
  // are refused when memory is made: not_supported, or not_permitted (fabric without IMEX channel).
  HandleTypes exports = HandleTypes::none;
  bool gpu_direct_rdma = false;
  bool compression = false;
  // What sizes are rounded up to; the recommended one may be larger and faster.
  GranularityOption granularity = GranularityOption::minimum;
};

[[nodiscard]] constexpr Location on_host() noexcept { return {.type = LocationType::host}; }
[[nodiscard]] constexpr Location on_host_numa_node(std::int32_t node) noexcept {
  return {.type = LocationType::host_numa, .id = node};
}

[[nodiscard]] constexpr AllocationProperties properties_of(const MemoryOptions& options) noexcept {
  return {.requested_handle_types = options.exports,
          .location = options.location,
          .compression = options.compression ? Compression::generic : Compression::none,
          .gpu_direct_rdma_capable = std::uint8_t{options.gpu_direct_rdma}};
}

// What sizes of such memory, and its places, are multiples of. Ask once and keep it.
// ERRORS: those of mem_get_allocation_granularity; not_supported where a device (a virtual GPU, for
// one) has no virtual memory management at all: this call is the first to notice.
[[nodiscard]] Result<Bytes> granularity_of(Driver& driver, const MemoryOptions& options);

namespace detail {
[[nodiscard]] Result<Bytes> rounded_up_size(Bytes size, Bytes granularity);
}

// `size` rounded up to the granularity. ERRORS: invalid_value (zero, or beyond 64 bits).
[[nodiscard]] inline Result<Bytes> rounded_size(Bytes size, Bytes granularity) {
  // Sizes are nearly always multiples of a power of two, and dividing costs as much as all the
  // rest.
  if (!size.is_zero() && is_power_of_two(granularity) &&
      (size.value() & (granularity.value() - 1)) == 0) {
    return size;
  }
  return detail::rounded_up_size(size, granularity);
}

// A property that came out otherwise than asked, as numbers in CUDA's terms.
struct PropertyDifference {
  std::string_view name;
  std::uint64_t asked;
  std::uint64_t got;

  friend bool operator==(const PropertyDifference&, const PropertyDifference&) = default;
};

[[nodiscard]] std::vector<PropertyDifference> compare_properties(const AllocationProperties& asked,
                                                                 const AllocationProperties& got);
// "compression: 1 asked, 0 got"; one line each.
[[nodiscard]] std::string to_string(const std::vector<PropertyDifference>& differences);

}  // namespace tessera
