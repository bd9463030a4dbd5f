#include "tessera/layers/ledger_driver.h"

#include "layers/records.h"

namespace tessera {

LedgerDriver::LedgerDriver(Driver* target) noexcept : InterceptingDriver(target) {}
LedgerDriver::~LedgerDriver() = default;

template <Call call, class Request, class Forward>
std::invoke_result_t<Forward> LedgerDriver::around(const Request& request, Forward forward) {
  if constexpr (!layers::is_recorded<call>) {
    auto answer = forward();
    if (!answer) [[unlikely]] {
      layers::note_loss(*ledger_.lock(), answer.error());
    }
    return answer;
  } else {
    const CallSite site = announced_call_site();
    Ledger::Locked objects = ledger_.lock();
    const MadeBy made = {.call_number = ++calls_, .call = call, .site = site};
    std::optional<LiveAllocation> taken;
    if constexpr (layers::ends_allocation(call)) {
      taken = layers::take_out(call, *objects, made, layers::freed_address(request));
    }
    if constexpr (layers::may_wait(call)) {
      objects.unlock();
    }
    auto answer = forward();
    if constexpr (layers::may_wait(call)) {
      objects.lock();
    }
    if (!answer) {
      layers::note_loss(*objects, answer.error());
      if (taken) {
        objects->add_allocation(*taken);
      }
    }
    layers::record(layers::CallTag<call>(), *objects, made, request, answer);
    return answer;
  }
}

template class InterceptingDriver<LedgerDriver>;

}  // namespace tessera
