#include "owners/grant_over.h"

#include <array>
#include <span>
#include <vector>

namespace tessera::detail {
namespace {

Status set_access(Driver& driver, AddressRange range,
                  std::span<const AccessDescriptor> descriptors) {
  return driver.mem_set_access(
      {.address = range.begin(), .size = range.size(), .descriptors = descriptors});
}

// One by one: the location that was refused is refused again, and must not keep the rest. The error
// of the call is the one to report, whatever becomes of putting things back.
void put_back(Driver& driver, AddressRange range, const AccessSet& before, const AccessSet& more) {
  for (const AccessDescriptor& descriptor : more.without(before).revoking_descriptors()) {
    static_cast<void>(set_access(driver, range, std::span(&descriptor, 1)));
  }
  for (const AccessDescriptor& descriptor : before.descriptors()) {
    if (more.of(descriptor.location) != AccessFlags::none) {
      static_cast<void>(set_access(driver, range, std::span(&descriptor, 1)));
    }
  }
}

}  // namespace

Status grant_over(Driver& driver, std::span<const AddressRange> ranges, const AccessSet& before,
                  const AccessSet& more) {
  // As many as machines have devices; more take memory.
  std::array<AccessDescriptor, 8> few;
  std::vector<AccessDescriptor> many;
  if (more.count() > few.size()) {
    many = more.descriptors();
  }
  const std::span<const AccessDescriptor> descriptors =
      many.empty() ? more.descriptors_in(few) : std::span<const AccessDescriptor>(many);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Status done = set_access(driver, ranges[i], descriptors);
    if (!done) [[unlikely]] {
      for (const AddressRange& range : ranges.first(i + 1)) {
        put_back(driver, range, before, more);
      }
      return done;
    }
  }
  return {};
}

}  // namespace tessera::detail
