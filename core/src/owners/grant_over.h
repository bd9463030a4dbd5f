// Sets access over ranges of whole mappings that all have the same access so far.
#pragma once

#include <span>

#include "tessera/driver.h"
#include "tessera/owners/access_set.h"

namespace tessera::detail {

// Gives `more`, beside `before`, in one call a range. ERRORS: those of mem_set_access. Some of the
// ranges and locations may then have got it (descriptors apply in order [h200]): all have `before`
// again.
Status grant_over(Driver& driver, std::span<const AddressRange> ranges, const AccessSet& before,
                  const AccessSet& more);

}  // namespace tessera::detail
