#include "check.h"

#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include "layered_world.h"
#include "tessera/layers/validating_driver.h"
#include "tessera/scenario/runner.h"

namespace tessera::tools {
namespace {

using nlohmann::ordered_json;

// Where a finding is, and what it says.
struct Place {
  const std::string& file;
  const std::string& case_name;
  std::uint32_t line;
};

std::string to_line(const Place& place, const Finding& finding) {
  return place.file + ":" + std::to_string(place.line) + " case " + place.case_name + ": " +
         to_string(finding);
}

ordered_json to_json(const Place& place, const Finding& finding) {
  const Rule& rule = rule_of(finding.rule);
  return {{"file", place.file},
          {"case", place.case_name},
          {"line", place.line},
          {"rule", rule.name},
          {"number", static_cast<unsigned>(rule.id)},
          {"call",
           finding.call == Call::none ? ordered_json() : ordered_json(method_name(finding.call))},
          {"call_number", finding.call_number},
          {"answer", finding.answer == ErrorCode{} ? "OK" : code_name(finding.answer)},
          {"source", source_name(rule.source)},
          {"consequence", consequence_name(rule.consequence)},
          {"message", to_string(finding)}};
}

class Output {
 public:
  explicit Output(bool json) : is_json_(json) {}

  void add(const Place& place, const Finding& finding) {
    ++count_;
    if (is_json_) {
      findings_.push_back(to_json(place, finding));
    } else {
      std::printf("%s\n", to_line(place, finding).c_str());
    }
  }
  void end(std::size_t calls, std::size_t cases) {
    if (!is_json_) {
      std::printf("checked %zu calls in %zu cases: %zu findings\n", calls, cases, count_);
      return;
    }
    const ordered_json document = {
        {"calls", calls}, {"cases", cases}, {"findings", std::move(findings_)}};
    std::printf("%s\n",
                document.dump(2, ' ', false, ordered_json::error_handler_t::replace).c_str());
  }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  bool is_json_;
  std::size_t count_ = 0;
  ordered_json findings_ = ordered_json::array();
};

// The context that a case starts with is the runner's, who never gives it back.
bool is_runners_own(const Finding& finding, const scenario::Case& scenario_case) {
  constexpr std::uint64_t calls_before_first = 4;
  return scenario_case.start == scenario::Start::context && finding.rule == RuleId::leak_context &&
         finding.values[2] == 1 && finding.object.call_number <= calls_before_first;
}

}  // namespace

CheckedCase check_case(Backend& backend, const scenario::Case& scenario_case, bool leaks) {
  CheckedCase checked;
  const auto world = backend.make_world();
  std::vector<Finding> found;
  ValidatingDriver driver(&world->driver(), {.on_finding = [&found](const Finding& finding) {
    found.push_back(finding);
  }});
  LayeredWorld layered(*world, driver);
  const Status started = scenario::run_case(
      layered, scenario_case, [&](const scenario::Call&, const scenario::Answer& answer) {
        checked.calls.push_back({answer, std::exchange(found, {})});
        return true;
      });
  if (!started) {
    checked.problem = to_string(started.error());
  }
  if (leaks) {
    static_cast<void>(driver.check_leaks());
    checked.leaks = std::exchange(found, {});
    std::erase_if(checked.leaks,
                  [&](const Finding& finding) { return is_runners_own(finding, scenario_case); });
  }
  return checked;
}

ExitStatus check(const CheckOptions& options) {
  const auto recordings = read_recordings(options.files);
  if (!recordings) {
    return ExitStatus::unusable;
  }
  // Rules are about calls; what the memory holds does not matter to them.
  BackendOptions backend_options = options.backend;
  backend_options.bytes = false;
  auto opened = open_backend(backend_options);
  if (const auto* error = std::get_if<BackendError>(&opened)) {
    complain(error->message);
    return ExitStatus::unusable;
  }
  Backend& backend = *std::get<std::unique_ptr<Backend>>(opened);
  Output output(options.json);
  std::size_t calls = 0;
  std::size_t cases = 0;
  for (const Recording& recording : *recordings) {
    for (const scenario::Case& one : recording.scenario.cases) {
      const CheckedCase checked = check_case(backend, one, options.leaks);
      if (!checked.problem.empty()) {
        complain(recording.file + ": case " + one.name + " could not be run: " + checked.problem);
        return ExitStatus::unusable;
      }
      for (std::size_t i = 0; i < checked.calls.size(); ++i) {
        for (const Finding& finding : checked.calls[i].findings) {
          output.add({recording.file, one.name, one.calls[i].line}, finding);
        }
      }
      for (const Finding& finding : checked.leaks) {
        output.add({recording.file, one.name, one.line}, finding);
      }
      calls += checked.calls.size();
      ++cases;
    }
  }
  output.end(calls, cases);
  return output.count() == 0 ? ExitStatus::same : ExitStatus::different;
}

}  // namespace tessera::tools
