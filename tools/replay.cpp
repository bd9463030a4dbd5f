#include "replay.h"

#include <cstdio>
#include <utility>

#include "answered.h"
#include "comparison.h"
#include "confirm.h"
#include "tessera/scenario/reader.h"
#include "tessera/scenario/writer.h"
#include "text_file.h"

namespace tessera::tools {
namespace {

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_answers(const Recording& recording, const std::vector<CaseOutcome>& outcomes) {
  std::string text;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    text.clear();
    scenario::print_to(text, with_answers(recording.scenario.cases[i], outcomes[i]));
    print(text);
  }
}

}  // namespace

void complain(const std::string& message) {
  std::fflush(stdout);
  std::fprintf(stderr, "tessera: %s\n", message.c_str());
}

std::optional<std::vector<Recording>> read_recordings(const std::vector<std::string>& files) {
  std::vector<Recording> recordings;
  bool good = true;
  for (const std::string& file : files) {
    const auto text = read_text_file(file);
    if (const auto* error = std::get_if<FileError>(&text)) {
      complain(error->message);
      good = false;
      continue;
    }
    auto read = scenario::read_scenario(std::get<std::string>(text), file);
    if (const auto* error = std::get_if<scenario::ReadError>(&read)) {
      complain(to_string(*error));
      good = false;
      continue;
    }
    recordings.push_back({file, std::get<scenario::Scenario>(std::move(read))});
  }
  return good ? std::optional(std::move(recordings)) : std::nullopt;
}

ExitStatus replay(const ReplayOptions& options) {
  const auto recordings = read_recordings(options.files);
  if (!recordings) {
    return ExitStatus::unusable;
  }
  const Bytes granule = granule_of(options.run.backend);
  Comparison comparison;
  bool all_ran = true;
  std::size_t run_again = 0;
  for (const Recording& recording : *recordings) {
    auto run = run_cases(recording.scenario.cases, options.run);
    if (const auto* error = std::get_if<BackendError>(&run)) {
      complain(error->message);
      return ExitStatus::unusable;
    }
    auto& outcomes = std::get<std::vector<CaseOutcome>>(run);
    if (options.check) {
      run_again += confirm_differences(recording.scenario.cases, options.run, granule, outcomes);
    } else {
      print_answers(recording, outcomes);
    }
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      all_ran = all_ran && outcomes[i].problem.empty();
      if (options.check) {
        compare_case(recording.file, recording.scenario.cases[i], outcomes[i], granule, comparison);
      }
    }
  }
  if (!options.check) {
    return all_ran ? ExitStatus::same : ExitStatus::different;
  }
  if (run_again != 0) {
    print("run again in a process of their own, having differed after others in one: " +
          std::to_string(run_again) + " cases; the second answers count\n");
  }
  for (const std::string& line : comparison.shown) {
    print(line + "\n");
  }
  print(summary(comparison) + "\n");
  return comparison.different == 0 && all_ran ? ExitStatus::same : ExitStatus::different;
}

}  // namespace tessera::tools
