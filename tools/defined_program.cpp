#include "defined_program.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tessera/host_copies.h"
#include "tessera/layers/validating_driver.h"
#include "tessera/sim/sim_driver.h"
#include "tessera/testing/program_runner.h"

namespace tessera::tools {
namespace {

using testing::Arguments;
using testing::Op;
using testing::OpKind;
using testing::Program;
using testing::SlotKind;

// A kernel's time is so many units of 10 us: 40 ms and more, longer than a hundred calls and than
// the first one that makes the driver start something, such as a pool.
constexpr int launch_units_min = 4000;
constexpr int launch_units_factor = 50;
constexpr int launch_units_max = 100;

// Below this nothing is ever mapped: every driver refuses it.
constexpr DeviceAddress near_null_end(0x1'0000'0000);

// Whether the driver makes memory among the reservations for such an operation.
bool brings_drivers_memory(const Op& op) noexcept {
  switch (op.kind) {
    case OpKind::alloc:
    case OpKind::alloc_pitch:
    case OpKind::alloc_managed:
    case OpKind::alloc_async:
    case OpKind::host_alloc:
    case OpKind::launch:
    case OpKind::stream_create:
    case OpKind::event_create:
    case OpKind::ctx_create:
    case OpKind::ctx_retain:
      return true;
    case OpKind::create:
      return static_cast<LocationType>(op.choice) != LocationType::device;
    default:
      return false;
  }
}

// Whose an address is, by the books and by what was ever reserved.
class Places {
 public:
  // Where the driver has memory of its own is known of machines of one device, while a program
  // brings no more of it.
  Places(Ledger& ledger, const Program& program, std::int32_t devices)
      : ledger_(ledger),
        has_drivers_memory_(devices > 1 || std::any_of(program.ops.begin(), program.ops.end(),
                                                       brings_drivers_memory)) {}

  void add_reservation(const Arguments& arguments, std::uint64_t address) {
    if (const auto range = AddressRange::make(DeviceAddress(address), Bytes(arguments.size))) {
      reserved_.push_back(*range);
    }
  }

  void add_allocation(std::uint8_t slot, std::uint64_t address) {
    const auto objects = ledger_.lock();
    const LiveAllocation* found = objects->allocation_at(DeviceAddress(address));
    made_[slot] = {DeviceAddress(address), found == nullptr ? 0 : found->made.call_number};
  }

  void add_handle(std::uint64_t handle) {
    const auto objects = ledger_.lock();
    if (const LiveHandle* found = objects->handle(AllocationHandle(handle))) {
      last_handle_made_ = std::max(last_handle_made_, found->made.call_number);
    }
  }

  // Whether the operation is about an address, or a handle, that nobody but the driver can know of.
  // `base`: the value of the slot that its place starts from.
  [[nodiscard]] bool are_foreign(const Op& op, const Arguments& of, std::uint64_t base) {
    const DeviceAddress begin(of.address);
    if (is_in_another_allocation(begin, DeviceAddress(base)) || is_stale(op.place) ||
        is_stale(op.source) || is_beside_reservation(op.place, begin, DeviceAddress(base))) {
      return true;
    }
    if (is_of_reused_handle(op, of) || may_be_read_too_soon(op, of)) {
      return true;
    }
    switch (op.kind) {
      case OpKind::memset:
      case OpKind::htod:
      case OpKind::expect:
        return are_bytes_foreign(of.address, of.size);
      case OpKind::dtod:
        return are_bytes_foreign(of.address, of.size) || are_bytes_foreign(of.source, of.size);
      case OpKind::launch:
        return are_bytes_foreign(of.address, 1);
      case OpKind::attribute:
        return is_foreign(begin) || tells_placement(op);
      case OpKind::address_range:
      case OpKind::free:
      case OpKind::free_async:
        return is_foreign(begin);
      case OpKind::get_access:
      case OpKind::retain:
      case OpKind::address_free:
        return was_never_the_programs(begin);
      case OpKind::map:
      case OpKind::set_access:
        return was_never_the_programs(begin) || ends_in_drivers_memory(begin, of.size);
      case OpKind::unmap:
        return of.size > ~of.address || was_never_the_programs(begin) ||
               ends_in_drivers_memory(begin, of.size);
      default:
        return false;
    }
  }

