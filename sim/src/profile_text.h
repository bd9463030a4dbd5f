// How values of a profile are written in files and messages, and read back.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/address.h"
#include "tessera/error.h"
#include "tessera/requests.h"

namespace tessera::sim {

// "2 MiB"; a plain number where no unit divides it.
[[nodiscard]] std::string size_text(Bytes size);
// What size_text writes, also without the blank; nothing for other text and for what is too large.
[[nodiscard]] std::optional<Bytes> size_from_text(std::string_view text);
// "0x200000000"
[[nodiscard]] std::string address_text(DeviceAddress address);
[[nodiscard]] std::optional<DeviceAddress> address_from_text(std::string_view text);
// "[0x1000, 0x2000)"
[[nodiscard]] std::string range_text(AddressRange range);
// A text of any content for messages: quoted, shortened, printable.
[[nodiscard]] std::string in_quotes(std::string_view text);

using HandleTypeNames = std::span<const std::pair<std::string_view, HandleTypes>>;
[[nodiscard]] HandleTypeNames handle_type_names();
[[nodiscard]] HandleTypes known_handle_types();

[[nodiscard]] bool is_call(Call call);
[[nodiscard]] std::optional<Call> call_from_name(std::string_view name);
[[nodiscard]] const std::vector<std::string_view>& call_names();

// "; did you mean \"name\"?" where a known name is near, else nothing.
[[nodiscard]] std::string suggestion(std::string_view name,
                                     std::span<const std::string_view> known);

}  // namespace tessera::sim
