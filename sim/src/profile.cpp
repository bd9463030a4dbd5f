#include "tessera/sim/profile.h"

#include "profiles_built_in.h"

namespace tessera::sim {
namespace {

// In the order that users meet them.
const std::vector<Profile>& built_in_profiles() {
  static const std::vector<Profile> profiles = {h200_profile(),         documented_profile(),
                                                v100_cuda102_profile(), wddm_profile(),
                                                tiny_profile(),         odd_profile()};
  return profiles;
}

}  // namespace

std::vector<std::string_view> built_in_profile_names() {
  std::vector<std::string_view> names;
  for (const Profile& profile : built_in_profiles()) {
    names.emplace_back(profile.name);
  }
  return names;
}

Profile const* built_in_profile(std::string_view name) {
  for (const Profile& profile : built_in_profiles()) {
    if (profile.name == name) {
      return &profile;
    }
  }
  return nullptr;
}

}  // namespace tessera::sim
