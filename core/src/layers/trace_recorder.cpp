#include "layers/trace_recorder.h"

namespace tessera {

using scenario::Answer;

TraceRecorder::TraceRecorder(TraceOptions options)
    : options_(std::move(options)), names_(options_.granule) {
  trace_.cases.push_back({.name = options_.case_name, .start = options_.start});
  if (!options_.current.is_null()) {
    names_.name_context(options_.current, scenario::symbols::primary(0));
    context_stack_.push_back(options_.current);
  }
}

void TraceRecorder::descriptor_closed(int descriptor) {
  if (const auto symbol = names_.take_descriptor(descriptor)) {
    add(scenario::Close{.descriptor = *symbol}, Answer().add("closed", std::uint64_t{1}));
  }
}

scenario::Scenario TraceRecorder::trace() const {
  scenario::Scenario copy = trace_;
  copy.cases.back().lines_before_end = lines_before_next_;
  return copy;
}

void TraceRecorder::add(scenario::Operation operation, std::optional<Answer> answer) {
  current_case().calls.push_back({.operation = std::move(operation),
                                  .expected = std::move(answer),
                                  .lines_before = std::exchange(lines_before_next_, {})});
  last_ = Last::other;
}

void TraceRecorder::note(const std::string& words) {
  lines_before_next_.push_back("  # " + words);
  last_ = Last::other;
}

void TraceRecorder::comment(Call call, const std::string& request, const Error* error) {
  note(std::string(method_name(call)) + "(" + request + ") => " +
       (error == nullptr ? "OK" : code_name(error->code)) + ": no operation says this");
}

bool TraceRecorder::moves_data(Call call) noexcept {
  switch (call) {
    case Call::memcpy_htod_async:
    case Call::memcpy_dtod_async:
    case Call::memset_d8_async:
    case Call::launch_touch:
    case Call::mem_alloc_managed:
    case Call::mem_host_alloc:
      return true;
    default:
      return false;
  }
}

}  // namespace tessera
