#include "profile_reader.h"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "profile_fields.h"
#include "profile_text.h"

namespace tessera::sim {
namespace {

using Kind = JsonValue::Kind;

template <class Struct>
std::vector<std::string_view> field_names() {
  std::vector<std::string_view> names;
  detail::for_each_field<Struct>([&names](const auto& field) { names.push_back(field.name); });
  return names;
}

std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

// Keeps the first fault; after it nothing is read.
class Reader {
 public:
  [[nodiscard]] std::optional<std::string> fault() && { return std::move(fault_); }

  // An object that names fields of `target`, all of them where `complete`; others keep their value.
  template <class Struct>
  void read_struct(const JsonValue& object, const std::string& path, bool complete, Struct& target,
                   std::string_view also_known = {}) {
    if (!must_be(object, Kind::object, path, "an object")) {
      return;
    }
    std::vector<std::string_view> known = field_names<Struct>();
    if (!also_known.empty()) {
      known.push_back(also_known);
    }
    for (const JsonValue& member : object.items) {
      if (std::find(known.begin(), known.end(), member.name) == known.end()) {
        return refuse(member.name_position, path,
                      "has no field " + in_quotes(member.name) + suggestion(member.name, known));
      }
    }
    std::vector<std::string_view> missing;
    detail::for_each_field<Struct>([&](const auto& field) {
      if (const JsonValue* value = find_member(object, field.name)) {
        read(*value, below(path, field.name), complete, target.*field.member);
      } else if (complete) {
        missing.push_back(field.name);
      }
    });
    if (!missing.empty()) {
      refuse(object.position, path,
             "lacks " + joined(missing) +
                 (path.empty() ? "; name every field, or start from a profile with \"based_on\""
                               : ""));
    }
  }

 private:
  static std::string below(const std::string& path, std::string_view name) {
    return path.empty() ? std::string(name) : path + "." + std::string(name);
  }
  static std::string below(const std::string& path, std::size_t index) {
    return path + "[" + std::to_string(index) + "]";
  }

  void refuse(TextPosition position, const std::string& path, const std::string& text) {
    if (!fault_) {
      fault_ = to_string(position) + ": " + (path.empty() ? "the profile" : path) + " " + text;
    }
  }
  void refuse_value(const JsonValue& value, const std::string& path, std::string_view wanted) {
    refuse(value.position, path, "is " + describe(value) + "; expected " + std::string(wanted));
  }
  bool must_be(const JsonValue& value, Kind kind, const std::string& path,
               std::string_view wanted) {
    if (value.kind != kind) {
      refuse_value(value, path, wanted);
    }
    return value.kind == kind;
  }

  void read(const JsonValue& value, const std::string& path, bool /*complete*/,
            std::string& target) {
    if (must_be(value, Kind::string, path, "a string")) {
      target = value.text;
    }
  }

  void read(const JsonValue& value, const std::string& path, bool /*complete*/, bool& target) {
    if (must_be(value, Kind::boolean, path, "true or false")) {
      target = value.boolean;
    }
  }

  template <std::integral Number>
  void read(const JsonValue& value, const std::string& path, bool /*complete*/, Number& target) {
    if (value.kind == Kind::natural && std::in_range<Number>(value.natural)) {
      target = static_cast<Number>(value.natural);
    } else if (value.kind == Kind::negative && std::in_range<Number>(value.negative)) {
      target = static_cast<Number>(value.negative);
    } else {
      refuse_value(value, path,
                   "a whole number from " + std::to_string(std::numeric_limits<Number>::min()) +
                       " to " + std::to_string(std::numeric_limits<Number>::max()));
    }
  }

  void read(const JsonValue& value, const std::string& path, bool /*complete*/, Bytes& target) {
    if (value.kind == Kind::natural) {
      target = Bytes(value.natural);
      return;
    }
    const auto size = value.kind == Kind::string ? size_from_text(value.text) : std::nullopt;
    if (!size) {
      return refuse_value(value, path,
                          "a size below 2^64 bytes: a whole number, or one with a unit (B, KiB, "
                          "MiB, GiB, TiB) as a string, such as \"2 MiB\"");
    }
    target = *size;
  }

  std::optional<DeviceAddress> read_address(const JsonValue& value, const std::string& path) {
    if (value.kind == Kind::natural) {
      return DeviceAddress(value.natural);
    }
    const auto address = value.kind == Kind::string ? address_from_text(value.text) : std::nullopt;
    if (!address) {
      refuse_value(value, path,
                   "an address below 2^64: a whole number, or a string such as \"0x200000000\"");
    }
    return address;
  }

