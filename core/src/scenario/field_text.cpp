#include "scenario/field_text.h"

namespace tessera::scenario {
namespace {

// Takes what stands before `separator` off `rest`; all of it if there is none.
std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return part;
}

}  // namespace

FieldResult parse_field(std::string_view text, HandleTypes& types) {
  std::uint32_t number = 0;
  if (!parse_field(text, number)) {
    types = static_cast<HandleTypes>(number);
    return {};
  }
  const char* const begin = text.data();
  types = HandleTypes::none;
  std::size_t position = 0;
  do {
    const std::size_t end = std::min(text.find('+', position), text.size());
    const std::string_view part = text.substr(position, end - position);
    bool known = false;
    for (const auto& [name, value] : Names<HandleTypes>::list) {
      if (part == name) {
        types = types | value;
        known = true;
      }
    }
    if (!known) {
      return FieldError{static_cast<std::size_t>(part.data() - begin),
                        Names<HandleTypes>::expected};
    }
    position = end + 1;
  } while (position <= text.size());
  return {};
}

void print_field(std::string& out, HandleTypes types) {
  const auto bits = static_cast<std::uint32_t>(types);
  constexpr std::uint32_t known = 0x0f;
  if (bits == 0) {
    out += "none";
  } else if ((bits & ~known) != 0) {
    print_field(out, bits);
  } else {
    bool first = true;
    for (const auto& [name, value] : Names<HandleTypes>::list) {
      if (value != HandleTypes::none && has_all(types, value)) {
        out += first ? "" : "+";
        out += name;
        first = false;
      }
    }
  }
}

FieldResult parse_field(std::string_view text, Pointer& pointer) {
  if (text != "null") {
    return FieldError{0, "null"};
  }
  pointer = Pointer::null;
  return {};
}

void print_field(std::string& out, Pointer pointer) {
  out += pointer == Pointer::null ? "null" : "given";
}

FieldResult parse_field(std::string_view text, std::vector<AccessDescriptor>& descriptors) {
  descriptors.clear();
  const char* const begin = text.data();
  do {
    std::string_view one = take_until(text, ',');
    const auto offset = static_cast<std::size_t>(one.data() - begin);
    AccessDescriptor descriptor = {};
    const std::string_view location = take_until(one, ':');
    const std::string_view id = take_until(one, ':');
    if (parse_field(location, descriptor.location.type) ||
        parse_field(id, descriptor.location.id) || parse_field(one, descriptor.flags)) {
      return FieldError{offset,
                        "LOCATION:ID:PROTECTION, such as device:0:rw, several joined by commas"};
    }
    descriptors.push_back(descriptor);
  } while (!text.empty());
  return {};
}

void print_field(std::string& out, const std::vector<AccessDescriptor>& descriptors) {
  for (const AccessDescriptor& descriptor : descriptors) {
    if (&descriptor != descriptors.data()) {
      out += ',';
    }
    print_field(out, descriptor.location.type);
    out += ':';
    print_field(out, descriptor.location.id);
    out += ':';
    print_field(out, descriptor.flags);
  }
}

}  // namespace tessera::scenario
