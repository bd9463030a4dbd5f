#include "tessera/testing/allocator_check.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/check.h"
#include "testing/allocator_run.h"
#include "testing/allocator_sequence.h"
#include "testing/drop_runs.h"
#include "text.h"

namespace tessera::testing {
namespace {

// Sequences tried at most to make one short.
constexpr std::size_t attempts_max = 1000;

// What is wrong on lines of their own; empty: nothing.
std::string both(const std::string& first, const std::string& second) {
  return first + (first.empty() || second.empty() ? "" : "\n") + second;
}

struct Outcome {
  std::string failure;
  std::size_t operations = 0;
  std::vector<std::size_t> refused;  // operations
  std::string text;                  // a line an operation that was run
};

// Runs a sequence on a machine of its own.
class Check {
 public:
  explicit Check(const AllocatorTest& test)
      : machine_(test), run_(test, machine_, machine_.driver()) {}

  Outcome run(const AllocatorSequence& sequence) {
    if (const std::string thrown = thrown_by([&] { run_all(sequence); }); !thrown.empty()) {
      fail(thrown);
    }
    return std::move(outcome_);
  }

 private:
  void run_all(const AllocatorSequence& sequence) {
    if (!machine_.started()) {
      fail("the driver cannot be used: " + to_string(machine_.started().error()));
    } else if (const Status opened = run_.open(); !opened) {
      fail("the allocator cannot be made: " + to_string(opened.error()));
    }
    for (std::size_t i = 0; i < sequence.size() && outcome_.failure.empty(); ++i) {
      perform(sequence[i]);
    }
    if (outcome_.failure.empty()) {
      finish();
    }
  }

  void fail(const std::string& what) {
    if (outcome_.failure.empty()) {
      outcome_.failure = what;
    }
  }

  void perform(const AllocatorOp& op) {
    const bool is_alone = !run_.has_blocks();
    outcome_.text += "  " + to_string(op) + '\n';
    const Status status = run_.perform(op);
    outcome_.text.pop_back();
    if (!status) {
      outcome_.text += ": " + code_name(status.error().code);
    } else if (!op.is_free()) {
      outcome_.text += " at " + text::hexadecimal(run_.address_of(op.block).value());
    }
    outcome_.text += '\n';
    const bool is_refused =
        !op.is_free() && !status && status.error().code == ErrorCode::out_of_memory;
    if (is_refused) {
      outcome_.refused.push_back(outcome_.operations);
    }
    ++outcome_.operations;
    inspect();
    if (is_refused && is_alone) {
      fail("allocate finds too little memory, though nothing is allocated");
    } else if (!is_refused && !status) {
      fail((op.is_free() ? "free fails: " : "allocate fails: ") + to_string(status.error()));
    }
  }

  // What went wrong with a block, and the rule that was broken on the way there.
  void inspect() {
    run_.inspect();
    fail(both(run_.failure(), machine_.violations()));
  }

  void finish() {
    Status freed;
    if (const std::string thrown = thrown_by([&] { freed = run_.free_all(); }); !thrown.empty()) {
      return fail("when all is freed, " + thrown);
    }
    if (!freed) {
      fail("when all is freed, free fails: " + to_string(freed.error()));
    }
    inspect();
    run_.close();
    if (const std::string broken = machine_.violations(); !broken.empty()) {
      fail("when the allocator is destroyed: " + broken);
    }
    if (const std::string left = machine_.leaks(); !left.empty()) {
      fail("after all is freed and the allocator destroyed, this is left:\n" + left);
    }
  }

  AllocatorMachine machine_;
  AllocatorRun run_;
  Outcome outcome_;
};

Outcome check_once(const AllocatorTest& test, const AllocatorSequence& sequence) {
  return Check(test).run(sequence);
}

// Makes a sequence that fails short, then its sizes plain.
class Shrinker {
 public:
  Shrinker(const AllocatorTest& test, Bytes granule, AllocatorSequence sequence, Outcome outcome)
      : test_(test), granule_(granule), best_(std::move(sequence)), outcome_(std::move(outcome)) {}

