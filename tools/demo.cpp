#include "demo.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>

#include <fmt/core.h>

#include "child_process.h"
#include "comparison.h"
#include "driver_world.h"
#include "tessera/scenario/reader.h"
#include "tessera/scenario/runner.h"
#include "tessera/scenario/writer.h"
#include "tessera/sim/sim_driver.h"

namespace tessera::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* demo_profile = "h200";

// The life of one allocation, told in the comments.
constexpr std::string_view walk = R"(case growing_allocation
  # Reserve 64 MiB of addresses. It takes no memory: reserve for the largest size ever wanted.
  reserve r0 size=32u
  # Make 2 MiB of memory. It has a handle, and no address yet.
  create h0 size=1u
  # Lay it at the start of the reservation. Still nobody may touch it.
  map r0 size=1u handle=h0
  # Let device 0 read and write it: from now on it is memory like any other.
  setaccess r0 size=1u
  memset r0 size=1u val=7
  # Grow in place: more memory, laid behind the first. No copy, and all pointers stay good.
  create h1 size=4u
  map r0+1u size=4u handle=h1
  setaccess r0+1u size=4u
  expect r0 size=1u val=7
  # Take the mappings away. The memory lives on: the handles still hold it.
  unmap r0 size=5u
  # Give the handles back, and with the last reference the memory goes.
  release h0
  release h1
  # Give the addresses back: the books are as they were.
  addrfree r0 size=32u
end
)";

// Where the recordings are: beside the installed command, else in the sources it was built from.
std::string recordings_directory(const DemoOptions& options) {
  if (!options.recordings.empty()) {
    return options.recordings;
  }
  std::error_code error;
  const fs::path installed =
      fs::path(own_executable()).parent_path() / TESSERA_INSTALLED_RECORDINGS;
  return fs::is_directory(installed, error) ? installed.string() : TESSERA_SOURCE_RECORDINGS;
}

std::vector<std::string> recordings_in(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".vmm") || name.ends_with(".vmm.gz")) {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The recordings' names say what they were made on.
std::int32_t devices_of(const std::string& name) {
  return name.starts_with("dual") || name.starts_with("peer") ? 2 : 1;
}

// One line: the file, its calls, and how many answers differ. Nothing if it cannot be run.
std::optional<std::size_t> replay_file(const std::string& file) {
  const auto recordings = read_recordings({file});
  if (!recordings) {
    return std::nullopt;
  }
  const std::string name = fs::path(file).filename().string();
  const RunOptions options = {
      .backend = {.kind = BackendKind::sim, .profile = demo_profile, .devices = devices_of(name)}};
  const std::vector<scenario::Case>& cases = recordings->front().scenario.cases;
  const auto run = run_cases(cases, options);
  if (const auto* error = std::get_if<BackendError>(&run)) {
    complain(error->message);
    return std::nullopt;
  }
  Comparison comparison;
  const auto& outcomes = std::get<std::vector<CaseOutcome>>(run);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    compare_case(file, cases[i], outcomes[i], granule_of(options.backend), comparison);
  }
  fmt::print("  {:<20} {:>7} calls in {:>4} cases: {} differ\n", name, comparison.calls,
             comparison.cases, comparison.different);
  return comparison.different;
}

std::uint64_t mebibytes(Bytes size) { return size / Bytes(1U << 20U); }

void print_books(const sim::Books& books, std::uint64_t used_before) {
  const MemoryInfo& device = books.devices.front();
  const std::uint64_t used = (device.total - device.free).value() - used_before;
  fmt::print(
      "      addresses {:>2} MiB | memory {} pieces, {} handles | mapped {}, accessible {} | "
      "device uses {} MiB\n",
      mebibytes(books.reserved), books.allocations, books.handles, books.mappings,
      books.accessible_mappings, mebibytes(Bytes(used)));
}

bool walk_through() {
  const auto read = scenario::read_scenario(walk, "demo");
  const scenario::Case& story = std::get<scenario::Scenario>(read).cases.front();
  const sim::Profile* profile = sim::built_in_profile(demo_profile);
  sim::SimDriver driver(*profile);
  DriverWorld world(driver, profile->granularity_minimum);
  scenario::CaseRunner runner(world, story.start);
  if (!runner.begin()) {
    return false;
  }
  const MemoryInfo before = driver.books().devices.front();
  bool all_ok = true;
  for (const scenario::Call& call : story.calls) {
    for (const std::string& line : call.lines_before) {
      fmt::print("\n{}\n", line);
    }
    const scenario::Answer answer = runner.run(call.operation);
    all_ok = all_ok && answer.is_ok();
    fmt::print("  {} => {}\n", to_string(call.operation), answer.text());
    print_books(driver.books(), (before.total - before.free).value());
  }
  return all_ok;
}

}  // namespace

ExitStatus demo(const DemoOptions& options) {
  const std::string directory = recordings_directory(options);
  const std::vector<std::string> files = recordings_in(directory);
  if (files.empty()) {
    complain(directory +
             ": no recordings (*.vmm, *.vmm.gz) here; name a directory with "
             "--recordings");
    return ExitStatus::unusable;
  }
  fmt::print("What a real H200 answered, replayed on the simulated one:\n\n");
  std::size_t different = 0;
  for (const std::string& file : files) {
    const auto differ = replay_file(file);
    if (!differ) {
      return ExitStatus::unusable;
    }
    different += *differ;
  }
  fmt::print("\nOne growing allocation, and the simulated device's books after each call:\n");
  const bool walked = walk_through();
  return different == 0 && walked ? ExitStatus::same : ExitStatus::different;
}

}  // namespace tessera::tools
