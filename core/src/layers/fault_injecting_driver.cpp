#include "tessera/layers/fault_injecting_driver.h"

#include <utility>

#include "tessera/layers/call_errors.h"

namespace tessera {
namespace {

// SplitMix64's output function: every bit of the input changes every bit of the result.
std::uint64_t mix(std::uint64_t value) noexcept {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

// A number that depends on the seed, the call's number and the fault's place in the plan alone.
std::uint64_t draw(std::uint64_t seed, std::uint64_t call_number, std::uint64_t place) noexcept {
  return mix(mix(mix(seed) ^ call_number) ^ place);
}
// Places for what is drawn beside the chances.
constexpr std::uint64_t error_places = std::uint64_t{1} << 32U;

Reason reason_of(const Fault& fault) noexcept {
  if (fault.effect == Effect::after) {
    return Reason::injected_after;
  }
  if (fault.chance < Fault::million) {
    return Reason::injected_by_chance;
  }
  if (fault.number == 0) {
    return Reason::injected_each;
  }
  return fault.call == Call::none ? Reason::injected_nth : Reason::injected_nth_of_kind;
}

// The memory that a request asks for; zero for calls that ask for none.
template <class Request>
Bytes wanted(const Request& /*request*/) {
  return {};
}
Bytes wanted(const Bytes& size) { return size; }  // mem_alloc
Bytes wanted(const CreateRequest& request) { return request.size; }
Bytes wanted(const AllocAsyncRequest& request) { return request.size; }
Bytes wanted(const AllocPitchRequest& request) {
  return checked_multiply(request.width, request.height).value_or(request.width);
}

template <class Request>
bool asks_for_descriptor(const Request& /*request*/) {
  return false;
}
bool asks_for_descriptor(const ExportRequest& request) {
  return request.type == HandleTypes::posix_file_descriptor;
}
bool asks_for_descriptor(const RangeHandleRequest& /*request*/) { return true; }

// What a call that succeeded means for the book.
template <Call call, class Request, class Answer>
void keep(LiveBytes& live, const Request& request, const Answer& answer) {
  if constexpr (call == Call::mem_create) {
    live.created(*answer, request.size);
  } else if constexpr (call == Call::mem_retain_allocation_handle ||
                       call == Call::mem_import_from_shareable_handle) {
    live.referenced(*answer);
  } else if constexpr (call == Call::mem_release) {
    live.released(request);
  } else if constexpr (call == Call::mem_map) {
    live.mapped(request.address, request.handle);
  } else if constexpr (call == Call::mem_unmap) {
    live.unmapped(request.address, request.size);
  } else if constexpr (call == Call::mem_alloc) {
    live.allocated(*answer, request);
  } else if constexpr (call == Call::mem_alloc_async) {
    live.allocated(*answer, request.size);
  } else if constexpr (call == Call::mem_alloc_pitch) {
    live.allocated(answer->address,
                   checked_multiply(answer->pitch, request.height).value_or(answer->pitch));
  } else if constexpr (call == Call::mem_free) {
    live.freed(request);
  } else if constexpr (call == Call::mem_free_async) {
    live.freed(request.address);
  } else {
    static_cast<void>(live);
    static_cast<void>(request);
    static_cast<void>(answer);
  }
}

// The calls that `keep` knows, and those with a budget.
constexpr bool is_kept(Call call) noexcept {
  switch (call) {
    case Call::mem_create:
    case Call::mem_retain_allocation_handle:
    case Call::mem_import_from_shareable_handle:
    case Call::mem_release:
    case Call::mem_map:
    case Call::mem_unmap:
    case Call::mem_alloc:
    case Call::mem_alloc_async:
    case Call::mem_alloc_pitch:
    case Call::mem_free:
    case Call::mem_free_async:
      return true;
    default:
      return false;
  }
}

}  // namespace

FaultInjectingDriver::FaultInjectingDriver(Driver* target, FaultPlan plan)
    : InterceptingDriver(target), plan_(std::move(plan)) {}

FaultInjectingDriver::~FaultInjectingDriver() = default;

void FaultInjectingDriver::set_plan(FaultPlan plan) {
  const std::lock_guard lock(mutex_);
  plan_ = std::move(plan);
  calls_ = 0;
  calls_of_ = {};
  faults_ = 0;
  first_fault_.reset();
  last_fault_.reset();
}

void FaultInjectingDriver::set_capacity(std::optional<Bytes> capacity) {
  const std::lock_guard lock(mutex_);
  plan_.capacity = capacity;
}

void FaultInjectingDriver::set_descriptors_left(std::optional<std::uint64_t> count) {
  const std::lock_guard lock(mutex_);
  plan_.descriptors_left = count;
}

std::uint64_t FaultInjectingDriver::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::uint64_t FaultInjectingDriver::faults() const {
  const std::lock_guard lock(mutex_);
  return faults_;
}

std::optional<Error> FaultInjectingDriver::first_fault() const {
  const std::lock_guard lock(mutex_);
  return first_fault_;
}

std::optional<Error> FaultInjectingDriver::last_fault() const {
  const std::lock_guard lock(mutex_);
  return last_fault_;
}

Bytes FaultInjectingDriver::live_bytes() const {
  const std::lock_guard lock(mutex_);
  return live_.total();
}

bool FaultInjectingDriver::meets(const Fault& fault, std::size_t index, Call call) const {
  if (fault.call != Call::none && fault.call != call) {
    return false;
  }
  const std::uint64_t number =
      fault.call == Call::none ? calls_ : calls_of_[static_cast<std::size_t>(call)];
  if (fault.number != 0 && fault.number != number) {
    return false;
  }
  return fault.chance >= Fault::million ||
         draw(plan_.seed, calls_, index) % Fault::million < fault.chance;
}

Error FaultInjectingDriver::error_of(const Fault& fault, std::size_t index, Call call) const {
  ErrorCode code = fault.error.value_or(ErrorCode::out_of_memory);
  if (const auto possible = call_errors(call); !fault.error && !possible.empty()) {
    code = possible[draw(plan_.seed, calls_, error_places + index) % possible.size()];
  }
  return {.code = code,
          .call = call,
          .origin = Origin::injected,
          .reason = reason_of(fault),
          .values = {calls_, calls_of_[static_cast<std::size_t>(call)], plan_.seed}};
}

auto FaultInjectingDriver::decide(Call call) -> std::optional<Decision> {
  ++calls_;
  ++calls_of_[static_cast<std::size_t>(call)];
  if (plan_.never_fails.contains(call)) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < plan_.faults.size(); ++i) {
    if (const Fault& fault = plan_.faults[i]; meets(fault, i, call)) {
      return Decision{.error = error_of(fault, i, call), .effect = fault.effect};
    }
  }
  return std::nullopt;
}

Error FaultInjectingDriver::note(const Error& fault) {
  ++faults_;
  if (!first_fault_) {
    first_fault_ = fault;
  }
  last_fault_ = fault;
  return fault;
}

template <Call call, class Request>
std::optional<Error> FaultInjectingDriver::check_budgets(const Request& request) {
  if (plan_.never_fails.contains(call)) {
    return std::nullopt;
  }
  const Bytes size = wanted(request);
  if (plan_.capacity && !size.is_zero()) {
    const auto after = checked_add(live_.total(), size);
    if (!after || *after > *plan_.capacity) {
      return Error{.code = ErrorCode::out_of_memory,
                   .call = call,
                   .origin = Origin::injected,
                   .reason = Reason::injected_capacity,
                   .values = {size.value(), live_.total().value(), plan_.capacity->value()}};
    }
  }
  if (plan_.descriptors_left && asks_for_descriptor(request) && *plan_.descriptors_left == 0) {
    return Error{.code = ErrorCode::operating_system,
                 .call = call,
                 .origin = Origin::injected,
                 .reason = Reason::no_descriptor_left};
  }
  return std::nullopt;
}

// The calls that the book follows are made under the lock: a handle that one thread gives back must
// not come back to another one before the book knows that it was gone.
template <Call call, class Request, class Forward>
std::invoke_result_t<Forward> FaultInjectingDriver::around(const Request& request,
                                                           Forward forward) {
  std::unique_lock lock(mutex_);
  const std::optional<Decision> decision = decide(call);
  if (decision && decision->effect == Effect::before) {
    return note(decision->error);
  }
  if (const auto refused = check_budgets<call>(request)) {
    return note(*refused);
  }
  if constexpr (!is_kept(call)) {
    lock.unlock();
  }
  auto answer = forward();
  if constexpr (!is_kept(call)) {
    lock.lock();
  }
  if (!answer) {
    return answer;
  }
  keep<call>(live_, request, answer);
  if (plan_.descriptors_left && asks_for_descriptor(request) && *plan_.descriptors_left != 0) {
    --*plan_.descriptors_left;
  }
  return decision ? note(decision->error) : std::move(answer);
}

template class InterceptingDriver<FaultInjectingDriver>;

}  // namespace tessera
