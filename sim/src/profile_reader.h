// Reads a profile from a tree of JSON, field by field.
#pragma once

#include <optional>
#include <string>

#include "json_tree.h"
#include "tessera/sim/profile.h"

namespace tessera::sim {

// Reads what `object` names into `profile`. Where `complete` it has to name every field. The first
// fault in words, with its line and field; nothing when all is well.
[[nodiscard]] std::optional<std::string> read_profile(const JsonValue& object, bool complete,
                                                      Profile& profile);

}  // namespace tessera::sim
