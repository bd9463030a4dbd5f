// FaultPlan: which calls a FaultInjectingDriver fails, with which error, and when.
//
//   FaultPlan plan{.faults = {Fault::nth_of(Call::mem_create, 2, ErrorCode::out_of_memory)}};
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/bytes.h"
#include "tessera/error.h"
#include "tessera/layers/call_set.h"

namespace tessera {

enum class Effect : std::uint8_t {
  before,  // the call is not made: nothing has changed, as after a real error
  // The call is made, and reported as failed when it succeeded. What it gave (memory, addresses, a
  // descriptor) is lost on purpose: nobody is told of it, and no program can give it back.
  after,
};

// One reason to fail calls. Numbers count from 1, all calls that reach the layer.
struct Fault {
  static constexpr std::uint32_t million = 1'000'000;

  Call call = Call::none;          // of which kind; none: of any
  std::uint64_t number = 0;        // the how-manieth call of that kind (of any: of all); 0: each
  std::uint32_t chance = million;  // of a million such calls, how many fail, drawn by the seed
  // Nothing: one that the call can give (call_errors.h), drawn by the seed; out_of_memory where it
  // is known to give none.
  std::optional<ErrorCode> error = {};
  Effect effect = Effect::before;

  // The k-th call of all, k >= 1.
  [[nodiscard]] static Fault nth(std::uint64_t k, ErrorCode error) {
    TESSERA_CHECK(k >= 1);
    return {.number = k, .error = error};
  }
  // The k-th call of a kind, k >= 1.
  [[nodiscard]] static Fault nth_of(Call call, std::uint64_t k, ErrorCode error) {
    TESSERA_CHECK(k >= 1);
    return {.call = call, .number = k, .error = error};
  }
  [[nodiscard]] static Fault each_of(Call call, ErrorCode error) {
    return {.call = call, .error = error};
  }
  // So many of a million calls of any kind.
  [[nodiscard]] static Fault per_million(std::uint32_t chance) { return {.chance = chance}; }
};

struct FaultPlan {
  // The first that meets a call fails it.
  std::vector<Fault> faults = {};
  // Draws are a function of the seed and the call's number alone: the same with every compiler.
  std::uint64_t seed = 0;
  // The most bytes that may be alive at once, of what was made through the layer; more is refused
  // with out_of_memory. Can be changed later: see FaultInjectingDriver::set_capacity.
  std::optional<Bytes> capacity = {};
  // So many exports to file descriptors succeed; then each fails as when the process has no
  // descriptor left (EMFILE): operating_system.
  std::optional<std::uint64_t> descriptors_left = {};
  // Calls that nothing of this plan fails.
  CallSet never_fails = {};
};

}  // namespace tessera
