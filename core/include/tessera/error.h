// Error: why a call was refused. Small, copied freely, allocates nothing: the numbers are kept
// and the text is made when somebody asks for it (`to_string`).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

// CUresult's numbers, one to one. A number that this list lacks is kept as it came.
enum class ErrorCode : std::int32_t {
#define TESSERA_ERROR_CODE(name, number) name = number,
#include "tessera/error_codes.def"
#undef TESSERA_ERROR_CODE
};

// The driver call that was made.
enum class Call : std::uint8_t {
  none,  // no driver call: the library itself
#define TESSERA_CALL(method, cuda_name) method,
#include "tessera/calls.def"
#undef TESSERA_CALL
};

// How many values Call has.
inline constexpr std::size_t call_count = 1
#define TESSERA_CALL(method, cuda_name) +1
#include "tessera/calls.def"
#undef TESSERA_CALL
    ;

// Who gave the answer.
enum class Origin : std::uint8_t { driver, simulator, injected, validation, library };

// What was wrong, in words: reasons.def. `none` where only the code is known (a real driver).
enum class Reason : std::uint16_t {
  none,
#define TESSERA_REASON(name, text) name,
#include "tessera/reasons.def"
#undef TESSERA_REASON
};

// A rule of the validation layer, by its number in layers/rules.def; zero is none.
enum class RuleId : std::uint16_t {
  none = 0,
#define TESSERA_RULE(number, name, call, source, consequence, code, text, done, instead) \
  name = number,
#include "tessera/layers/rules.def"
#undef TESSERA_RULE
};

struct Error {
  ErrorCode code;
  Call call = Call::none;
  Origin origin = Origin::library;
  Reason reason = Reason::none;
  RuleId rule = RuleId::none;
  // The values that the reason's text names.
  std::array<std::uint64_t, 3> values = {};

  friend bool operator==(const Error&, const Error&) = default;
};

// "mem_map", as the method of Driver; "cuMemMap", as CUDA calls it.
[[nodiscard]] std::string_view method_name(Call call) noexcept;
[[nodiscard]] std::string_view cuda_name(Call call) noexcept;
// "INVALID_VALUE", as the recordings write it; the plain number where the list has no name.
[[nodiscard]] std::string code_name(ErrorCode code);
// The code that `code_name` would print so: a listed name or a number; zero if it is neither.
[[nodiscard]] ErrorCode code_from_name(std::string_view name) noexcept;
[[nodiscard]] std::string_view origin_name(Origin origin) noexcept;

// Whether the code says that the process's contexts are lost: work ended in a fault, nothing runs
// any more, and every later call that needs a context says the same [CUDA's documentation of each
// code; illegal_address and launch_failed: h200]. Virtual memory calls go on [h200].
[[nodiscard]] bool means_contexts_lost(ErrorCode code) noexcept;

// The reason in words, with its values, or what broke the rule; empty where there is neither.
[[nodiscard]] std::string explain(const Error& error);
// One line: "mem_map: INVALID_VALUE (1) from the simulator: address ... is not reserved"; of the
// validation layer "... from validation, rule map_over_mapping (405): ...".
[[nodiscard]] std::string to_string(const Error& error);

}  // namespace tessera
