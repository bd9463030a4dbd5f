// ValidatingDriver: the layer that says what a program does wrong, also where the driver accepts it
// silently, crashes, or faults later. Rules are in rules.def and, as a table, in docs/rules.md.
//
//   ValidatingDriver driver(&target, {.on_finding = [](const Finding& finding) {
//     std::cerr << to_string(finding) << '\n';
//   }});
//   program(driver);
//   driver.check_leaks();
//   EXPECT_TRUE(driver.findings().empty());
//
// It knows what went through it: a finding is about that, never about memory, streams or contexts
// that came another way. (Once contexts are lost, it names queued work whose memory it doesn't
// know: the likely reason.) A correct program has none. Once and when needed it asks the target for
// granularity, devices, peers and a thread's current context; nothing on each call.
//
// Any thread may call it. Calls that don't wait are made one at a time, as the driver makes them
// anyway [h200].
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tessera/layers/finding.h"
#include "tessera/layers/intercept.h"
#include "tessera/ledger.h"

namespace tessera {

// What is done with a call that breaks a rule: forward it anyway; or answer with an error of origin
// validation and the rule's id and code, and don't make the call. Portability rules, and those that
// only the driver's answer shows, never refuse.
enum class ValidationMode : std::uint8_t { report, refuse };

struct ValidationOptions {
  ValidationMode mode = ValidationMode::report;
  // Told of each finding, on the thread that made the call, after it; may call the driver.
  std::function<void(const Finding&)> on_finding = {};
  bool portability = true;           // whether portability rules are looked at
  std::vector<RuleId> ignored = {};  // rules that are not looked at
  std::size_t findings_max = 1000;   // how many findings() keeps; the sink gets all
};

class ValidatingDriver final : public InterceptingDriver<ValidatingDriver> {
 public:
  // `target` outlives the layer.
  explicit ValidatingDriver(Driver* target, ValidationOptions options = {});
  ~ValidatingDriver() override;

  // The first findings so far; how many there were.
  [[nodiscard]] std::vector<Finding> findings() const;
  [[nodiscard]] std::uint64_t finding_count() const;
  // How many calls were made through the layer.
  [[nodiscard]] std::uint64_t call_count() const;
  // One finding for each thing that is still live.
  LeakReport check_leaks();
  [[nodiscard]] Ledger& ledger() noexcept;
  [[nodiscard]] const Ledger& ledger() const noexcept;

 private:
  friend InterceptAccess;
  template <Call call, class Request, class Forward>
  std::invoke_result_t<Forward> around(const Request& request, Forward forward);

  std::unique_ptr<class Validator> validator_;
};

extern template class InterceptingDriver<ValidatingDriver>;

}  // namespace tessera
