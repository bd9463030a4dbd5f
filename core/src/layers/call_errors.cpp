#include "tessera/layers/call_errors.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "tessera/check.h"

namespace tessera {
namespace {

enum class Need : std::uint8_t { nothing, started, context };

struct CallErrors {
  // The longest list is mem_create's or ctx_enable_peer_access's.
  std::array<ErrorCode, 8> codes = {};
  std::size_t count = 0;

  constexpr void add(ErrorCode code) {
    for (std::size_t i = 0; i < count; ++i) {
      if (codes.at(i) == code) {
        return;
      }
    }
    codes.at(count) = code;
    ++count;
  }
};

constexpr CallErrors errors_of(Need need, std::initializer_list<ErrorCode> own) {
  CallErrors errors;
  for (const ErrorCode code : own) {
    errors.add(code);
  }
  if (need == Need::context) {
    errors.add(ErrorCode::invalid_context);
    errors.add(ErrorCode::context_is_destroyed);
    errors.add(ErrorCode::illegal_address);
  }
  if (need != Need::nothing) {
    errors.add(ErrorCode::not_initialized);
  }
  return errors;
}

constexpr std::array<CallErrors, call_count> make_table() {
  using enum ErrorCode;
  std::array<CallErrors, call_count> table = {};
#define TESSERA_CALL_ERRORS(method, need, ...) \
  table.at(static_cast<std::size_t>(Call::method)) = errors_of(Need::need, {__VA_ARGS__});
#include "tessera/layers/call_errors.def"
#undef TESSERA_CALL_ERRORS
  return table;
}

constexpr std::array<CallErrors, call_count> table = make_table();

}  // namespace

std::span<const ErrorCode> call_errors(Call call) noexcept {
  const auto index = static_cast<std::size_t>(call);
  TESSERA_CHECK(index < table.size());
  return std::span(table[index].codes).first(table[index].count);
}

}  // namespace tessera
