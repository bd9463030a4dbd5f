#include "tessera/buffers/growth_policy.h"

#include <algorithm>
#include <optional>

namespace tessera {

Bytes GrowthPolicy::capacity_for(Bytes need, Bytes capacity, Bytes granularity) const noexcept {
  // Where a figure is beyond 64 bits, the need alone is left.
  Bytes wanted = need;
  if (numerator_ > denominator_) {
    // Divided first: capacities are far larger than denominators, and it cannot overflow then.
    const Bytes part(capacity.value() / denominator_);
    wanted = std::max(need, checked_multiply(part, numerator_).value_or(need));
  }
  if (!largest_step_.is_zero() && wanted - capacity > largest_step_) {
    wanted = std::max(need, capacity + largest_step_);
  }
  if (!chunk_.is_zero()) {
    const std::optional<Bytes> step = checked_align_up(wanted - capacity, chunk_);
    wanted = step ? checked_add(capacity, *step).value_or(wanted) : wanted;
  }
  if (wanted == need) {
    return need;
  }
  return std::max(need, checked_align_up(wanted, granularity).value_or(need));
}

}  // namespace tessera