  void read(const JsonValue& value, const std::string& path, bool /*complete*/,
            AddressRange& target) {
    const JsonValue* begin = find_member(value, "begin");
    const JsonValue* end = find_member(value, "end");
    if (value.kind != Kind::object || begin == nullptr || end == nullptr ||
        value.items.size() != 2) {
      return refuse_value(value, path, "an object with \"begin\" and \"end\", and no more");
    }
    const auto first = read_address(*begin, below(path, "begin"));
    const auto past_last = read_address(*end, below(path, "end"));
    if (!first || !past_last) {
      return;
    }
    if (*past_last <= *first) {
      return refuse(
          end->position, below(path, "end"),
          "is " + address_text(*past_last) + "; expected more than begin, " + address_text(*first));
    }
    target = AddressRange(*first, *past_last - *first);
  }

  void read(const JsonValue& value, const std::string& path, bool /*complete*/,
            HandleTypes& target) {
    std::vector<std::string_view> known;
    for (const auto& [name, type] : handle_type_names()) {
      known.push_back(name);
    }
    const std::string wanted = "an array of handle types (" + joined(known) + ")";
    if (!must_be(value, Kind::array, path, wanted)) {
      return;
    }
    HandleTypes types = HandleTypes::none;
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      bool is_known = false;
      for (const auto& [name, type] : handle_type_names()) {
        if (value.items[i].kind == Kind::string && value.items[i].text == name) {
          types = types | type;
          is_known = true;
        }
      }
      if (!is_known) {
        return refuse_value(value.items[i], below(path, i),
                            "one of " + joined(known) + suggestion(value.items[i].text, known));
      }
    }
    target = types;
  }

  // Adds to what is there, so that a file based on another profile names only what differs; null
  // takes an attribute away.
  void read(const JsonValue& value, const std::string& path, bool /*complete*/,
            std::map<std::int32_t, std::int32_t>& target) {
    if (!must_be(value, Kind::object, path, "an object of attribute numbers and values")) {
      return;
    }
    for (const JsonValue& member : value.items) {
      const auto number = size_from_text(member.name);
      if (!number || member.name.find_first_not_of("0123456789") != std::string::npos ||
          !std::in_range<std::int32_t>(number->value())) {
        return refuse(member.name_position, path,
                      "has no field " + in_quotes(member.name) +
                          "; expected a number of CUdevice_attribute, such as \"75\"");
      }
      const auto attribute = static_cast<std::int32_t>(number->value());
      if (member.kind == Kind::null) {
        target.erase(attribute);
      } else {
        read(member, below(path, member.name), true, target[attribute]);
      }
    }
  }

  // Adds, as attributes do; null takes a call's cost away.
  void read(const JsonValue& value, const std::string& path, bool /*complete*/,
            std::map<Call, CallCost>& target) {
    if (!must_be(value, Kind::object, path, "an object of calls and their costs")) {
      return;
    }
    for (const JsonValue& member : value.items) {
      const auto call = call_from_name(member.name);
      if (!call) {
        return refuse(
            member.name_position, path,
            "has no call " + in_quotes(member.name) + suggestion(member.name, call_names()));
      }
      if (member.kind == Kind::null) {
        target.erase(*call);
      } else {
        read(member, below(path, member.name), true, target[*call]);
      }
    }
  }

  template <class Item>
  void read(const JsonValue& value, const std::string& path, bool complete,
            std::vector<Item>& target) {
    if (!must_be(value, Kind::array, path, "an array")) {
      return;
    }
    target.clear();
    for (std::size_t i = 0; i < value.items.size() && !fault_; ++i) {
      Item item = {};
      read(value.items[i], below(path, i), complete, item);
      target.push_back(std::move(item));
    }
  }

  template <class Struct>
  requires std::same_as<Struct, Quirks> || std::same_as<Struct, CallCost>
  void read(const JsonValue& value, const std::string& path, bool complete, Struct& target) {
    read_struct(value, path, complete, target);
  }

  std::optional<std::string> fault_;
};

}  // namespace

std::optional<std::string> read_profile(const JsonValue& object, bool complete, Profile& profile) {
  Reader reader;
  reader.read_struct(object, "", complete, profile, "based_on");
  return std::move(reader).fault();
}

}  // namespace tessera::sim
