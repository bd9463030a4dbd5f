// Access for several devices to a range. Who can reach whom is asked first, so that a refusal names
// the pair; nothing is changed then. Enabling peer access between contexts has no part in it: that
// grants nothing on mapped memory [h200].
#pragma once

#include <span>

#include "tessera/owners/mapping.h"

namespace tessera {

// Whether each of `accessors` can map memory of `owner`; a device reaches itself.
// ERRORS: peer_access_unsupported (Reason::not_peers names the pair); invalid_device.
Status check_reach(Driver& driver, DeviceOrdinal owner, std::span<const DeviceOrdinal> accessors);

// Gives the devices read and write access to a mapping, in one call.
Status grant(Mapping& mapping, std::span<const DeviceOrdinal> devices);
// The same for every mapping in a range, whoever made them; nothing where nothing is mapped. One
// call a mapping, so that it works on drivers that do not take access for several at once. An owner
// or buffer does not hear of it, and neither waits for these devices nor asks for proof of them:
// for those, use their own `grant`. ERRORS: those of the walk and the check; after one, devices
// that had no access before have none.
Status grant(Driver& driver, AddressRange range, std::span<const DeviceOrdinal> devices);

}  // namespace tessera
