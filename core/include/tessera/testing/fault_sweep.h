// sweep_faults: runs a program again and again, failing each of its driver calls in turn with each
// error that the call can give, and checks what a careful program keeps to. For users' own tests,
// with any test framework:
//
//   const SweepReport report = sweep_faults(program, {.make_world = make_world});
//   EXPECT_TRUE(report.passed()) << to_string(report);
//
// First the program runs twice without faults: it must succeed, leave nothing, and make the same
// calls both times. Then, for each call that may fail and each error, in a new world:
//   - the program must return the injected error: not success, and no later error instead
//     (SweepOptions::may_recover allows success);
//   - it must leave nothing (SweepWorld::leaks) and break no rule (SweepWorld::violations);
//   - run again in the same world, without faults, it must succeed and leave nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/driver.h"
#include "tessera/layers/call_errors.h"
#include "tessera/layers/call_set.h"
#include "tessera/scenario/scenario.h"

namespace tessera::testing {

// What one run happens in: a driver in a known state, and judges that do not ask the program.
class SweepWorld {
 public:
  SweepWorld() = default;
  SweepWorld(const SweepWorld&) = delete;
  SweepWorld& operator=(const SweepWorld&) = delete;
  virtual ~SweepWorld();

  virtual Driver& driver() = 0;
  // What is there now that was not there when the world was made, in words; empty: nothing.
  virtual std::string leaks() = 0;
  // Which rules were broken so far, in words; empty: none. A validation layer belongs into
  // driver().
  virtual std::string violations() { return {}; }
};

// Runs to its end, through the driver it is given alone. What it returns is its own first error.
using SweepProgram = std::function<Status(Driver&)>;

struct SweepOptions {
  // Required. Each call gives a new world in the same state.
  std::function<std::unique_ptr<SweepWorld>()> make_world;
  // Calls that are not failed.
  CallSet never_fails = undo_calls();
  // The errors to fail a call with.
  std::function<std::span<const ErrorCode>(Call)> errors_of = call_errors;
  // The program may get over an error, and then return success.
  bool may_recover = false;
  // Whether a retry is part of each run.
  bool retries = true;
  // A run with more calls than this is ended: a program that does not end on a failure. Zero: ten
  // times what the run without faults makes, and 1000.
  std::uint64_t calls_max = 0;
  // How many failed runs are repeated under a TracingDriver, and how it is set up.
  std::size_t traces_max = 3;
  Bytes trace_granule = {};
  scenario::Start trace_start = scenario::Start::nothing;
};

struct SweepFailure {
  std::uint64_t call_number = 0;  // from 1; 0: the run without faults
  Call call = Call::none;
  ErrorCode error = {};
  std::string what;
  // What the program did up to its end, as a scenario; empty where there is none.
  std::string trace = {};
};

struct SweepReport {
  std::uint64_t calls = 0;   // of a run without faults
  std::uint64_t runs = 0;    // retries not counted
  std::uint64_t faults = 0;  // that were injected
  std::vector<SweepFailure> failures = {};

  // At least one run was made, and none failed.
  [[nodiscard]] bool passed() const noexcept { return runs != 0 && failures.empty(); }
};

// A summary, then a line a failure, the first with their traces.
[[nodiscard]] std::string to_string(const SweepReport& report);

// A run that does not end is ended by an exception through the program, which is caught here; in a
// function that is noexcept it ends the process, with a message. Nothing is thrown otherwise.
[[nodiscard]] SweepReport sweep_faults(const SweepProgram& program, const SweepOptions& options);

}  // namespace tessera::testing
