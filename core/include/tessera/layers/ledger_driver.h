// LedgerDriver: a layer that keeps a Ledger and nothing else: leak reports without validation.
//
//   LedgerDriver driver(&simulator);
//   program(driver);
//   EXPECT_TRUE(driver.ledger().leak_report().is_empty()) << to_string(...);
//
// Any thread may call it. Calls that don't wait are made one at a time, under the ledger's lock, as
// the driver makes them anyway [h200].
#pragma once

#include <cstdint>

#include "tessera/layers/intercept.h"
#include "tessera/ledger.h"

namespace tessera {

class LedgerDriver final : public InterceptingDriver<LedgerDriver> {
 public:
  // The target outlives this object.
  explicit LedgerDriver(Driver* target) noexcept;
  ~LedgerDriver() override;

  [[nodiscard]] Ledger& ledger() noexcept { return ledger_; }
  [[nodiscard]] const Ledger& ledger() const noexcept { return ledger_; }

 private:
  friend InterceptAccess;
  template <Call call, class Request, class Forward>
  std::invoke_result_t<Forward> around(const Request& request, Forward forward);

  Ledger ledger_;
  std::uint64_t calls_ = 0;  // under the ledger's lock; of those that can change it
};

extern template class InterceptingDriver<LedgerDriver>;

}  // namespace tessera
