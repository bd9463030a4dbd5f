#include "validation/facts.h"

namespace tessera::validation {
namespace {

// CUdevice_attribute's numbers.
constexpr std::int32_t posix_descriptor_supported = 103;
constexpr std::int32_t win32_supported = 104;
constexpr std::int32_t win32_kmt_supported = 105;
constexpr std::int32_t compression_supported = 107;
constexpr std::int32_t persisting_l2_cache_size_max = 108;
constexpr std::int32_t fabric_supported = 128;

}  // namespace

Bytes Facts::ask_granularity() {
  granularity_ = target_.mem_get_allocation_granularity({}).value_or(Bytes());
  return granularity_;
}

std::optional<std::int32_t> Facts::device_count() {
  if (!device_count_) {
    if (const auto count = target_.device_get_count()) {
      device_count_ = *count;
    }
  }
  return device_count_;
}

std::optional<bool> Facts::can_access(DeviceOrdinal device, DeviceOrdinal peer) {
  if (device == peer) {
    return true;
  }
  const auto key = std::make_pair(device, peer);
  if (const auto found = peers_.find(key); found != peers_.end()) {
    return found->second;
  }
  const auto can = target_.device_can_access_peer({.device = device, .peer = peer});
  if (!can) {
    return std::nullopt;
  }
  peers_.emplace(key, *can);
  return *can;
}

std::optional<std::int32_t> Facts::attribute(DeviceOrdinal device, std::int32_t number) {
  const auto key = std::make_pair(device, number);
  if (const auto found = attributes_.find(key); found != attributes_.end()) {
    return found->second;
  }
  const auto value = target_.device_get_attribute({.attribute = number, .device = device});
  if (!value) {
    return std::nullopt;
  }
  attributes_.emplace(key, *value);
  return *value;
}

// The first drivers with these calls don't know the later attributes: there is no such thing then.
std::optional<bool> Facts::supports(DeviceOrdinal device, std::int32_t number) {
  if (const auto value = attribute(device, number)) {
    return *value != 0;
  }
  return attribute(device, posix_descriptor_supported) ? std::optional(false) : std::nullopt;
}

std::optional<HandleTypes> Facts::export_types(DeviceOrdinal device) {
  HandleTypes types = HandleTypes::none;
  for (const auto& [number, type] :
       {std::make_pair(posix_descriptor_supported, HandleTypes::posix_file_descriptor),
        std::make_pair(win32_supported, HandleTypes::win32),
        std::make_pair(win32_kmt_supported, HandleTypes::win32_kmt),
        std::make_pair(fabric_supported, HandleTypes::fabric)}) {
    const auto is_supported = supports(device, number);
    if (!is_supported) {
      return std::nullopt;
    }
    types = *is_supported ? types | type : types;
  }
  return types;
}

std::optional<bool> Facts::compression(DeviceOrdinal device) {
  return supports(device, compression_supported);
}

std::optional<std::uint64_t> Facts::persisting_l2_cache_size(DeviceOrdinal device) {
  const auto value = attribute(device, persisting_l2_cache_size_max);
  // A negative one is no limit: it becomes more than any value.
  return value ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
}

std::optional<ContextHandle> Facts::current_context() {
  const auto context = target_.ctx_get_current();
  return context ? std::optional(*context) : std::nullopt;
}

}  // namespace tessera::validation
