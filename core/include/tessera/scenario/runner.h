// Runs a case's operations on a World and says what each answered, in the recordings' words.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tessera/scenario/scenario.h"
#include "tessera/scenario/world.h"

namespace tessera::scenario {

class CaseState;

class CaseRunner {
 public:
  // The world outlives the runner.
  CaseRunner(World& world, Start start);
  ~CaseRunner();  // closes descriptors that are still open; undoes nothing else

  // What is done before the first operation. An error: the case cannot be run.
  Status begin();

  // One operation, after `begin`.
  Answer run(const Operation& operation);

  // What a symbol stands for now; zero where its call failed or was not made.
  [[nodiscard]] std::uint64_t value_of(Symbol symbol) const noexcept;

  // Undoes all that the case left: mappings, references, addresses, memory, descriptors, contexts.
  // True if the world is then as it was before `begin`, so that another case may run in it.
  bool undo();

 private:
  std::unique_ptr<CaseState> state_;
};

// What came of each call, in order. Returns false to stop.
using AnswerSink = std::function<bool(const Call& call, const Answer& answer)>;

// Runs a case up to its end, up to a call whose expected answer is a crash, or until the sink
// stops it. Whatever it leaves is left to the world. ERRORS: those of `begin`.
Status run_case(World& world, const Case& scenario_case, const AnswerSink& sink);

}  // namespace tessera::scenario
