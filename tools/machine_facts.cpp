#include "machine_facts.h"

#include <charconv>
#include <fstream>
#include <string_view>

#include "worker_pool.h"

namespace tessera::tools {
namespace {

std::string driver_version() {
  std::string version;
  std::ifstream("/sys/module/nvidia/version") >> version;
  return version;
}

std::int32_t number_of(std::optional<std::string_view> text) {
  std::int32_t number = 0;
  if (text) {
    std::from_chars(text->data(), text->data() + text->size(), number);
  }
  return number;
}

}  // namespace

std::variant<MachineFacts, BackendError> ask_machine(const RunOptions& options) {
  scenario::Case questions;
  questions.name = "machine";
  questions.start = scenario::Start::no_context;
  questions.calls = {{.operation = scenario::DeviceCount{}},
                     {.operation = scenario::Version{}},
                     {.operation = scenario::DeviceName{}}};
  auto asked = run_in_workers({questions}, options);
  if (auto* error = std::get_if<BackendError>(&asked)) {
    return std::move(*error);
  }
  const CaseOutcome& outcome = std::get<std::vector<CaseOutcome>>(asked).front();
  if (!outcome.problem.empty() || outcome.answers.size() != questions.calls.size()) {
    return BackendError{"the driver does not start: " +
                        (outcome.problem.empty() ? "its process ended" : outcome.problem)};
  }
  MachineFacts facts;
  facts.devices = number_of(outcome.answers[0].find("n"));
  if (facts.devices < options.backend.devices) {
    return BackendError{"--devices " + std::to_string(options.backend.devices) +
                        " asked for, but this machine shows " + std::to_string(facts.devices)};
  }
  const std::int32_t version = number_of(outcome.answers[1].find("v"));
  facts.cuda_version = std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  facts.device_name = outcome.answers[2].find("name").value_or("unknown");
  if (options.backend.kind == BackendKind::cuda) {
    facts.driver_version = driver_version();
  }
  return facts;
}

}  // namespace tessera::tools
