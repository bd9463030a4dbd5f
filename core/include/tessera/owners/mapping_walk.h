// Walks a range mapping by mapping, whoever made them: a buffer of several handles has to be
// exported, registered and granted piece by piece.
#pragma once

#include <functional>
#include <vector>

#include "tessera/address.h"
#include "tessera/driver.h"

namespace tessera {

// Calls `visit` with each mapping that intersects the range, whole, in address order, holes passed
// over in steps of the driver's granularity; stops at the first error that it returns, which comes
// back. Asks the driver, so it sees mappings that no owner knows.
// ERRORS: invalid_value (the range starts in no reservation).
Status for_each_mapping(Driver& driver, AddressRange range,
                        const std::function<Status(AddressRange)>& visit);

[[nodiscard]] Result<std::vector<AddressRange>> mappings_in(Driver& driver, AddressRange range);

}  // namespace tessera
