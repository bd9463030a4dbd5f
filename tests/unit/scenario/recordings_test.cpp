// The recordings of a real H200: they print back to the same bytes, and the simulator answers as
// the GPU did.
#include <filesystem>

#include <gtest/gtest.h>

#include "comparison.h"
#include "run_cases.h"
#include "tessera/scenario/reader.h"
#include "tessera/scenario/writer.h"
#include "text_file.h"

namespace tessera::tools {
namespace {

struct RecordedFile {
  const char* name;
  std::int32_t devices;
  std::size_t calls;
};

void PrintTo(const RecordedFile& file, std::ostream* out) { *out << file.name; }

class Recordings : public testing::TestWithParam<RecordedFile> {
 protected:
  void SetUp() override {
    path_ = std::filesystem::path(TESSERA_RECORDINGS_DIR) / "h200-580.159.04" / GetParam().name;
    auto read = read_text_file(path_.string());
    ASSERT_TRUE(std::holds_alternative<std::string>(read)) << std::get<FileError>(read).message;
    text_ = std::get<std::string>(std::move(read));
    auto parsed = scenario::read_scenario(text_, GetParam().name);
    ASSERT_TRUE(std::holds_alternative<scenario::Scenario>(parsed))
        << to_string(std::get<scenario::ReadError>(parsed));
    scenario_ = std::get<scenario::Scenario>(std::move(parsed));
  }

  std::filesystem::path path_;
  std::string text_;
  scenario::Scenario scenario_;
};

TEST_P(Recordings, PrintBackToTheSameBytes) { EXPECT_TRUE(to_string(scenario_) == text_); }

TEST_P(Recordings, AreAnsweredBySimulatedH200) {
  const RunOptions options = {.backend = {.devices = GetParam().devices}};
  const auto run = run_cases(scenario_.cases, options);
  ASSERT_TRUE(std::holds_alternative<std::vector<CaseOutcome>>(run));
  const auto& outcomes = std::get<std::vector<CaseOutcome>>(run);
  Comparison comparison;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    compare_case(GetParam().name, scenario_.cases[i], outcomes[i], Bytes(2U << 20U), comparison);
  }
  EXPECT_EQ(comparison.calls, GetParam().calls);
  EXPECT_EQ(comparison.different, 0U);
  for (const std::string& line : comparison.shown) {
    ADD_FAILURE() << line;
  }
}

INSTANTIATE_TEST_SUITE_P(
    H200, Recordings,
    testing::Values(
        RecordedFile{"single.vmm", 1, 1339}, RecordedFile{"dual.vmm", 2, 109},
        RecordedFile{"measured.vmm", 1, 553}, RecordedFile{"explored.vmm", 1, 1523},
        RecordedFile{"host_copies.vmm.gz", 1, 9091}, RecordedFile{"contexts.vmm", 1, 624},
        RecordedFile{"rdma.vmm.gz", 1, 21499}, RecordedFile{"dual_rdma.vmm.gz", 2, 14574},
        RecordedFile{"dual_explored.vmm", 2, 496}, RecordedFile{"random-101.vmm.gz", 1, 40403},
        RecordedFile{"hard-303.vmm.gz", 1, 93522}, RecordedFile{"peer-505.vmm.gz", 2, 37088}),
    [](const testing::TestParamInfo<RecordedFile>& file) {
      const std::string name = file.param.name;
      return name.substr(0, name.find_first_of("-."));
    });

}  // namespace
}  // namespace tessera::tools