 private:
  [[nodiscard]] bool is_foreign(DeviceAddress address) {
    if (address < near_null_end) {
      return false;
    }
    const auto objects = ledger_.lock();
    return objects->reservation_at(address) == nullptr && objects->mapping_at(address) == nullptr &&
           objects->allocation_at(address) == nullptr;
  }
  [[nodiscard]] bool are_bytes_foreign(std::uint64_t begin, std::uint64_t size) {
    if (size > ~begin) {
      return true;
    }
    const DeviceAddress last(size == 0 ? begin : begin + size - 1);
    return is_foreign(DeviceAddress(begin)) || is_foreign(last) ||
           is_in_another_allocation(last, DeviceAddress(begin));
  }
  // Where an allocation lies in the block that it was cut from.
  [[nodiscard]] static bool tells_placement(const Op& op) noexcept {
    const auto attribute = static_cast<PointerAttribute>(op.choice);
    return op.place.base == SlotKind::pointer &&
           (attribute == PointerAttribute::mapping_base_addr ||
            attribute == PointerAttribute::mapping_size);
  }
  // Whether the slot's allocation is gone: what lies there now, if anything, may lie elsewhere on a
  // device.
  [[nodiscard]] bool is_stale(const testing::Place& place) {
    if (place.base != SlotKind::pointer) {
      return false;
    }
    const auto made = made_.find(place.slot);
    if (made == made_.end()) {
      return false;
    }
    const auto objects = ledger_.lock();
    const LiveAllocation* found = objects->allocation_at(made->second.address);
    return found == nullptr || found->made.call_number != made->second.call_number;
  }
  // Whether it is of a handle that is gone, and that a device may have given out again since.
  [[nodiscard]] bool is_of_reused_handle(const Op& op, const Arguments& of) {
    if (op.kind != OpKind::release) {
      return false;
    }
    const auto objects = ledger_.lock();
    const DeadObject* gone = objects->dead(DeadKind::handle, of.object);
    return gone != nullptr && objects->handle(AllocationHandle(of.object)) == nullptr &&
           gone->ended.call_number < last_handle_made_;
  }
  // The driver puts allocations where it likes: what lies beside one is its own matter.
  [[nodiscard]] bool is_in_another_allocation(DeviceAddress address, DeviceAddress base) {
    const auto objects = ledger_.lock();
    const LiveAllocation* found = objects->allocation_at(address);
    return found != nullptr && !found->range.contains(base);
  }
  // Where a reservation lies among others.
  [[nodiscard]] bool is_beside_reservation(const testing::Place& place, DeviceAddress address,
                                           DeviceAddress base) const {
    if (!has_drivers_memory_ || place.base != SlotKind::reservation) {
      return false;
    }
    return std::none_of(reserved_.begin(), reserved_.end(), [&](const AddressRange& range) {
      return range.begin() == base && range.contains(address);
    });
  }
  // Past its reservation, where the driver may put something meanwhile.
  [[nodiscard]] bool ends_in_drivers_memory(DeviceAddress begin, std::uint64_t size) {
    if (!has_drivers_memory_) {
      return false;
    }
    const auto objects = ledger_.lock();
    const LiveReservation* around = objects->reservation_at(begin);
    return around != nullptr && Bytes(size) > around->range.end() - begin;
  }
  [[nodiscard]] bool was_never_the_programs(DeviceAddress address) {
    return is_foreign(address) &&
           std::none_of(reserved_.begin(), reserved_.end(),
                        [&](const AddressRange& range) { return range.contains(address); });
  }

  [[nodiscard]] bool may_be_read_too_soon(const Op& op, const Arguments& of) {
    if (op.kind != OpKind::dtod || op.flags == 0 || of.other == 0 ||
        Bytes(of.size) > idle_read_max) {
      return false;
    }
    const auto objects = ledger_.lock();
    const DeviceAddress begin(of.source);
    for (DeviceAddress next = begin; next - begin < Bytes(of.size);) {
      const LiveMapping* mapping = objects->mapping_at(next);
      if (mapping == nullptr) {
        const LiveAllocation* other = objects->allocation_at(next);
        return other != nullptr && other->kind == OtherMemory::host;
      }
      if (mapping->host != AccessFlags::none) {
        return true;
      }
      next = mapping->range.end();
    }
    return false;
  }

  struct Made {
    DeviceAddress address;
    std::uint64_t call_number;
  };

  Ledger& ledger_;
  bool has_drivers_memory_;
  std::map<std::uint8_t, Made> made_;  // what each slot's allocation was, by slot
  std::vector<AddressRange> reserved_;
  std::uint64_t last_handle_made_ = 0;  // the call that made it
};

// By operation. `has_no_meaning`: it is left out; `takes_memory_in_flight`: not from a kernel.
struct Faults {
  std::vector<bool> has_no_meaning;
  std::vector<bool> takes_memory_in_flight;
};

class Analysis {
 public:
  Analysis(const sim::Profile& profile, std::int32_t devices)
      : profile_(profile), devices_(devices) {}