  Outcome run() {
    bool is_smaller = true;
    while (is_smaller && attempts_ < attempts_max) {
      is_smaller = drop_operations();
      is_smaller = simplify_sizes() || is_smaller;
    }
    take_if_failing(renumbered(best_));
    return std::move(outcome_);
  }

 private:
  bool drop_operations() {
    return drop_runs(
        [this] { return best_.size(); },
        [this](std::size_t count, const auto& run_of) {
          bool is_taken = false;
          for (std::size_t number = 0; number < count; ++number) {
            const std::optional<ItemRun> run = run_of(number);
            is_taken = (run && take_if_failing(without(best_, run->first, run->count))) || is_taken;
          }
          return is_taken;
        });
  }

  bool take_if_failing(AllocatorSequence candidate) {
    if (++attempts_ > attempts_max) {
      return false;
    }
    Outcome outcome = check_once(test_, candidate);
    if (outcome.failure.empty()) {
      return false;
    }
    best_ = std::move(candidate);
    outcome_ = std::move(outcome);
    return true;
  }

  // All sizes at once, because allocations may have to match; then each by itself.
  bool simplify_sizes() {
    bool is_simpler = false;
    for (const Bytes size : {1_B, granule_}) {
      is_simpler = try_sizes(0, best_.size(), size) || is_simpler;
    }
    for (std::size_t i = 0; i < best_.size(); ++i) {
      for (const Bytes size : {1_B, granule_, align_down(best_[i].size, granule_)}) {
        is_simpler = try_sizes(i, i + 1, size) || is_simpler;
      }
    }
    return is_simpler;
  }

  // With no allocation from number `first` to before `end` larger than `size`.
  bool try_sizes(std::size_t first, std::size_t end, Bytes size) {
    AllocatorSequence candidate = best_;
    for (std::size_t i = first; i < end && !size.is_zero(); ++i) {
      candidate[i].size = std::min(candidate[i].size, size);
    }
    return candidate != best_ && take_if_failing(std::move(candidate));
  }

  const AllocatorTest& test_;
  Bytes granule_;
  AllocatorSequence best_;
  Outcome outcome_;
  std::size_t attempts_ = 0;
};

// Which figures of a test make no sense, and what would; empty: none.
std::string contradiction_in(const AllocatorTest& test) {
  constexpr std::size_t most = std::size_t{1} << 20U;
  const std::pair<const char*, std::size_t> counts[] = {
      {"blocks_max", test.blocks_max},
      {"operations_max", test.operations_max},
      {"swept_operations_max", test.swept_operations_max}};
  for (const auto& [name, count] : counts) {
    if (count == 0 || count > most) {
      return std::string(name) + " is " + std::to_string(count) + ", and may be 1 to " +
             std::to_string(most);
    }
  }
  if (test.size_max.is_zero() || test.size_max > test.capacity) {
    return "size_max is " + text::bytes(test.size_max) + ", and may be 1 byte to the capacity, " +
           text::bytes(test.capacity);
  }
  if (test.alignment.is_zero()) {
    return "alignment is 0 bytes, and may be 1 byte or more";
  }
  return test.validation.findings_max == 0
             ? "validation.findings_max is 0, and may be 1 or more: findings are what is looked for"
             : std::string();
}

Bytes granule_of(const AllocatorTest& test) {
  const Bytes granule = AllocatorMachine(test).granule();
  return granule.is_zero() ? 1_B : granule;
}

// The world of a sweep: the judges that the program, which has only a driver, reports to.
class SweptWorld final : public SweepWorld {
 public:
  explicit SweptWorld(const AllocatorTest& test) : machine_(test) {}

  Driver& driver() override { return machine_.driver(); }
  std::string leaks() override { return machine_.leaks(); }
  std::string violations() override { return both(wrong_, machine_.violations()); }

