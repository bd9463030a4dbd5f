#include "record.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "answered.h"
#include "machine_facts.h"
#include "tessera/scenario/compare.h"
#include "tessera/scenario/writer.h"
#include "text_file.h"

namespace tessera::tools {
namespace {

std::string today() {
  std::array<char, 16> text = {};
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts)};
}

std::vector<std::string> header(const MachineFacts& facts, const RecordOptions& options) {
  const BackendOptions& backend = options.run.backend;
  std::vector<std::string> lines = {"# Recorded by tessera record, " + today()};
  if (backend.kind == BackendKind::sim) {
    lines.push_back("# Simulated: profile " + backend.profile);
  }
  lines.push_back("# GPU: " + facts.device_name + ", devices " + std::to_string(backend.devices));
  if (!facts.driver_version.empty()) {
    lines.push_back("# Driver: " + facts.driver_version);
  }
  lines.push_back("# CUDA: " + facts.cuda_version);
  if (options.repeat > 1) {
    lines.push_back("# Runs: " + std::to_string(options.repeat) +
                    "; where they differ, results are joined by | and extras are *");
  }
  return lines;
}

// A header of ours that the file has from an earlier recording.
void drop_old_header(std::vector<std::string>& lines) {
  if (!lines.empty() && lines.front().starts_with("# Recorded by tessera record")) {
    std::size_t end = 0;
    while (end < lines.size() && lines[end].starts_with("#")) {
      ++end;
    }
    lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(end));
  }
}

// Old answers say nothing about this machine, and must not steer the run.
std::vector<scenario::Case> without_answers(std::vector<scenario::Case> cases) {
  for (scenario::Case& one : cases) {
    for (scenario::Call& call : one.calls) {
      call.expected.reset();
    }
  }
  return cases;
}

void merge(CaseOutcome& all, const CaseOutcome& next) {
  for (std::size_t i = 0; i < next.answers.size(); ++i) {
    if (i < all.answers.size()) {
      all.answers[i] = scenario::merge_answers(all.answers[i], next.answers[i]);
    } else {
      // An earlier run ended before: what follows is known from this one alone.
      all.answers.push_back(next.answers[i]);
    }
  }
  if (all.problem.empty()) {
    all.problem = next.problem;
  }
}

// Gives the text of the recording, or prints why there is none.
std::optional<std::string> record_one(const Recording& recording, const MachineFacts& facts,
                                      const RecordOptions& options, bool& all_ran) {
  const std::vector<scenario::Case> cases = without_answers(recording.scenario.cases);
  std::vector<CaseOutcome> merged;
  for (int i = 0; i < options.repeat; ++i) {
    auto run = run_cases(cases, options.run);
    if (const auto* error = std::get_if<BackendError>(&run)) {
      complain(error->message);
      return std::nullopt;
    }
    auto& outcomes = std::get<std::vector<CaseOutcome>>(run);
    if (i == 0) {
      merged = std::move(outcomes);
      continue;
    }
    for (std::size_t j = 0; j < outcomes.size(); ++j) {
      merge(merged[j], outcomes[j]);
    }
  }
  scenario::Scenario recorded = recording.scenario;
  for (std::size_t i = 0; i < merged.size(); ++i) {
    recorded.cases[i] = with_answers(recording.scenario.cases[i], merged[i]);
    all_ran = all_ran && merged[i].problem.empty();
  }
  std::vector<std::string>& first_lines =
      recorded.cases.empty() ? recorded.lines_after : recorded.cases.front().lines_before;
  drop_old_header(first_lines);
  const std::vector<std::string> added = header(facts, options);
  first_lines.insert(first_lines.begin(), added.begin(), added.end());
  return to_string(recorded);
}

// Several files go into one folder, under their own names.
bool have_own_names(const RecordOptions& options) {
  if (options.output.empty()) {
    return true;
  }
  std::map<std::string, std::string> file_of;
  for (const std::string& file : options.files) {
    const std::string name = std::filesystem::path(file).filename();
    const auto [first, is_new] = file_of.try_emplace(name, file);
    if (!is_new) {
      complain(first->second + " and " + file + " would both be written to " + options.output +
               "/" + name + "; record one of them into another folder");
      return false;
    }
  }
  return true;
}

bool write(const std::string& text, const std::string& input, const RecordOptions& options) {
  if (options.output.empty()) {
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  }
  std::filesystem::path path = options.output;
  std::error_code error;
  if (options.files.size() > 1 || std::filesystem::is_directory(path, error)) {
    std::filesystem::create_directories(path, error);
    path /= std::filesystem::path(input).filename();
  }
  const FileError failed = write_text_file(path.string(), text);
  if (!failed.message.empty()) {
    complain(failed.message);
  }
  return failed.message.empty();
}

}  // namespace

ExitStatus record(const RecordOptions& options) {
  const auto recordings = read_recordings(options.files);
  if (!recordings || !have_own_names(options)) {
    return ExitStatus::unusable;
  }
  RunOptions run = options.run;
  run.isolate = true;
  RecordOptions isolated = options;
  isolated.run = run;
  const auto asked = ask_machine(run);
  if (const auto* error = std::get_if<BackendError>(&asked)) {
    complain(error->message);
    return ExitStatus::unusable;
  }
  bool all_ran = true;
  for (const Recording& recording : *recordings) {
    const auto text = record_one(recording, std::get<MachineFacts>(asked), isolated, all_ran);
    if (!text || !write(*text, recording.file, isolated)) {
      return ExitStatus::unusable;
    }
  }
  return all_ran ? ExitStatus::same : ExitStatus::different;
}

}  // namespace tessera::tools
