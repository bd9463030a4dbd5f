#include "tessera/owners/mapping_walk.h"

#include <optional>

#include "tessera/owners/memory_options.h"

namespace tessera {
namespace {

Result<std::uint64_t> attribute_at(Driver& driver, PointerAttribute attribute,
                                   DeviceAddress address) {
  return driver.pointer_get_attribute({.attribute = attribute, .address = address});
}

// Nothing where nothing is mapped. ERRORS: what says something else than that.
Result<std::optional<AddressRange>> mapping_at(Driver& driver, DeviceAddress address) {
  const auto base = attribute_at(driver, PointerAttribute::mapping_base_addr, address);
  if (!base) {
    if (base.error().code == ErrorCode::invalid_value) {
      return std::optional<AddressRange>();
    }
    return base.error();
  }
  TESSERA_TRY_ASSIGN(const std::uint64_t size,
                     attribute_at(driver, PointerAttribute::mapping_size, address));
  return std::optional(AddressRange(DeviceAddress(*base), Bytes(size)));
}

}  // namespace

Status for_each_mapping(Driver& driver, AddressRange range,
                        const std::function<Status(AddressRange)>& visit) {
  TESSERA_TRY_ASSIGN(const Bytes granularity, granularity_of(driver, {}));
  DeviceAddress at = range.begin();
  while (at < range.end()) {
    TESSERA_TRY_ASSIGN(const std::optional<AddressRange> mapping, mapping_at(driver, at));
    if (mapping) {
      TESSERA_TRY(visit(*mapping));
      at = mapping->end();
    } else {
      // Mappings start at multiples of the granularity.
      at = DeviceAddress(align_down(Bytes(at.value()), granularity).value()) + granularity;
    }
  }
  return {};
}

Result<std::vector<AddressRange>> mappings_in(Driver& driver, AddressRange range) {
  std::vector<AddressRange> mappings;
  TESSERA_TRY(for_each_mapping(driver, range, [&](AddressRange mapping) -> Status {
    mappings.push_back(mapping);
    return {};
  }));
  return mappings;
}

}  // namespace tessera
