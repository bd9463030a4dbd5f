#include "tessera/sim/profile_file.h"

#include <concepts>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "json_tree.h"
#include "profile_fields.h"
#include "profile_reader.h"
#include "profile_text.h"

namespace tessera::sim {
namespace {

// A profile takes a few KiB; what is longer is some other file.
constexpr std::size_t longest_text = std::size_t{1024} * 1024;

std::string known_profiles() {
  std::string names;
  for (const std::string_view name : built_in_profile_names()) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

// What `based_on` names, or an empty profile where it is absent; or a fault in words.
std::variant<Profile, ProfileError> profile_to_start_from(const JsonValue* based_on) {
  if (based_on == nullptr) {
    return Profile();
  }
  const std::string place = to_string(based_on->position) + ": based_on ";
  if (based_on->kind != JsonValue::Kind::string) {
    return ProfileError{place + "is " + describe(*based_on) + "; expected one of " +
                        known_profiles()};
  }
  const Profile* profile = built_in_profile(based_on->text);
  if (profile == nullptr) {
    const auto names = built_in_profile_names();
    return ProfileError{place + "is " + describe(*based_on) + "; built in are " + known_profiles() +
                        suggestion(based_on->text, names)};
  }
  return *profile;
}

// --- Writing ---

using Json = nlohmann::ordered_json;

template <class Struct>
Json write_struct(const Struct& value);

Json write(const std::string& text) { return text; }
Json write(bool flag) { return flag; }
template <std::integral Number>
Json write(Number number) {
  return number;
}
// As a plain number where no unit divides it.
Json write(Bytes size) {
  const std::string text = size_text(size);
  return text.find(' ') == std::string::npos ? Json(size.value()) : Json(text);
}
Json write(AddressRange range) {
  return {{"begin", address_text(range.begin())}, {"end", address_text(range.end())}};
}
Json write(HandleTypes types) {
  Json names = Json::array();
  for (const auto& [name, type] : handle_type_names()) {
    if (has_all(types, type)) {
      names.push_back(name);
    }
  }
  return names;
}
Json write(const std::map<std::int32_t, std::int32_t>& attributes) {
  Json object = Json::object();
  for (const auto& [number, value] : attributes) {
    object[std::to_string(number)] = value;
  }
  return object;
}
Json write(const CallCost& cost) { return write_struct(cost); }
Json write(const Quirks& quirks) { return write_struct(quirks); }
Json write(const std::map<Call, CallCost>& costs) {
  Json object = Json::object();
  for (const auto& [call, cost] : costs) {
    object[std::string(method_name(call))] = write(cost);
  }
  return object;
}
template <class Item>
Json write(const std::vector<Item>& items) {
  Json array = Json::array();
  for (const auto& item : items) {
    array.push_back(write(item));
  }
  return array;
}

template <class Struct>
Json write_struct(const Struct& value) {
  Json object = Json::object();
  detail::for_each_field<Struct>(
      [&](const auto& field) { object[std::string(field.name)] = write(value.*field.member); });
  return object;
}

// --- Reading ---

// Up to one byte more than a profile may have; nothing where reading fails.
std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return std::nullopt;
  }
  std::string text(longest_text + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) {
    return std::nullopt;
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

std::variant<Profile, ProfileError> profile_from_text(const std::string& text) {
  if (text.size() > longest_text) {
    return ProfileError{"longer than " + size_text(Bytes(longest_text)) +
                        ", the most that a profile may have"};
  }
  const auto parsed = parse_json(text);
  if (const auto* fault = std::get_if<JsonFault>(&parsed)) {
    return ProfileError{to_string(fault->position) + ": " + fault->message};
  }
  const JsonValue& object = std::get<JsonValue>(parsed);
  const JsonValue* based_on = find_member(object, "based_on");
  auto start = profile_to_start_from(based_on);
  if (std::holds_alternative<ProfileError>(start)) {
    return start;
  }
  Profile& profile = std::get<Profile>(start);
  if (const auto fault = read_profile(object, based_on == nullptr, profile)) {
    return ProfileError{*fault};
  }
  if (const std::string faults = check_profile(profile); !faults.empty()) {
    return ProfileError{"the profile contradicts itself:\n" + faults};
  }
  return start;
}

std::variant<Profile, ProfileError> load_profile(const std::string& path_or_name) {
  std::error_code error;
  const auto status = std::filesystem::status(path_or_name, error);
  // A folder of that name is not meant, a pipe may be.
  if (!std::filesystem::exists(status) || std::filesystem::is_directory(status)) {
    if (const Profile* profile = built_in_profile(path_or_name)) {
      return *profile;
    }
    const auto names = built_in_profile_names();
    return ProfileError{in_quotes(path_or_name) +
                        (std::filesystem::exists(status) ? " is a folder" : " is no file") +
                        " and no built-in profile; built in are " + known_profiles() +
                        suggestion(path_or_name, names)};
  }
  const auto text = read_file(path_or_name);
  if (!text) {
    return ProfileError{path_or_name + ": cannot be read"};
  }
  auto profile = profile_from_text(*text);
  if (auto* fault = std::get_if<ProfileError>(&profile)) {
    fault->message.insert(0, path_or_name + ": ");
  }
  return profile;
}

std::string profile_to_text(const Profile& profile) {
  // Replaces what is no UTF-8, which no usable profile has, rather than throw.
  return write_struct(profile).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tessera::sim