  AllocatorMachine& machine() { return machine_; }
  void note(const std::string& what) {
    if (wrong_.empty()) {
      wrong_ = what;
    }
  }

 private:
  AllocatorMachine machine_;
  std::string wrong_;
};

// Ends at the first error, whose effects the sweep judges; what was given before must be intact.
Status run_to_error(const AllocatorTest& test, const AllocatorSequence& sequence, SweptWorld& world,
                    Driver& driver) {
  AllocatorRun run(test, world.machine(), driver);
  TESSERA_TRY(run.open());
  Status status;
  for (const AllocatorOp& op : sequence) {
    status = run.perform(op);
    run.inspect();
    if (!status) {
      break;
    }
  }
  const Status freed = run.free_all();
  run.inspect();
  run.close();
  world.note(run.failure());
  if (!status && !freed) {
    world.note("after the error free fails: " + to_string(freed.error()));
  }
  return status ? freed : status;
}

Status run_swept(const AllocatorTest& test, const AllocatorSequence& sequence, SweptWorld& world,
                 Driver& driver) {
  Status status;
  if (const std::string thrown =
          thrown_by([&] { status = run_to_error(test, sequence, world, driver); });
      !thrown.empty()) {
    world.note(thrown);
  }
  return status;
}

}  // namespace

std::string to_string(const AllocatorReport& report) {
  std::string text = "allocator check: ";
  if (report.failure.empty()) {
    return text + std::to_string(report.operations) + " operations, " +
           std::to_string(report.refusals) + " of them found too little memory, nothing wrong\n";
  }
  text += report.failure;
  text += text.back() == '\n' ? "" : "\n";
  return text + "the shortest sequence found:\n" +
         (report.sequence.empty() ? "  no operation\n" : report.sequence);
}

AllocatorReport check_allocator(const AllocatorTest& test, Choices choices) {
  TESSERA_CHECK(test.make_driver != nullptr);
  TESSERA_CHECK(test.make_allocator != nullptr);
  if (std::string contradiction = contradiction_in(test); !contradiction.empty()) {
    return {.failure = "the test cannot be run: " + std::move(contradiction)};
  }
  const Bytes granule = granule_of(test);
  AllocatorSequence sequence = draw_sequence(test, test.operations_max, granule, choices);
  Outcome outcome = check_once(test, sequence);
  AllocatorReport report = {.operations = outcome.operations, .refusals = outcome.refused.size()};
  if (!outcome.failure.empty()) {
    outcome = Shrinker(test, granule, std::move(sequence), std::move(outcome)).run();
    report.failure = std::move(outcome.failure);
    report.sequence = std::move(outcome.text);
  }
  return report;
}

SweepReport sweep_allocator(const AllocatorTest& test, Choices choices, SweepOptions options) {
  AllocatorTest swept = test;
  swept.operations_max = test.swept_operations_max;
  const AllocatorReport report = check_allocator(swept, choices);
  SweepReport failed = {.runs = 1};
  if (!report.passed()) {
    failed.failures.push_back({.what = "without faults: " + to_string(report)});
    return failed;
  }
  AllocatorSequence sequence =
      draw_sequence(swept, swept.operations_max, granule_of(swept), choices);
  // What was refused is left out; the rest may be refused elsewhere then.
  for (std::vector<std::size_t> refused = check_once(swept, sequence).refused; !refused.empty();
       refused = check_once(swept, sequence).refused) {
    for (auto at = refused.rbegin(); at != refused.rend(); ++at) {
      sequence = without(sequence, *at, 1);
    }
  }
  SweptWorld* world = nullptr;
  options.make_world = [&] {
    auto made = std::make_unique<SweptWorld>(swept);
    world = made.get();
    return made;
  };
  return sweep_faults([&](Driver& driver) { return run_swept(swept, sequence, *world, driver); },
                      options);
}

}  // namespace tessera::testing
