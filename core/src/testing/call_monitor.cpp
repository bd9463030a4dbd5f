#include "testing/call_monitor.h"

#include "tessera/layers/call_set.h"

namespace tessera::testing {
namespace {

constexpr std::uint64_t patience = 1000;

}  // namespace

CallMonitor::CallMonitor(Driver* target, std::uint64_t calls_max)
    : InterceptingDriver(target), calls_max_(calls_max) {}

CallMonitor::~CallMonitor() = default;

std::vector<Call> CallMonitor::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

bool CallMonitor::is_over_limit() const {
  const std::lock_guard lock(mutex_);
  return calls_over_ != 0;
}

bool CallMonitor::admit(Call call) {
  const std::lock_guard lock(mutex_);
  if (calls_.size() < calls_max_) {
    calls_.push_back(call);
    return true;
  }
  ++calls_over_;
  if (calls_over_ > calls_max_ + patience) {
    throw RunawayProgram();
  }
  return undo_calls().contains(call);
}

template <Call call, class Request, class Forward>
std::invoke_result_t<Forward> CallMonitor::around(const Request& /*request*/, Forward forward) {
  if (!admit(call)) {
    return Error{.code = ErrorCode::unknown,
                 .call = call,
                 .origin = Origin::injected,
                 .reason = Reason::injected_call_limit,
                 .values = {calls_max_}};
  }
  return forward();
}

}  // namespace tessera::testing

namespace tessera {

template class InterceptingDriver<testing::CallMonitor>;

}  // namespace tessera
