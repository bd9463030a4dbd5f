// Programs on buffers, on machines so small that memory, addresses and page tables run out, with
// calls that fail: what was written is there, an error changes nothing, no rule is broken, and
// nothing is left. The first byte chooses the machine, the rest are decisions.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "buffers/subjects.h"
#include "buffers/world.h"

namespace tessera::fuzz {
namespace {

constexpr std::uint32_t slots = 4;
constexpr int most_steps = 100;

// A kind of machine, kept from input to input.
struct Machine {
  Machine(const char* name, std::int32_t count)
      : profile(*sim::built_in_profile(name)),
        devices(count),
        simulator(profile, {.devices = count}) {}

  const sim::Profile& profile;
  std::int32_t devices;
  sim::SimDriver simulator;
};

class Program {
 public:
  explicit Program(World& world) : world_(world) {}

  void step() {
    world_.begin_step();
    std::unique_ptr<Subject>& slot = subjects_[world_.choices().below(slots)];
    const std::uint32_t kind = world_.choices().below(16);
    if (kind == 0) {
      world_.plan_faults();
    } else if (slot == nullptr) {
      slot = make();
    } else if (kind == 1) {
      world_.launch_at(slot->readable());
    } else if (kind == 2 || (kind == 3 && !slot->cleans_up())) {
      close(slot);
    } else if (kind == 3) {
      slot.reset();
    } else {
      slot->step();
    }
    if (slot != nullptr) {
      slot->check();
    }
  }

  // Whatever calls fail, destructors give back what they can.
  void end() {
    // None has done anything to the others.
    for (const auto& subject : subjects_) {
      if (subject != nullptr) {
        subject->check();
      }
    }
    for (auto& subject : subjects_) {
      if (subject != nullptr && subject->cleans_up()) {
        subject.reset();
      }
    }
    world_.stop_faults();
    for (auto& subject : subjects_) {
      subject.reset();
    }
  }

 private:
  [[nodiscard]] std::unique_ptr<Subject> make() {
    constexpr std::array makers = {make_growable, make_sleepable, make_vector,
                                   make_striped,  make_ring,      make_vmm_alloc};
    return makers[world_.choices().below(makers.size())](world_);
  }

  void close(std::unique_ptr<Subject>& slot) {
    auto proof = world_.proof();
    if (proof && slot->close(*std::move(proof))) {
      slot.reset();
    }
  }

  World& world_;
  std::array<std::unique_ptr<Subject>, slots> subjects_;
};

void run(std::span<const std::uint8_t> bytes) {
  static std::array machines = {std::make_unique<Machine>("tiny", 1),
                                std::make_unique<Machine>("tiny", 2),
                                std::make_unique<Machine>("odd", 2)};
  if (bytes.empty()) {
    return;
  }
  Machine& machine = *machines[bytes.front() % machines.size()];
  Choices choices(bytes.subspan(1));
  machine.simulator.restart();
  World world(machine.simulator, machine.devices, machine.profile, choices);
  Program program(world);
  for (int i = 0; i < most_steps && !choices.is_exhausted(); ++i) {
    program.step();
  }
  program.end();
  world.finish();
}

}  // namespace
}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tessera::fuzz::run({data, size});
  return 0;
}
