// Validator: what ValidatingDriver does with each call: look, call, take down, tell.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "layers/records.h"
#include "tessera/layers/validating_driver.h"
#include "validation/check_named.h"
#include "validation/checks.h"
#include "validation/follow.h"

namespace tessera {

// The ledger's lock guards all but the options.
class Validator {
 public:
  Validator(Driver& target, ValidationOptions options);

  // `forward` makes the call.
  template <Call call, class Forward>
  typename CallTypes<call>::Answer run(const typename CallTypes<call>::Request& request,
                                       const Forward& forward);

  LeakReport check_leaks();
  [[nodiscard]] std::vector<Finding> findings() const;
  [[nodiscard]] std::uint64_t finding_count() const;
  [[nodiscard]] std::uint64_t call_count() const;
  [[nodiscard]] Ledger& ledger() noexcept { return ledger_; }

 private:
  // Completes the findings of a call with its answer and keeps them, under the lock.
  void keep(std::vector<Finding>& findings, ErrorCode answer, bool was_refused);
  // Tells the sink, without the lock.
  void tell(const std::vector<Finding>& findings) const;
  // The first finding for which refuse mode does not make the call; null if it is made.
  [[nodiscard]] const Finding* reason_to_refuse(const std::vector<Finding>& findings) const;
  // Whether one says that the driver refuses what was asked for before it does any of it.
  [[nodiscard]] static bool is_refused_whole(const std::vector<Finding>& findings);
  // Asks once a thread, and again before a finding: programs make contexts current in other ways.
  void know_current_context(LiveObjects& objects, validation::Inspection& look,
                            validation::ContextNeed need);

  // What was queued where no memory is known of, or on another device's: nothing can be said of it
  // before, for the memory, or the access to it, may have come another way.
  void explain_loss(validation::Inspection& look) const;

  const ValidationOptions options_;
  validation::RuleSet ignored_;
  mutable Ledger ledger_;
  // The rest is under the ledger's lock.
  validation::WorkTracker work_;
  validation::Facts facts_;
  std::uint64_t calls_ = 0;
  std::uint64_t finding_count_ = 0;
  std::vector<Finding> findings_;
};

template <Call call, class Forward>
typename CallTypes<call>::Answer Validator::run(const typename CallTypes<call>::Request& request,
                                                const Forward& forward) {
  constexpr layers::CallTag<call> tag;
  const CallSite site = announced_call_site();
  Ledger::Locked objects = ledger_.lock();
  const MadeBy by = {.call_number = ++calls_, .call = call, .site = site};
  validation::Inspection look(*objects, work_, facts_, ignored_, by);
  if (const auto need = validation::context_need(call, validation::named<StreamHandle>(request));
      need != validation::ContextNeed::none) {
    know_current_context(*objects, look, need);
  }
  if (look.findings().empty()) {
    validation::check(tag, look, request);
  }
  std::vector<Finding>& findings = look.findings();
  if (!findings.empty()) [[unlikely]] {
    if (const Finding* reason = reason_to_refuse(findings)) {
      const Error refusal = {.code = rule_of(reason->rule).code,
                             .call = call,
                             .origin = Origin::validation,
                             .rule = reason->rule,
                             .values = reason->values};
      keep(findings, ErrorCode{}, true);
      objects.unlock();
      tell(findings);
      return refusal;
    }
  }

  validation::WorkTracker::Clock proof;
  if constexpr (validation::proves(call)) {
    proof = validation::proof_of(tag, *objects, work_, request);
  }
  std::optional<LiveAllocation> taken;
  if constexpr (layers::ends_allocation(call)) {
    taken = layers::take_out(call, *objects, by, layers::freed_address(request));
  }
  if constexpr (call == Call::mem_free) {
    if (taken && taken->kind != OtherMemory::pool) {
      proof = validation::proof_of_free(*objects, work_, taken->context);
    }
  }
  if constexpr (layers::may_wait(call)) {
    objects.unlock();
  }
  auto answer = forward();
  if constexpr (layers::may_wait(call)) {
    objects.lock();
  }

  // An injected error says nothing about the program.
  const bool is_refused_by_driver = !answer && answer.error().origin != Origin::injected;
  if (is_refused_by_driver && means_contexts_lost(answer.error().code)) {
    explain_loss(look);
  } else if (is_refused_by_driver && findings.empty()) {
    if (answer.error().code == ErrorCode::not_initialized) {
      look.report(RuleId::not_initialized);
    } else {
      validation::check_answer(tag, look, request, answer);
      if (findings.empty()) {
        validation::check_named<call>(look, request, answer.error().code);
      }
    }
  }
  if (!answer && taken) {
    objects->add_allocation(*taken);
  }
  if (answer) {
    work_.prove(proof);
  } else if (means_contexts_lost(answer.error().code)) {
    work_.forget_all();
    layers::note_loss(*objects, answer.error());
  }
  validation::follow(tag, *objects, work_, by, request, answer);
  // What was refused for what it asks for did nothing at all.
  if (answer || !is_refused_whole(findings)) {
    layers::record(tag, *objects, by, request, answer);
  }
  if (!findings.empty()) [[unlikely]] {
    keep(findings, answer ? ErrorCode{} : answer.error().code, false);
    objects.unlock();
    tell(findings);
  }
  return answer;
}

}  // namespace tessera
