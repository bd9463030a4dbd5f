// Memory that comes with an address: mem_alloc and its like.
#include "validation/checks.h"

namespace tessera::validation {
namespace {

const PendingWork* unordered_work(const Inspection& look, AddressRange range, StreamHandle stream) {
  const auto context = look.objects.context_of(stream);
  return context ? look.work.unordered(*context, stream, range) : nullptr;
}

void check_size(Inspection& look, RuleId rule, bool is_zero) {
  if (is_zero) {
    look.report(rule);
  }
}

bool frees(Call call, OtherMemory kind) noexcept {
  switch (call) {
    case Call::mem_free_host:
      return kind == OtherMemory::host;
    case Call::mem_free_async:
      return kind == OtherMemory::device || kind == OtherMemory::pool;
    default:
      return kind != OtherMemory::host;
  }
}

// The allocation of that address, if that call may free it; reports why not.
const LiveAllocation* freed(Inspection& look, DeviceAddress address) {
  if (address.is_null()) {
    return nullptr;
  }
  if (const LiveMapping* mapping = look.objects.mapping_at(address)) {
    look.report(RuleId::free_mapped_memory, {address.value()}, mapping->made);
    return nullptr;
  }
  if (const LiveAllocation* found = look.objects.allocation_at(address)) {
    if (found->range.begin() != address || !frees(look.by.call, found->kind)) {
      const bool is_managed =
          found->kind == OtherMemory::managed && look.by.call == Call::mem_free_async;
      look.report(is_managed ? RuleId::free_async_managed : RuleId::free_inside_allocation,
                  {address.value(), found->range.begin().value(), found->range.size().value()},
                  found->made);
      return nullptr;
    }
    return found;
  }
  if (const DeadObject* gone = look.objects.dead(DeadKind::allocation, address.value());
      gone != nullptr && gone->value == address.value()) {
    // The driver may say OK, and end the process at the next synchronize [h200].
    const bool is_queued = gone->ended.call == Call::mem_free_async;
    look.report(is_queued ? RuleId::freed_after_free_async : RuleId::memory_freed_twice,
                {address.value()}, gone->ended);
  }
  return nullptr;
}

void report_in_flight(Inspection& look, DeviceAddress address, const PendingWork& work) {
  look.report(RuleId::free_in_flight, {address.value(), 0, work.queued.call_number}, work.queued);
}

// Memory may have been allocated where the layer doesn't see it; the driver knows.
void check_freed(Inspection& look, DeviceAddress address, const Status& answer) {
  if (answer.error().code == ErrorCode::invalid_value) {
    look.report(RuleId::free_unknown_memory, {address.value()});
  }
}

DeviceAddress address_of(const std::byte* memory) noexcept {
  return DeviceAddress(reinterpret_cast<std::uintptr_t>(memory));
}

}  // namespace

bool is_allocated_in_order(Inspection& look, const LiveAllocation& memory, StreamHandle stream) {
  const PendingWork* work =
      memory.kind == OtherMemory::pool ? unordered_work(look, memory.range, stream) : nullptr;
  return work == nullptr || !work->is_allocation ||
         look.report(RuleId::used_before_alloc_async,
                     {memory.range.begin().value(), stream.value(), work->queued.call_number},
                     memory.made);
}

TESSERA_CHECK_CALL(mem_alloc) { check_size(look, RuleId::alloc_size_zero, request.is_zero()); }
TESSERA_CHECK_CALL(mem_alloc_pitch) {
  const auto element = request.element_size;
  if (element != 4 && element != 8 && element != 16) {
    look.report(RuleId::pitch_element_size, {element});
    return;
  }
  check_size(look, RuleId::alloc_size_zero, request.width.is_zero() || request.height == 0);
}
TESSERA_CHECK_CALL(mem_alloc_managed) {
  check_size(look, RuleId::alloc_size_zero, request.size.is_zero());
}
TESSERA_CHECK_CALL(mem_alloc_async) {
  if (stream_is_live(look, request.stream)) {
    check_size(look, RuleId::alloc_gives_null, request.size.is_zero());
  }
}
TESSERA_CHECK_CALL(mem_host_alloc) {
  constexpr std::uint32_t known_flags = 7;
  if (look.flags_are(request.flags, known_flags)) {
    check_size(look, RuleId::alloc_gives_null, request.size.is_zero());
  }
}

TESSERA_CHECK_CALL(mem_free) {
  const LiveAllocation* memory = freed(look, request);
  if (memory == nullptr || memory->kind != OtherMemory::pool) {
    return;  // it waits for the work
  }
  if (const PendingWork* work = look.work.in_flight(memory->range)) {
    report_in_flight(look, request, *work);
  }
}
TESSERA_CHECK_CALL(mem_free_async) {
  if (!stream_is_live(look, request.stream)) {
    return;
  }
  const LiveAllocation* memory = freed(look, request.address);
  if (memory == nullptr || !is_allocated_in_order(look, *memory, request.stream)) {
    return;
  }
  if (const PendingWork* work = unordered_work(look, memory->range, request.stream)) {
    report_in_flight(look, request.address, *work);
  }
}
TESSERA_CHECK_CALL(mem_free_host) { freed(look, address_of(request)); }

// What a row is rounded up to is the driver's choice: its answer tells that it was too much.
TESSERA_CHECK_ANSWER(mem_alloc_pitch) {
  if (answer.error().code == ErrorCode::invalid_value) {
    look.report(RuleId::pitch_too_wide, {request.width.value()});
  }
}
TESSERA_CHECK_ANSWER(mem_free) { check_freed(look, request, answer); }
TESSERA_CHECK_ANSWER(mem_free_async) { check_freed(look, request.address, answer); }
TESSERA_CHECK_ANSWER(mem_free_host) { check_freed(look, address_of(request), answer); }

}  // namespace tessera::validation
