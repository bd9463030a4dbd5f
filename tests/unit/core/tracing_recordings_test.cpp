// The recordings' cases, run through a TracingDriver: the trace, read back, is answered the same on
// a fresh machine.
#include <filesystem>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "driver_world.h"
#include "support/must.h"
#include "tessera/layers/tracing_driver.h"
#include "tessera/scenario/compare.h"
#include "tessera/scenario/reader.h"
#include "tessera/scenario/runner.h"
#include "tessera/scenario/writer.h"
#include "tessera/sim/sim_driver.h"
#include "text_file.h"

namespace tessera {
namespace {

constexpr Bytes unit = 2_MiB;

struct RecordedFile {
  const char* name;
  std::int32_t devices;
};

void PrintTo(const RecordedFile& file, std::ostream* out) { *out << file.name; }

// A simulated machine, perhaps behind a tracing layer.
class RecordingWorld final : public tools::DriverWorld {
 public:
  RecordingWorld(sim::SimDriver& simulator, Driver& driver, TracingDriver* tracing)
      : DriverWorld(driver, unit), simulator_(simulator), tracing_(tracing) {}

  bool close_descriptor(int descriptor) override {
    if (tracing_ != nullptr) {
      tracing_->descriptor_closed(descriptor);
    }
    return DriverWorld::close_descriptor(descriptor);
  }
  Result<std::byte> host_read(DeviceAddress address) override {
    return simulator_.host_read(address);
  }
  Status host_write(DeviceAddress address, std::byte value) override {
    return simulator_.host_write(address, value);
  }

 private:
  sim::SimDriver& simulator_;
  TracingDriver* tracing_;
};

class TracedRecordings : public testing::TestWithParam<RecordedFile> {
 protected:
  [[nodiscard]] sim::SimDriver make_machine() const {
    return sim::SimDriver(*sim::built_in_profile("h200"), {.devices = GetParam().devices});
  }

  std::string trace_of(const scenario::Case& recorded) const {
    sim::SimDriver driver = make_machine();
    TracingDriver tracing(&driver, {.case_name = recorded.name, .granule = unit});
    RecordingWorld world(driver, tracing, &tracing);
    test::must(run_case(world, recorded, [](const auto&, const auto&) { return true; }));
    return tracing.text();
  }

  void expect_replays(const std::string& text) {
    const auto read = scenario::read_scenario(text, "trace");
    ASSERT_TRUE(std::holds_alternative<scenario::Scenario>(read))
        << to_string(std::get<scenario::ReadError>(read));
    for (const scenario::Case& traced : std::get<scenario::Scenario>(read).cases) {
      sim::SimDriver driver = make_machine();
      RecordingWorld world(driver, driver, nullptr);
      const auto compare = [&](const scenario::Call& call, const scenario::Answer& answer) {
        if (!call.expected) {
          return true;
        }
        ++compared_;
        const bool same = agrees(call, answer, {.granule = unit});
        EXPECT_TRUE(same) << traced.name << ": " << to_string(call.operation) << ": "
                          << answer.text() << ", not " << call.expected->text();
        return same;
      };
      test::must(run_case(world, traced, compare));
    }
  }

  std::size_t compared_ = 0;
};

TEST_P(TracedRecordings, AreAnsweredTheSameAgain) {
  const auto path =
      std::filesystem::path(TESSERA_RECORDINGS_DIR) / "h200-580.159.04" / GetParam().name;
  const auto text = tools::read_text_file(path.string());
  ASSERT_TRUE(std::holds_alternative<std::string>(text));
  const auto read = scenario::read_scenario(std::get<std::string>(text), GetParam().name);
  ASSERT_TRUE(std::holds_alternative<scenario::Scenario>(read));
  std::size_t recorded = 0;
  for (const scenario::Case& one : std::get<scenario::Scenario>(read).cases) {
    recorded += one.calls.size();
    expect_replays(trace_of(one));
  }
  // Most calls are operations of their own in the trace.
  EXPECT_GE(compared_, recorded);
}

INSTANTIATE_TEST_SUITE_P(H200, TracedRecordings,
                         testing::Values(RecordedFile{"single.vmm", 1}, RecordedFile{"dual.vmm", 2},
                                         RecordedFile{"measured.vmm", 1},
                                         RecordedFile{"random-101.vmm.gz", 1},
                                         RecordedFile{"hard-303.vmm.gz", 1},
                                         RecordedFile{"peer-505.vmm.gz", 2}),
                         [](const testing::TestParamInfo<RecordedFile>& file) {
                           const std::string name = file.param.name;
                           return name.substr(0, name.find_first_of("-."));
                         });

}  // namespace
}  // namespace tessera
