#include "context_limits.h"

#include <algorithm>

namespace tessera::sim {
namespace {

constexpr std::int32_t shared_memory_per_block_optin = 97;
constexpr std::int32_t persisting_l2_cache_size_max = 108;

Bytes attribute(const Profile& profile, std::int32_t number) {
  const auto found = profile.device_attributes.find(number);
  const bool is_there = found != profile.device_attributes.end() && found->second > 0;
  return is_there ? Bytes(static_cast<std::uint64_t>(found->second)) : Bytes();
}

}  // namespace

bool LimitRule::adjust(Bytes& value) const {
  if (beyond == Beyond::refused && value > maximum) {
    return false;
  }
  const std::uint64_t raised = std::max(value, minimum).value();
  const std::uint64_t rounded = (raised + step.value() - 1) / step.value() * step.value();
  value = std::min(Bytes(rounded), maximum);
  return true;
}

LimitRules limit_rules(const Profile& profile) {
  using enum LimitRule::Use;
  using enum LimitRule::Beyond;
  // Persisting L2 is set aside in tenths of what can be, and three of them from the start.
  const Bytes l2_max = attribute(profile, persisting_l2_cache_size_max);
  const Bytes l2_step(std::max<std::uint64_t>(l2_max.value() / 10, 1));
  const Bytes shared_memory = attribute(profile, shared_memory_per_block_optin);
  return {
      LimitRule{settable, profile.stack_size, {}, 16_B, 512_KiB - 576_B, refused},
      LimitRule{settable, profile.printf_fifo_size, 512_KiB, 256_B, 2_GiB, capped},
      // The heap's maximum and the launches' are what was measured; what they follow is not known.
      LimitRule{settable, profile.malloc_heap_size, 4_MiB, 64_KiB, Bytes(17'681'179'680), capped},
      LimitRule{},  // dev_runtime_sync_depth
      LimitRule{settable, 2048_B, 32_B, 1_B, Bytes(599'186), capped},
      LimitRule{settable, 64_B, {}, 1_B, 128_B, refused},
      LimitRule{settable, l2_step * (l2_max.is_zero() ? 0 : 3), {}, l2_step, l2_max, refused},
      LimitRule{read_only, shared_memory, {}, 1_B, shared_memory, refused},
      LimitRule{read_only, {}, {}, 1_B, {}, refused},  // cig_enabled
      LimitRule{},                                     // cig_shmem_fallback_enabled
  };
}

ContextLimitValues initial_limits(const LimitRules& rules) {
  ContextLimitValues values;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    values.at(i) = rules.at(i).initial;
  }
  return values;
}

}  // namespace tessera::sim