  [[nodiscard]] Faults faults_of(const Program& program) const {
    return {.has_no_meaning = found(program, Consequence::crashes),
            .takes_memory_in_flight = found(program, Consequence::lost_context)};
  }

 private:
  // The operations with a finding of that consequence. Without kernels, it is a copy that is in
  // flight.
  [[nodiscard]] std::vector<bool> found(const Program& program, Consequence consequence) const {
    std::vector<bool> marks(program.ops.size());
    std::size_t at = 0;
    sim::SimDriver simulator(profile_, {.devices = devices_});
    ValidatingDriver driver(&simulator,
                            {.on_finding =
                                 [&](const Finding& finding) {
                                   if (rule_of(finding.rule).consequence == consequence) {
                                     marks[at] = true;
                                   }
                                 },
                             .portability = false,
                             .findings_max = 0});
    testing::ProgramRunner runner(driver, profile_.granularity_minimum);
    if (!runner.begin()) {
      return marks;
    }
    Places places(driver.ledger(), program, devices_);
    const bool looks_at_copies = consequence == Consequence::lost_context;
    for (; at < program.ops.size(); ++at) {
      const Op& op = program.ops[at];
      const std::uint64_t base = runner.value_of(op.place.base, op.place.slot);
      if (!looks_at_copies && places.are_foreign(op, runner.evaluate(op), base)) {
        marks[at] = true;
        continue;
      }
      if (looks_at_copies && op.kind == OpKind::launch) {
        continue;
      }
      const testing::Outcome outcome = runner.run(op);
      if (op.kind == OpKind::reserve && outcome.is_ok()) {
        places.add_reservation(runner.arguments(), outcome.value);
      }
      if (outcome.is_ok()) {
        add_result(places, op, runner);
      }
    }
    return marks;
  }

  static void add_result(Places& places, const Op& op, const testing::ProgramRunner& runner) {
    const SlotKind kind = testing::result_of(op.kind);
    if (kind == SlotKind::pointer) {
      places.add_allocation(op.result, runner.value_of(kind, op.result));
    } else if (kind == SlotKind::handle) {
      places.add_handle(runner.value_of(kind, op.result));
    }
  }

  const sim::Profile& profile_;
  std::int32_t devices_;
};

// The program without operations of no meaning, and with synchronizes where there is none yet.
Program mended(const Program& program, const Faults& faults) {
  Program rest;
  const auto add = [&](const Op& op, bool is_in_drain) {
    rest.ops.push_back(op);
    rest.drain += is_in_drain ? 0U : 1U;
  };
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const bool is_in_drain = i >= program.drain;
    if (faults.has_no_meaning[i]) {
      continue;
    }
    if (faults.takes_memory_in_flight[i]) {
      if (i > 0 && program.ops[i - 1].kind == OpKind::ctx_sync) {
        continue;  // of another context than the current one: it cannot be waited for
      }
      add({.kind = OpKind::ctx_sync}, is_in_drain);
    }
    add(program.ops[i], is_in_drain);
  }
  return rest;
}

void leave_out_hints(Program& program) {
  for (Op& op : program.ops) {
    if (op.kind == OpKind::reserve) {
      op.place = {};
    }
  }
}

bool has_any(const std::vector<bool>& marks) {
  return std::find(marks.begin(), marks.end(), true) != marks.end();
}

}  // namespace

Program defined_program(Program program, const sim::Profile& profile, std::int32_t devices) {
  leave_out_hints(program);
  const Analysis analysis(profile, devices);
  // Without one call another may be the one that uses what is dead.
  for (;;) {
    const Faults faults = analysis.faults_of(program);
    if (!has_any(faults.has_no_meaning) && !has_any(faults.takes_memory_in_flight)) {
      return program;
    }
    program = mended(program, faults);
  }
}

Program with_long_kernels(Program program) {
  for (Op& op : program.ops) {
    if (op.kind == OpKind::launch) {
      const int units = std::clamp(int{op.extra.count}, 0, launch_units_max);
      op.extra = testing::plain_bytes(
          static_cast<std::int16_t>(launch_units_min + launch_units_factor * units));
    }
  }
  return program;
}

}  // namespace tessera::tools
