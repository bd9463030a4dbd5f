// Differential: runs programs on the simulator and the naive model side by side.
//
// A simulated machine serves many programs: it is kept as long as each undid all that it did, and
// restarted otherwise. So a difference may depend on the programs before.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/deep_states.h"
#include "model/naive_model.h"
#include "tessera/sim/sim_driver.h"
#include "tessera/testing/program_generator.h"

namespace tessera::model {

// How much is compared after each call. Always: the code, its values, the books (counts and free
// memory), and at the end that all was undone.
enum class Level : std::uint8_t {
  quick,     // all that can be asked, before the drain, in one program of 64, always the same ones
  probing,   // the same in each program
  thorough,  // all that can be asked, after each call
};

struct DifferentialOptions {
  std::int32_t devices = 1;
  Level level = Level::quick;
  // What the model goes by; null: the simulator's own profile. Another one is a planted fault.
  const sim::Profile* model_profile = nullptr;
  // Makes what programs call instead of the simulator itself, a layer over it; null: nothing. A
  // planted fault, too.
  std::function<std::unique_ptr<Driver>(Driver* simulator)> layer = nullptr;
  std::uint32_t programs_per_machine = 256;
};

struct Difference {
  std::size_t at = 0;  // the operation
  std::string what;
  // What is right: the answers up to there, and what the model says to that call.
  std::vector<testing::Outcome> outcomes;
};

// What the generator should know of a profile.
[[nodiscard]] testing::GeneratorOptions generator_options(const sim::Profile& profile,
                                                          std::int32_t devices);

class Differential {
 public:
  // The profile outlives the object.
  Differential(const sim::Profile& profile, const DifferentialOptions& options);
  ~Differential();

  // The first difference; nothing where there is none.
  [[nodiscard]] std::optional<Difference> run(const testing::Program& program);
  // The same on a machine of its own.
  [[nodiscard]] std::optional<Difference> run_alone(const testing::Program& program);

  [[nodiscard]] std::uint64_t calls() const noexcept { return calls_; }
  [[nodiscard]] std::uint64_t machines() const noexcept { return machines_; }
  [[nodiscard]] const DeepStates& deep_states() const noexcept { return deep_states_; }
  // Appends what each call answered, in terms of symbols; null: no trace.
  void trace_to(std::string* trace) noexcept { trace_ = trace; }

 private:
  bool prepare();
  [[nodiscard]] bool step(const testing::Op& op, const testing::Arguments& arguments,
                          const testing::Outcome& outcome);
  [[nodiscard]] bool compare_books();
  [[nodiscard]] bool probe_all();
  [[nodiscard]] bool probe(const testing::Op& op, std::uint64_t address);
  [[nodiscard]] bool probe_address(std::uint64_t address);
  [[nodiscard]] bool probe_handles();
  [[nodiscard]] bool is_as_new() const;

  const sim::Profile& profile_;
  DifferentialOptions options_;
  sim::SimDriver driver_;
  std::unique_ptr<Driver> layer_;  // may be null
  testing::ProgramRunner runner_;
  bool is_undone_ = false;  // all that ran on the machine
  NaiveModel model_;
  DeepStates deep_states_;
  sim::Books expected_;
  sim::Books books_;
  std::string what_;
  std::uint64_t primary_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t machines_ = 0;
  std::uint32_t programs_on_machine_ = 0;
  std::vector<testing::Outcome> outcomes_;
  std::string* trace_ = nullptr;
};

// For tests and shrinking: the difference of one program on a fresh machine, where all that can be
// asked is asked at least before the drain.
[[nodiscard]] std::optional<Difference> difference(const sim::Profile& profile,
                                                   const DifferentialOptions& options,
                                                   const testing::Program& program);

}  // namespace tessera::model
