// Inspection: one call as the checks see it: what is live, what is in flight, what the machine is,
// and where findings go. A check reads and reports; it changes nothing.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/layers/finding.h"
#include "tessera/live_objects.h"
#include "validation/facts.h"
#include "validation/work_tracker.h"

namespace tessera::validation {

// Larger than every rule's number.
using RuleSet = std::bitset<1100>;

// What a rule's text names.
struct Values {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t third = 0;
};

class Inspection {
 public:
  Inspection(const LiveObjects& live, const WorkTracker& queued, Facts& machine,
             const RuleSet& ignored, const MadeBy& call) noexcept
      : objects(live), work(queued), facts(machine), by(call), ignored_(ignored) {}

  const LiveObjects& objects;
  const WorkTracker& work;
  Facts& facts;
  const MadeBy& by;

  // `object`: the call that made, or ended, what it is about. Gives false: `return report(...)`
  // says that the call is not to be looked at further.
  bool report(RuleId rule, const Values& values = {}, const MadeBy& object = {}) {
    if (!ignored_.test(static_cast<std::size_t>(rule))) {
      findings_.push_back({.rule = rule,
                           .call = by.call,
                           .call_number = by.call_number,
                           .site = by.site,
                           .values = {values.first, values.second, values.third},
                           .object = object});
    }
    return false;
  }
  // Reports where the condition does not hold, and gives it.
  bool holds(bool condition, RuleId rule, const Values& values = {}, const MadeBy& object = {}) {
    if (!condition) [[unlikely]] {
      report(rule, values, object);
    }
    return condition;
  }
  [[nodiscard]] std::vector<Finding>& findings() noexcept { return findings_; }

  // --- Shared by the checks; each reports what is wrong and says whether to look further ---

  bool flags_are(std::uint64_t flags, std::uint64_t known = 0) {
    return holds((flags & ~known) == 0, RuleId::flags_unknown, {flags, known});
  }
  bool pointers_are_given(NullPointers null_pointers) {
    return holds(null_pointers == NullPointers::none, RuleId::null_pointer);
  }
  bool device_exists(DeviceOrdinal device);
  // A positive multiple of the granularity.
  bool size_fits(RuleId rule, Bytes size);
  bool is_aligned_to_granularity(std::uint64_t value) {
    const Bytes granularity = facts.granularity();
    return granularity.is_zero() || value % granularity.value() == 0;
  }
  std::optional<AddressRange> range_of(DeviceAddress address, Bytes size);
  // The reservation around an address; null after a report by `rule`.
  const LiveReservation* reservation_at(RuleId rule, DeviceAddress address);
  // A live handle, of memory or, where `multicast` says so, of a multicast object; null after a
  // report. A handle without a reference is reported and given.
  enum class Wants : std::uint8_t { memory, multicast, either };
  const LiveHandle* usable(AllocationHandle handle, Wants wants);
  // The first address of the range where the layer knows of nothing.
  [[nodiscard]] std::optional<DeviceAddress> first_unknown(AddressRange range) const;
  // The device of the context in which a stream's work runs; nothing where it is not known.
  std::optional<DeviceOrdinal> device_of(ContextHandle context) const;

 private:
  const RuleSet& ignored_;
  std::vector<Finding> findings_;
};

// A reported value that is signed.
[[nodiscard]] constexpr std::uint64_t number(std::int32_t value) noexcept {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}
template <class Enum>
[[nodiscard]] constexpr std::uint64_t number_of(Enum value) noexcept {
  return static_cast<std::uint64_t>(value);
}

}  // namespace tessera::validation
