// Profiles as files (JSON, docs/profiles.md). A file names every field, or names another profile to
// start from in "based_on" and only what differs.
#pragma once

#include <string>
#include <variant>

#include "tessera/sim/profile.h"

namespace tessera::sim {

// Reads a file, or the built-in profile of that name when there is one and no such file.
// The profile that comes out passes check_profile. Faults name the place (line or field), what was
// found and what is allowed.
[[nodiscard]] std::variant<Profile, ProfileError> load_profile(const std::string& path_or_name);
[[nodiscard]] std::variant<Profile, ProfileError> profile_from_text(const std::string& text);
// What load_profile reads back equal.
[[nodiscard]] std::string profile_to_text(const Profile& profile);

}  // namespace tessera::sim
