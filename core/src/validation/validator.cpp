#include "validation/validator.h"

#include <algorithm>

namespace tessera {

Validator::Validator(Driver& target, ValidationOptions options)
    : options_(std::move(options)), facts_(target) {
  for (const RuleId rule : options_.ignored) {
    const auto number = static_cast<std::size_t>(rule);
    TESSERA_CHECK_LE(number, ignored_.size() - 1);
    ignored_.set(number);
  }
  for (const Rule& rule : all_rules()) {
    if (rule.source == RuleSource::portability && !options_.portability) {
      ignored_.set(static_cast<std::size_t>(rule.id));
    }
  }
}

void Validator::keep(std::vector<Finding>& findings, ErrorCode answer, bool was_refused) {
  for (Finding& finding : findings) {
    finding.answer = answer;
    finding.was_refused = was_refused;
    ++finding_count_;
    if (findings_.size() < options_.findings_max) {
      findings_.push_back(finding);
    }
  }
}

void Validator::tell(const std::vector<Finding>& findings) const {
  if (options_.on_finding) {
    for (const Finding& finding : findings) {
      options_.on_finding(finding);
    }
  }
}

const Finding* Validator::reason_to_refuse(const std::vector<Finding>& findings) const {
  if (options_.mode != ValidationMode::refuse) {
    return nullptr;
  }
  const auto found = std::find_if(findings.begin(), findings.end(), [](const Finding& finding) {
    return rule_of(finding.rule).source != RuleSource::portability;
  });
  return found == findings.end() ? nullptr : &*found;
}

bool Validator::is_refused_whole(const std::vector<Finding>& findings) {
  // Found on the way from mapping to mapping.
  constexpr std::array in_part = {
      RuleId::access_peer_unreachable, RuleId::access_host_to_device_memory,
      RuleId::set_access_rdma_unregistered, RuleId::set_access_rdma_peer};
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
    return rule_of(finding.rule).consequence == Consequence::refused &&
           std::find(in_part.begin(), in_part.end(), finding.rule) == in_part.end();
  });
}

void Validator::know_current_context(LiveObjects& objects, validation::Inspection& look,
                                     validation::ContextNeed need) {
  const auto known = objects.current_context();
  const auto is_usable = [&objects](ContextHandle context) {
    const LiveContext* found = objects.context(context);
    return found != nullptr && !found->is_reset;
  };
  if (known && is_usable(*known)) {
    return;
  }
  // None may be current, and none known of is likely none: nothing is asked on each such call.
  if (!known && need == validation::ContextNeed::not_destroyed) {
    return;
  }
  const auto current = facts_.current_context();
  if (!current) {
    return;
  }
  if (current->is_null()) {
    look.holds(need != validation::ContextNeed::live, RuleId::no_current_context);
    return;
  }
  objects.set_current(*current);
  const DeadObject* gone = objects.dead(DeadKind::context, current->value());
  if (gone != nullptr && !is_usable(*current)) {
    look.report(RuleId::current_context_destroyed, {current->value()}, gone->ended);
  }
}

void Validator::explain_loss(validation::Inspection& look) const {
  for (const validation::PendingWork& work : work_.pending()) {
    if (work.is_allocation) {
      continue;
    }
    if (const auto unknown = look.first_unknown(work.range)) {
      look.report(RuleId::lost_by_unknown_memory, {unknown->value(), work.queued.call_number},
                  work.queued);
      return;
    }
    const DeviceAddress address = work.range.begin();
    const LiveAllocation* memory = look.objects.allocation_at(address);
    const auto device = look.device_of(work_.context_of(work));
    // Copies go between any two devices.
    const bool is_by_device = work.queued.call == Call::launch_touch ||
                              work.queued.call == Call::memset_d8 ||
                              work.queued.call == Call::memset_d8_async;
    if (is_by_device && device && memory != nullptr &&
        memory->device.value_or(*device) != *device) {
      look.report(
          RuleId::lost_by_peer_memory,
          {address.value(), work.queued.call_number, validation::number(memory->device->value())},
          work.queued);
      return;
    }
  }
}

LeakReport Validator::check_leaks() {
  std::vector<Finding> findings;
  LeakReport report;
  {
    Ledger::Locked objects = ledger_.lock();
    report = leak_report_of(*objects);
    for (const LeakEntry& entry : report.entries) {
      // In the order of LeakKind.
      const auto first = static_cast<std::uint16_t>(RuleId::leak_create_reference);
      const auto rule = static_cast<RuleId>(first + static_cast<std::uint16_t>(entry.kind));
      if (!ignored_.test(static_cast<std::size_t>(rule))) {
        findings.push_back({.rule = rule,
                            .call_number = calls_,
                            .values = {entry.value, entry.size.value(), entry.count},
                            .object = entry.made});
      }
    }
    keep(findings, ErrorCode{}, false);
  }
  tell(findings);
  return report;
}

std::vector<Finding> Validator::findings() const {
  const Ledger::Locked objects = ledger_.lock();
  return findings_;
}
std::uint64_t Validator::finding_count() const {
  const Ledger::Locked objects = ledger_.lock();
  return finding_count_;
}
std::uint64_t Validator::call_count() const {
  const Ledger::Locked objects = ledger_.lock();
  return calls_;
}

}  // namespace tessera
