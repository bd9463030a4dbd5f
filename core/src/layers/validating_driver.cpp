#include "tessera/layers/validating_driver.h"

#include <utility>

#include "validation/validator.h"

namespace tessera {

ValidatingDriver::ValidatingDriver(Driver* target, ValidationOptions options)
    : InterceptingDriver(target),
      validator_(std::make_unique<Validator>(DriverWrapper::target(), std::move(options))) {}
ValidatingDriver::~ValidatingDriver() = default;

std::vector<Finding> ValidatingDriver::findings() const { return validator_->findings(); }
std::uint64_t ValidatingDriver::finding_count() const { return validator_->finding_count(); }
std::uint64_t ValidatingDriver::call_count() const { return validator_->call_count(); }
LeakReport ValidatingDriver::check_leaks() { return validator_->check_leaks(); }
Ledger& ValidatingDriver::ledger() noexcept { return validator_->ledger(); }
const Ledger& ValidatingDriver::ledger() const noexcept { return validator_->ledger(); }

template <Call call, class Request, class Forward>
std::invoke_result_t<Forward> ValidatingDriver::around(const Request& request, Forward forward) {
  // Works before init and has no rules.
  if constexpr (call == Call::driver_get_version) {
    return forward();
  } else {
    return validator_->run<call>(request, forward);
  }
}

template class InterceptingDriver<ValidatingDriver>;

}  // namespace tessera
