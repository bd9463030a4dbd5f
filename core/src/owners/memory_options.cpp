#include "tessera/owners/memory_options.h"

namespace tessera {

Result<Bytes> granularity_of(Driver& driver, const MemoryOptions& options) {
  TESSERA_TRY_ASSIGN(const Bytes granularity,
                     driver.mem_get_allocation_granularity(
                         {.properties = properties_of(options), .option = options.granularity}));
  // Everything after this divides by it.
  if (granularity.is_zero()) {
    return Error{.code = ErrorCode::not_supported,
                 .call = Call::mem_get_allocation_granularity,
                 .reason = Reason::granularity_is_zero};
  }
  return granularity;
}

Result<Bytes> detail::rounded_up_size(Bytes size, Bytes granularity) {
  if (size.is_zero()) {
    return Error{.code = ErrorCode::invalid_value,
                 .reason = Reason::size_is_zero,
                 .values = {granularity.value()}};
  }
  const std::optional<Bytes> rounded = checked_align_up(size, granularity);
  if (!rounded) {
    return Error{.code = ErrorCode::invalid_value,
                 .reason = Reason::size_beyond_all,
                 .values = {size.value()}};
  }
  return *rounded;
}

std::vector<PropertyDifference> compare_properties(const AllocationProperties& asked,
                                                   const AllocationProperties& got) {
  std::vector<PropertyDifference> differences;
  const auto compare = [&](std::string_view name, auto asked_value, auto got_value) {
    if (asked_value != got_value) {
      differences.push_back({.name = name,
                             .asked = static_cast<std::uint64_t>(asked_value),
                             .got = static_cast<std::uint64_t>(got_value)});
    }
  };
  compare("type", asked.type, got.type);
  compare("export types", asked.requested_handle_types, got.requested_handle_types);
  compare("location type", asked.location.type, got.location.type);
  compare("location id", asked.location.id, got.location.id);
  compare("compression", asked.compression, got.compression);
  compare("GPU-direct RDMA", asked.gpu_direct_rdma_capable, got.gpu_direct_rdma_capable);
  compare("usage", asked.usage, got.usage);
  return differences;
}

std::string to_string(const std::vector<PropertyDifference>& differences) {
  std::string out;
  for (const PropertyDifference& difference : differences) {
    out += std::string(difference.name) + ": " + std::to_string(difference.asked) + " asked, " +
           std::to_string(difference.got) + " got\n";
  }
  return out;
}

}  // namespace tessera
