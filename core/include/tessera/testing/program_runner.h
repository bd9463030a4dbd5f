// ProgramRunner: runs a program's operations on any Driver and says what each answered.
//
// Made for speed: one driver call (or two) an operation, nothing allocated, no text. Start and
// meaning are those of a scenario case: the driver is started, the primary context of device 0
// retained and current; ctx_retain also makes current; memset, dtod wait unless they are queued.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/driver.h"
#include "tessera/testing/program.h"

namespace tessera::testing {

// What a call answered. The values, where the code is zero (success):
//   what goes to a slot: the value;   alloc_pitch: and the pitch;   close_fd: 1 if it was open
//   properties: location, handle types and the rest, packed;        mem_info: free, total
//   expect: 1 if all bytes were as expected, and a hash of them;    address_range: begin, size
//   get_access, attribute, limit_get, granularity, peer_can: the value
struct Outcome {
  ErrorCode code = ErrorCode{0};
  std::uint64_t value = 0;
  std::uint64_t second = 0;

  [[nodiscard]] bool is_ok() const noexcept { return code == ErrorCode{0}; }
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// The operands of a call as numbers. `object` of a context that no slot names is the primary one of
// the operation's device.
struct Arguments {
  std::uint64_t address = 0;
  std::uint64_t source = 0;
  std::uint64_t size = 0;
  std::uint64_t extra = 0;
  std::uint64_t object = 0;
  std::uint64_t other = 0;  // of `free`: 1 if the call is mem_free_host
};

[[nodiscard]] std::uint64_t hash_of(const std::byte* bytes, std::size_t size) noexcept;
[[nodiscard]] Outcome outcome_of(const AllocationProperties& properties) noexcept;
// What a `create` asks for.
[[nodiscard]] AllocationProperties properties_of(const Op& op) noexcept;
// How long the kernel of a `launch` waits.
[[nodiscard]] std::uint64_t duration_of(const Arguments& arguments) noexcept;

class ProgramRunner {
 public:
  // The driver outlives the runner. `granule` is what sizes in granules are multiples of.
  ProgramRunner(Driver& driver, Bytes granule) noexcept : driver_(driver), granule_(granule) {}
  ProgramRunner(const ProgramRunner&) = delete;
  ProgramRunner& operator=(const ProgramRunner&) = delete;
  ~ProgramRunner();  // closes descriptors that are still open; undoes nothing else

  // What is done before the first operation. An error: no program can be run.
  Status begin();
  // Forgets all symbols and closes descriptors, for the next program on the same driver. The
  // primary context of device 0 stays.
  void forget();

  // `op` is as `normalize` leaves it, as those of generators and scenarios are.
  Outcome run(const Op& op);
  // The same with operands from elsewhere, and nothing kept of the result.
  Outcome run(const Op& op, const Arguments& arguments);

  // The operands of the operation run last, and of one that would be run now.
  [[nodiscard]] const Arguments& arguments() const noexcept { return arguments_; }
  [[nodiscard]] Arguments evaluate(const Op& op) const noexcept;
  [[nodiscard]] std::uint64_t value_of(SlotKind kind, std::uint8_t slot) const noexcept;
  [[nodiscard]] std::uint64_t primary(std::int8_t device) const noexcept;
  // Whether it is what a mem_host_alloc gave that was not freed since: `free` is mem_free_host
  // then.
  [[nodiscard]] bool is_host_memory(std::uint64_t address) const noexcept;

  // Appends one line: the operation, the code, and the values in terms of symbols: a handle as the
  // slot that has it, an address as a distance. The same on every machine and in every build.
  void trace(std::string& out, const Op& op, const Outcome& outcome) const;

 private:
  static constexpr std::size_t devices_max = 8;
  using Slots = std::array<std::uint64_t, slots_max>;

  Outcome run_context(const Op& op);
  Outcome run_memory(const Op& op);
  Outcome run_mapping(const Op& op);
  Outcome run_allocation(const Op& op);
  Outcome run_data(const Op& op);
  Outcome run_query(const Op& op);
  Outcome run_order(const Op& op);
  Outcome run_multicast(const Op& op);
  Outcome retain_primary(const Op& op);
  Outcome close_descriptor(const Op& op);
  Outcome free_memory();
  Outcome set_access(const Op& op);
  void keep(const Op& op, const Outcome& outcome);
  void close_descriptors() noexcept;
  [[nodiscard]] std::uint64_t value_of(const Place& place) const noexcept;
  [[nodiscard]] std::uint64_t value_of(const Size& size) const noexcept;

  Driver& driver_;
  Bytes granule_;
  Arguments arguments_ = {};
  std::array<Slots, slot_kinds> slots_ = {};
  std::vector<std::uint64_t> host_memory_;  // what mem_host_alloc gave and is not freed
  std::array<std::uint64_t, devices_max> primaries_ = {};
  std::vector<int> descriptors_;  // open ones
  std::array<std::byte, 256> buffer_ = {};
};

}  // namespace tessera::testing
