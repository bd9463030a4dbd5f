#include "suites.h"

#include <functional>
#include <optional>
#include <utility>

#include "conformance/every_call.h"
#include "property/programs.h"
#include "support/sim_refusals.h"

namespace tessera::rules_off {
namespace {

// Makes the layer, and tells where it is.
sim::DriverLayer layer_without(const RefusalRule& rule, RuleOffDriver** made = nullptr) {
  return [rule, made](Driver* simulator) {
    auto layer = std::make_unique<RuleOffDriver>(simulator, rule);
    if (made != nullptr) {
      *made = layer.get();
    }
    return layer;
  };
}

class RandomPrograms final : public Suite {
 public:
  RandomPrograms() {
    for (const model::MachineKind& kind : model::machine_kinds) {
      find_rules(kind);
    }
  }

  [[nodiscard]] std::string name() const override { return "random programs"; }

  [[nodiscard]] std::string failure_without(const RefusalRule& rule) const override {
    const Place& place = places_.at(rule);
    Run run(*place.kind, layer_without(rule));
    testing::Program program;
    for (std::uint64_t seed = 1; seed <= place.seed; ++seed) {
      run.generator.generate(seed, program);
      if (const auto found = run.differential.run(program)) {
        return "profile " + std::string(place.kind->profile) + ", " +
               std::to_string(place.kind->devices) + " devices, program " + std::to_string(seed);
      }
    }
    return "";
  }

 private:
  // Where a rule refuses something first.
  struct Place {
    const model::MachineKind* kind = nullptr;
    std::uint64_t seed = 0;
  };
  struct Run {
    Run(const model::MachineKind& kind, const sim::DriverLayer& layer)
        : generator(model::generator_options(model::profile_of(kind), kind.devices)),
          differential(model::profile_of(kind), {.devices = kind.devices, .layer = layer}) {}

    testing::ProgramGenerator generator;
    model::Differential differential;
  };

  void find_rules(const model::MachineKind& kind) {
    RuleOffDriver* layer = nullptr;
    Run run(kind, layer_without({}, &layer));
    testing::Program program;
    std::size_t known = 0;
    for (std::uint64_t seed = 1; seed <= model::many_programs; ++seed) {
      run.generator.generate(seed, program);
      static_cast<void>(run.differential.run(program));
      if (layer->met().size() == known) {
        continue;
      }
      known = layer->met().size();
      for (const RefusalRule& rule : layer->met()) {
        const auto [place, is_new] = places_.try_emplace(rule, Place{&kind, seed});
        if (!is_new && seed < place->second.seed) {
          place->second = {&kind, seed};
        }
        rules_.insert(rule);
      }
    }
  }

  std::map<RefusalRule, Place> places_;
};

// Calls that must be refused, each by itself: `make` gives what refused it, nothing where it was
// OK.
struct Attempt {
  std::string what;
  std::function<std::optional<Error>(const sim::DriverLayer& layer)> make;
};

class Attempts final : public Suite {
 public:
  Attempts(std::string name, const std::vector<Attempt>& attempts) : name_(std::move(name)) {
    for (const Attempt& attempt : attempts) {
      if (const std::optional<Error> error = attempt.make(layer_without({}))) {
        const RefusalRule rule = {error->call, error->reason};
        attempts_.try_emplace(rule, attempt);
        rules_.insert(rule);
      }
    }
  }

  [[nodiscard]] std::string name() const override { return name_; }

  [[nodiscard]] std::string failure_without(const RefusalRule& rule) const override {
    const Attempt& attempt = attempts_.at(rule);
    return attempt.make(layer_without(rule)) ? "" : attempt.what;
  }

 private:
  std::string name_;
  std::map<RefusalRule, Attempt> attempts_;  // the first of each rule
};

// A simulator on which `begin` was called, and a call of the list that answers by that state alone.
Attempt in_state(const char* state, const conformance::EveryCall& entry, const Error& expected,
                 void (*begin)(Driver& driver)) {
  const auto make = [entry, expected, begin](const sim::DriverLayer& layer) {
    sim::SimDriver simulator(sim::profile_named("h200"));
    begin(simulator);
    Error error = expected;
    error.call = entry.call;
    const bool is_refused = entry.make(*layer(&simulator)) == expected.code;
    return is_refused ? std::optional(error) : std::nullopt;
  };
  return {std::string(state) + ", " + std::string(method_name(entry.call)), make};
}

void make_destroyed_context_current(Driver& driver) {
  test::must(driver.init(0));
  const ContextHandle context = test::must(driver.ctx_create({.device = sim::device_0}));
  test::must(driver.ctx_destroy(context));
  test::must(driver.ctx_set_current(context));
}

void lose_process(Driver& driver) {
  test::must(driver.init(0));
  test::must(driver.ctx_set_current(test::must(driver.device_primary_ctx_retain(sim::device_0))));
  test::must(driver.launch_touch({.address = sim::nowhere, .touch = Touch::write}));
  static_cast<void>(driver.ctx_synchronize());
}

}  // namespace

Suite::~Suite() = default;

std::unique_ptr<Suite> random_programs() { return std::make_unique<RandomPrograms>(); }

std::unique_ptr<Suite> refusal_tables() {
  std::vector<Attempt> attempts;
  for (const std::string_view name : sim::built_in_profile_names()) {
    const sim::Profile& profile = sim::profile_named(name);
    for (const sim::RefusalTable& table : sim::refusal_tables()) {
      if (!table.applies(profile)) {
        continue;
      }
      for (const sim::Refusal& refusal : table.refusals()) {
        attempts.push_back({std::string(table.name) + ", profile " + std::string(name) + ", " +
                                std::string(method_name(refusal.call)) + ", " + refusal.what,
                            [&profile, refusal](const sim::DriverLayer& layer) {
                              sim::World world(profile, layer);
                              return refusal.make(world);
                            }});
      }
    }
  }
  return std::make_unique<Attempts>("tables of refusals", attempts);
}

std::unique_ptr<Suite> refusal_cases() {
  std::vector<Attempt> attempts;
  for (const sim::RefusalCase& refusal : sim::refusal_cases()) {
    attempts.push_back({to_string(RefusalRule(refusal.call, refusal.reason)), refusal.make});
  }
  return std::make_unique<Attempts>("cases of refusal", attempts);
}

std::unique_ptr<Suite> every_call() {
  constexpr Error before_init = {.code = ErrorCode::not_initialized, .reason = Reason::before_init};
  constexpr Error no_context = {.code = ErrorCode::invalid_context,
                                .reason = Reason::no_current_context};
  constexpr Error destroyed = {.code = ErrorCode::context_is_destroyed,
                               .reason = Reason::context_destroyed};
  constexpr Error lost = {.code = ErrorCode::illegal_address, .reason = Reason::process_lost};
  std::vector<Attempt> attempts;
  for (const conformance::EveryCall& entry : conformance::every_call()) {
    if (entry.need == conformance::Need::init || entry.need == conformance::Need::context) {
      attempts.push_back(in_state("before init", entry, before_init, [](Driver& /*driver*/) {}));
    }
    if (entry.need == conformance::Need::context) {
      attempts.push_back(in_state("without a context", entry, no_context,
                                  [](Driver& driver) { test::must(driver.init(0)); }));
      attempts.push_back(
          in_state("with a destroyed context", entry, destroyed, make_destroyed_context_current));
      attempts.push_back(in_state("in a lost process", entry, lost, lose_process));
    }
  }
  return std::make_unique<Attempts>("every call", attempts);
}

}  // namespace tessera::rules_off
