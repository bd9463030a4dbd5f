// Walks a range mapping by mapping, whoever made them: a buffer of several handles has to be
// exported, registered and granted piece by piece.
#pragma once

#include <functional>
#include <vector>

#include "tessera/address.h"
#include "tessera/driver.h"

namespace tessera {

// Calls `visit` with each mapping that intersects the range, whole, in address order; stops at the
// first error that it returns, which comes back. Asks the driver, so it sees mappings that no owner
// knows; holes are passed over in steps of the driver's granularity, a call each: give it what is
// mapped, not all that is reserved. Where nothing is mapped there is nothing to visit: drivers do
// not tell a reserved address from another [h200]. ERRORS: also those of the driver's queries,
// other than that nothing is mapped.
Status for_each_mapping(Driver& driver, AddressRange range,
                        const std::function<Status(AddressRange)>& visit);

[[nodiscard]] Result<std::vector<AddressRange>> mappings_in(Driver& driver, AddressRange range);

}  // namespace tessera
