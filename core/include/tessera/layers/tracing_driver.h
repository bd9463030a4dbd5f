// TracingDriver: a layer that writes what goes through it as a scenario (docs/scenarios.md), with
// the answers: `tessera replay --check` runs the trace again, and a trace in a file is a test.
//
// Symbols are given in the order in which things appear, addresses are written relative to them.
// Calls that no operation can say become comments, so that nothing is lost without a word; from
// there on a replay may differ. docs/layers.md lists them.
// Any thread may call it. Calls go through one at a time, so that the trace has their order; a
// replay makes them all on one thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <type_traits>

#include "tessera/layers/intercept.h"
#include "tessera/scenario/scenario.h"

namespace tessera {

struct TraceOptions {
  std::string case_name = "trace";  // blanks are written `_`
  // What `u` stands for where the trace will be replayed; sizes that are multiples are written in
  // it. Zero: sizes are written in bytes, which is right everywhere.
  Bytes granule = {};
  // What was done with the driver before this layer came: with `nothing`, the trace's start is what
  // the program does first. With `context`, `current` is device 0's primary context, which is.
  scenario::Start start = scenario::Start::nothing;
  ContextHandle current = {};
};

class TraceRecorder;  // private

class TracingDriver final : public InterceptingDriver<TracingDriver> {
 public:
  // The target outlives this object.
  explicit TracingDriver(Driver* target, TraceOptions options = {});
  ~TracingDriver() override;

  // A driver does not see close(2): tell the trace when a descriptor that an export gave is closed.
  // Untold, the trace closes it when its number comes back.
  void descriptor_closed(int descriptor);

  // What went through so far. Calls before init make a case of their own.
  [[nodiscard]] scenario::Scenario trace() const;
  // The same as the text of a .vmm file.
  [[nodiscard]] std::string text() const;

 private:
  friend InterceptAccess;
  template <Call call, class Request, class Forward>
  std::invoke_result_t<Forward> around(const Request& request, Forward forward);

  mutable std::mutex mutex_;
  std::unique_ptr<TraceRecorder> recorder_;
};

extern template class InterceptingDriver<TracingDriver>;

}  // namespace tessera
