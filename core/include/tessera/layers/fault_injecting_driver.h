// FaultInjectingDriver: a layer that fails calls by a FaultPlan. Its errors have Origin::injected
// and a Reason that says which fault it was. Any thread may call it; what fails then depends on the
// order in which calls arrive.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <type_traits>

#include "tessera/layers/fault_plan.h"
#include "tessera/layers/intercept.h"
#include "tessera/layers/live_bytes.h"

namespace tessera {

class FaultInjectingDriver final : public InterceptingDriver<FaultInjectingDriver> {
 public:
  // The target outlives this object.
  FaultInjectingDriver(Driver* target, FaultPlan plan);
  ~FaultInjectingDriver() override;

  // A new plan, as if the layer had just been made; what is alive stays counted.
  void set_plan(FaultPlan plan);
  // Another limit; nothing: none. Below what is alive, it refuses more until enough is given back.
  void set_capacity(std::optional<Bytes> capacity);
  void set_descriptors_left(std::optional<std::uint64_t> count);

  // Since the plan was set: the calls that came, and the faults among their answers.
  [[nodiscard]] std::uint64_t calls() const;
  [[nodiscard]] std::uint64_t faults() const;
  // The first and the last fault; nothing where there was none.
  [[nodiscard]] std::optional<Error> first_fault() const;
  [[nodiscard]] std::optional<Error> last_fault() const;
  // What is alive of all that was made through this layer (LiveBytes says what that means).
  [[nodiscard]] Bytes live_bytes() const;

 private:
  friend InterceptAccess;
  template <Call call, class Request, class Forward>
  std::invoke_result_t<Forward> around(const Request& request, Forward forward);

  struct Decision {
    Error error;
    Effect effect;
  };
  // The rest: with `mutex_` held.
  std::optional<Decision> decide(Call call);
  [[nodiscard]] bool meets(const Fault& fault, std::size_t index, Call call) const;
  [[nodiscard]] Error error_of(const Fault& fault, std::size_t index, Call call) const;
  template <Call call, class Request>
  std::optional<Error> check_budgets(const Request& request);
  Error note(const Error& fault);

  mutable std::mutex mutex_;
  FaultPlan plan_;
  std::uint64_t calls_ = 0;
  std::array<std::uint64_t, call_count> calls_of_ = {};
  std::uint64_t faults_ = 0;
  std::optional<Error> first_fault_;
  std::optional<Error> last_fault_;
  LiveBytes live_;
};

extern template class InterceptingDriver<FaultInjectingDriver>;

}  // namespace tessera
