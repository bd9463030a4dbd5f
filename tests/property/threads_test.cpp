// Calls of two threads at once are answered as if they had been made in some order: each short
// parallel suffix of a program is compared with all its interleavings.
#include <algorithm>
#include <array>
#include <barrier>
#include <memory>
#include <thread>
#include <vector>

#include "property/programs.h"
#include "support/must.h"

namespace tessera::model {
namespace {

using testing::Arguments;
using testing::Op;
using testing::OpKind;
using testing::Outcome;
using testing::Program;
using testing::ProgramRunner;

constexpr std::size_t prefix_length = 12;
constexpr std::size_t calls_per_thread = 3;

// Calls whose operands are fixed beforehand, and that are no thread's own affair: no contexts, and
// no descriptors, which belong to the runner.
bool is_shared(OpKind kind) {
  return kind == OpKind::reserve || kind == OpKind::address_free || kind == OpKind::create ||
         kind == OpKind::release || kind == OpKind::properties || kind == OpKind::retain ||
         kind == OpKind::map || kind == OpKind::unmap || kind == OpKind::set_access ||
         kind == OpKind::get_access || kind == OpKind::alloc || kind == OpKind::free ||
         kind == OpKind::address_range || kind == OpKind::attribute || kind == OpKind::htod ||
         kind == OpKind::expect || kind == OpKind::memset;
}

// What can be told of a run: the codes by thread, and the books at the end.
struct Seen {
  std::array<std::vector<ErrorCode>, 2> codes;
  sim::Books books;

  friend bool operator==(const Seen&, const Seen&) = default;
};

struct Suffixes {
  std::vector<Op> prefix;
  std::array<std::vector<Op>, 2> threads;
};

// A machine after the prefix, with the suffixes' operands worked out.
class Machine {
 public:
  Machine(const sim::Profile& profile, const Suffixes& suffixes)
      : driver_(profile, {.devices = 1}), granule_(profile.granularity_minimum) {
    ProgramRunner runner(driver_, granule_);
    EXPECT_TRUE(runner.begin());
    for (const Op& op : suffixes.prefix) {
      static_cast<void>(runner.run(op));
    }
    current_ = test::must(driver_.ctx_get_current());
    for (std::size_t thread = 0; thread < 2; ++thread) {
      for (const Op& op : suffixes.threads[thread]) {
        calls_[thread].push_back({op, runner.evaluate(op)});
      }
    }
  }

  // One after the other, in an order of threads.
  Seen run_in_order(const std::vector<std::size_t>& order) {
    ProgramRunner runner(driver_, granule_);
    std::array<std::size_t, 2> next = {};
    for (const std::size_t thread : order) {
      run_call(runner, thread, next[thread]++);
    }
    return seen();
  }

  Seen run_at_once() {
    std::barrier start(2);
    std::array<std::thread, 2> threads;
    for (std::size_t thread = 0; thread < 2; ++thread) {
      threads[thread] = std::thread([this, &start, thread] {
        ProgramRunner runner(driver_, granule_);
        static_cast<void>(driver_.ctx_set_current(current_));
        start.arrive_and_wait();
        for (std::size_t call = 0; call < calls_[thread].size(); ++call) {
          run_call(runner, thread, call);
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(driver_.check_invariants(), "");
    return seen();
  }

 private:
  struct Call {
    Op op;
    Arguments arguments;
  };

  void run_call(ProgramRunner& runner, std::size_t thread, std::size_t call) {
    const Call& made = calls_[thread][call];
    codes_[thread].push_back(runner.run(made.op, made.arguments).code);
  }
  Seen seen() { return {.codes = codes_, .books = driver_.books()}; }

  sim::SimDriver driver_;
  Bytes granule_;
  ContextHandle current_;
  std::array<std::vector<Call>, 2> calls_;
  std::array<std::vector<ErrorCode>, 2> codes_;
};

Suffixes suffixes_of(const Program& program) {
  Suffixes suffixes;
  for (std::size_t i = 0; i < program.drain; ++i) {
    const Op& op = program.ops[i];
    if (i < prefix_length) {
      suffixes.prefix.push_back(op);
    } else if (is_shared(op.kind)) {
      const std::size_t thread = suffixes.threads[0].size() < calls_per_thread ? 0 : 1;
      if (suffixes.threads[thread].size() < calls_per_thread) {
        suffixes.threads[thread].push_back(op);
      }
    }
  }
  return suffixes;
}

std::string text_of(const Seen& seen) {
  std::string text;
  for (const auto& codes : seen.codes) {
    for (const ErrorCode code : codes) {
      text += ' ' + code_name(code);
    }
    text += " |";
  }
  return text + ' ' + std::to_string(seen.books.mappings) + " mappings, " +
         std::to_string(seen.books.handles) + " handles, " +
         std::to_string(seen.books.reservations) + " reservations";
}

TEST(Threads, AreAnsweredAsInSomeOrder) {
  const sim::Profile& profile = *sim::built_in_profile("tiny");
  testing::GeneratorOptions options = generator_options(profile, 1);
  options.length = 30;
  options.descriptors = false;
  options.host_memory = false;
  testing::ProgramGenerator generator(options);
  Program program;
  int several = 0;  // programs in which the order shows
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    generator.generate(seed, program);
    const Suffixes suffixes = suffixes_of(program);
    std::vector<std::size_t> order(suffixes.threads[0].size(), 0);
    order.insert(order.end(), suffixes.threads[1].size(), 1);
    std::vector<Seen> possible;
    do {
      const Seen seen = Machine(profile, suffixes).run_in_order(order);
      if (std::find(possible.begin(), possible.end(), seen) == possible.end()) {
        possible.push_back(seen);
      }
    } while (std::next_permutation(order.begin(), order.end()));
    several += possible.size() > 1 ? 1 : 0;
    for (int round = 0; round < 5; ++round) {
      const Seen seen = Machine(profile, suffixes).run_at_once();
      ASSERT_NE(std::find(possible.begin(), possible.end(), seen), possible.end())
          << "seed " << seed << ": no order gives" << text_of(seen) << "\n"
          << scenario::to_string(testing::to_case(program, "threads"));
    }
  }
  // Or the test would say nothing.
  EXPECT_GT(several, 30);
}

}  // namespace
}  // namespace tessera::model
