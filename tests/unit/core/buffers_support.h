// What the tests of buffers share: machines by profile, bytes to be found again, and a driver that
// fails one call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/sim_machine.h"
#include "tessera/owners/undo_failure.h"

namespace tessera::test {

inline constexpr DeviceOrdinal device_0{0};
inline constexpr DeviceOrdinal device_1{1};
inline constexpr Bytes largest_size{~std::uint64_t{0}};

// What is a multiple of all that a machine of this profile asks for.
[[nodiscard]] inline Bytes unit_of(const sim::Profile& profile) {
  return std::max(profile.granularity_minimum, profile.reservation_granularity);
}

// How a test that is run on several profiles is named.
[[nodiscard]] inline std::string profile_name(const testing::TestParamInfo<const char*>& test) {
  return test.param;
}

// `size` bytes that follow from `seed`.
[[nodiscard]] inline std::vector<std::byte> pattern(Bytes size, std::uint32_t seed) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(size.value()));
  std::uint32_t state = seed * 2654435761U + 1U;
  for (std::byte& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(state >> 24U);
  }
  return bytes;
}

inline void write_pattern(Driver& driver, DeviceAddress address, Bytes size, std::uint32_t seed) {
  const std::vector<std::byte> bytes = pattern(size, seed);
  must(driver.memcpy_htod({.destination = address, .source = bytes}));
}

[[nodiscard]] inline bool holds_pattern(Driver& driver, DeviceAddress address, Bytes size,
                                        std::uint32_t seed) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(size.value()));
  must(driver.memcpy_dtoh({.destination = bytes, .source = address}));
  return bytes == pattern(size, seed);
}

// Fails one call, counted from the last `arm`, instead of making it.
class FaultyDriver final : public DriverWrapper {
 public:
  using DriverWrapper::DriverWrapper;

  // The call number `index` from now on fails with `code`; with `also`, that one fails too.
  void arm(std::size_t index, ErrorCode code, std::optional<std::size_t> also = std::nullopt) {
    calls_ = 0;
    index_ = index;
    also_ = also;
    code_ = code;
    fired_ = Call::none;
  }
  void disarm() { index_ = also_ = std::nullopt; }
  [[nodiscard]] std::size_t calls() const { return calls_; }
  [[nodiscard]] Call fired() const { return fired_; }

#define TESSERA_FAULTY(Answer, method, Request) \
  Answer method(Request request) override {     \
    TESSERA_TRY(next(Call::method));            \
    return target().method(request);            \
  }
  TESSERA_FAULTY(Result<Bytes>, device_total_mem, DeviceOrdinal)
  TESSERA_FAULTY(Result<bool>, device_can_access_peer, const PeerQuery&)
  TESSERA_FAULTY(Result<Bytes>, mem_get_allocation_granularity, const GranularityRequest&)
  TESSERA_FAULTY(Result<DeviceAddress>, mem_address_reserve, const ReserveRequest&)
  TESSERA_FAULTY(Status, mem_address_free, const AddressFreeRequest&)
  TESSERA_FAULTY(Result<AllocationHandle>, mem_create, const CreateRequest&)
  TESSERA_FAULTY(Status, mem_release, AllocationHandle)
  TESSERA_FAULTY(Status, mem_map, const MapRequest&)
  TESSERA_FAULTY(Status, mem_unmap, const UnmapRequest&)
  TESSERA_FAULTY(Status, mem_set_access, const SetAccessRequest&)
  TESSERA_FAULTY(Status, memcpy_htod, const MemcpyHtodRequest&)
  TESSERA_FAULTY(Status, memcpy_dtoh, const MemcpyDtohRequest&)
  TESSERA_FAULTY(Status, memset_d8, const MemsetD8Request&)
#undef TESSERA_FAULTY

 private:
  Status next(Call call) {
    const std::size_t index = calls_++;
    if (index_ != index && also_ != index) {
      return {};
    }
    if (fired_ == Call::none) {
      fired_ = call;
    }
    return Error{.code = code_, .call = call, .origin = Origin::injected};
  }

  std::size_t calls_ = 0;
  std::optional<std::size_t> index_;
  std::optional<std::size_t> also_;
  ErrorCode code_ = ErrorCode::invalid_value;
  Call fired_ = Call::none;
};

// One run of a program with one call failing. Steps that fail are taken again.
class FaultRun {
 public:
  FaultRun(FaultyDriver& driver, ErrorCode code) : driver_(driver), code_(code) {}

  [[nodiscard]] DriverUse use() { return {driver_, sink_}; }
  [[nodiscard]] FaultyDriver& driver() { return driver_; }
  [[nodiscard]] CollectingSink& sink() { return sink_; }

  // Takes a step. If it fails, the error is the injected one, `look` sees what it saw before, and
  // the second try works.
  template <class Step, class Look>
  auto retried(const Step& step, const Look& look) {
    const auto before = look();
    auto done = step();
    if (!done) {
      EXPECT_EQ(done.error().code, code_) << to_string(done.error());
      EXPECT_EQ(done.error().call, driver_.fired()) << to_string(done.error());
      EXPECT_TRUE(look() == before) << "changed by a failed " << method_name(driver_.fired());
      done = step();
    }
    return must(std::move(done));
  }
  template <class Step>
  auto retried(const Step& step) {
    return retried(step, [] { return 0; });
  }

 private:
  FaultyDriver& driver_;
  ErrorCode code_;
  CollectingSink sink_;
};

// Runs `program` with each of its calls failing in turn, with several errors, and sees that nothing
// is left each time.
inline void sweep(const std::function<void(FaultRun&)>& program) {
  sim::SimMachine machine("h200", {.devices = 2});
  FaultyDriver driver(&machine.driver());
  const sim::Books before = machine->books();
  for (const ErrorCode code :
       {ErrorCode::out_of_memory, ErrorCode::invalid_value, ErrorCode::unknown}) {
    for (std::size_t index = 0;; ++index) {
      SCOPED_TRACE(code_name(code) + " from call " + std::to_string(index));
      FaultRun run(driver, code);
      driver.arm(index, code);
      program(run);
      const bool fired = driver.fired() != Call::none;
      driver.disarm();
      EXPECT_THAT(run.sink().retry_all(), is_ok());
      EXPECT_TRUE(machine->books() == before) << "left by a failed " << method_name(driver.fired());
      if (!fired) {
        EXPECT_GT(index, 0U);
        break;
      }
    }
  }
}

}  // namespace tessera::test
