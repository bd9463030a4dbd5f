// The limits of a context: what each starts with, and what becomes of a value that is set. As an
// H200 with driver 580.159.04 answers; what depends on the device is taken from the profile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tessera/bytes.h"
#include "tessera/requests.h"
#include "tessera/sim/profile.h"

namespace tessera::sim {

struct LimitRule {
  enum class Use : std::uint8_t { settable, read_only, unsupported };
  enum class Beyond : std::uint8_t { capped, refused };

  Use use = Use::unsupported;
  Bytes initial;
  Bytes minimum;  // less is raised to it
  Bytes step;     // values are rounded up to multiples of it
  Bytes maximum;
  Beyond beyond = Beyond::refused;  // what happens to more

  // The value that is kept; false: it is refused. What rounding carries beyond 2^64 becomes zero.
  [[nodiscard]] bool adjust(Bytes& value) const;
};

inline constexpr std::size_t context_limit_count = 10;
using LimitRules = std::array<LimitRule, context_limit_count>;  // by ContextLimit
using ContextLimitValues = std::array<Bytes, context_limit_count>;

[[nodiscard]] LimitRules limit_rules(const Profile& profile);
[[nodiscard]] ContextLimitValues initial_limits(const LimitRules& rules);

}  // namespace tessera::sim
