#include "tessera/layers/tracing_driver.h"

#include <utility>

#include "layers/trace_recorder.h"
#include "tessera/scenario/writer.h"

namespace tessera {

TracingDriver::TracingDriver(Driver* target, TraceOptions options)
    : InterceptingDriver(target), recorder_(std::make_unique<TraceRecorder>(std::move(options))) {}

TracingDriver::~TracingDriver() = default;

void TracingDriver::descriptor_closed(int descriptor) {
  const std::lock_guard lock(mutex_);
  recorder_->descriptor_closed(descriptor);
}

scenario::Scenario TracingDriver::trace() const {
  const std::lock_guard lock(mutex_);
  return recorder_->trace();
}

std::string TracingDriver::text() const { return to_string(trace()); }

template <Call call, class Request, class Forward>
std::invoke_result_t<Forward> TracingDriver::around(const Request& request, Forward forward) {
  const std::lock_guard lock(mutex_);
  auto answer = forward();
  recorder_->record(TraceRecorder::Tag<call>(), request, answer);
  return answer;
}

template class InterceptingDriver<TracingDriver>;

}  // namespace tessera
