// CallMonitor: the layer through which a swept program calls. It writes down which calls were made,
// and ends runs that make too many.
#pragma once

#include <cstdint>
#include <mutex>
#include <type_traits>
#include <vector>

#include "tessera/layers/intercept.h"

namespace tessera::testing {

// Thrown through a program that goes on calling though every call fails.
struct RunawayProgram {};

class CallMonitor final : public InterceptingDriver<CallMonitor> {
 public:
  // After `calls_max` calls all fail, those that give something back excepted; after twice as many
  // and some, they throw.
  CallMonitor(Driver* target, std::uint64_t calls_max);
  ~CallMonitor() override;

  // The calls in order, up to the limit.
  [[nodiscard]] std::vector<Call> calls() const;
  [[nodiscard]] bool is_over_limit() const;

 private:
  friend InterceptAccess;
  template <Call call, class Request, class Forward>
  std::invoke_result_t<Forward> around(const Request& request, Forward forward);
  // False: the call is one too many.
  bool admit(Call call);

  mutable std::mutex mutex_;
  std::uint64_t calls_max_;
  std::uint64_t calls_over_ = 0;
  std::vector<Call> calls_;
};

}  // namespace tessera::testing

namespace tessera {

extern template class InterceptingDriver<testing::CallMonitor>;

}  // namespace tessera
