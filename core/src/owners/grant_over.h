// Sets access over a range of whole mappings that all have the same access so far.
#pragma once

#include "tessera/driver.h"
#include "tessera/owners/access_set.h"

namespace tessera::detail {

// Gives `more`, beside `before`, in one call. ERRORS: those of mem_set_access. Some of the
// locations may then have got it (descriptors apply in order [h200]): all have `before` again.
Status grant_over(Driver& driver, AddressRange range, const AccessSet& before,
                  const AccessSet& more);

}  // namespace tessera::detail
