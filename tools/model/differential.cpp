#include "model/differential.h"

#include <algorithm>
#include <array>

namespace tessera::model {

using testing::Program;
using testing::ProgramRunner;

testing::GeneratorOptions generator_options(const sim::Profile& profile, std::int32_t devices) {
  const std::uint64_t granule = profile.granularity_minimum.value();
  const std::uint64_t reservation = profile.reservation_granularity.value();
  constexpr std::uint64_t small = 4096;
  const auto in_granules = [&](std::uint64_t bytes) {
    return static_cast<std::int16_t>(bytes / granule < small ? bytes / granule : 0);
  };
  std::uint64_t addresses = 0;
  for (const AddressRange& window : profile.address_windows) {
    addresses += window.size().value();
  }
  return {.devices = devices,
          .reservation_granules =
              static_cast<std::int16_t>(std::max<std::uint64_t>(reservation / granule, 1)),
          .memory_granules = in_granules((profile.memory_total - profile.memory_reserved).value()),
          .address_granules = in_granules(addresses),
          .mappings = static_cast<std::int16_t>(
              profile.accessible_mappings_max < small ? profile.accessible_mappings_max : 0),
          // A pool whose memory must be in one piece is trimmed when the simulator chooses.
          .memory_pools = profile.memory_pools && !profile.contiguous_memory,
          .multicast = profile.multicast};
}

Differential::Differential(const sim::Profile& profile, const DifferentialOptions& options)
    : profile_(profile),
      options_(options),
      driver_(profile, {.devices = options.devices}),
      layer_(options.layer ? options.layer(&driver_) : nullptr),
      runner_(layer_ ? *layer_ : driver_, profile.granularity_minimum),
      model_(options.model_profile != nullptr ? *options.model_profile : profile, options.devices) {
}

Differential::~Differential() = default;

// A machine in the state that programs begin in.
bool Differential::prepare() {
  runner_.forget();
  if (is_undone_ && programs_on_machine_ < options_.programs_per_machine) {
    ++programs_on_machine_;
    model_.begin_again();
    return true;
  }
  driver_.restart();
  ++machines_;
  programs_on_machine_ = 1;
  if (const Status begun = runner_.begin(); !begun) {
    what_ = "the machine cannot be started: " + to_string(begun.error());
    return false;
  }
  primary_ = runner_.primary(0);
  model_.begin(primary_);
  return true;
}

bool Differential::compare_books() {
  model_.count(expected_);
  driver_.read_books(books_);
  if (books_ == expected_) [[likely]] {
    return true;
  }
  const auto list = [](const sim::Books& of) {
    std::string text = std::to_string(of.reservations) + " reservations of " +
                       std::to_string(of.reserved.value()) + " bytes, " +
                       std::to_string(of.mappings) + " mappings (" +
                       std::to_string(of.accessible_mappings) + " with access), " +
                       std::to_string(of.allocations) + " memories, " + std::to_string(of.handles) +
                       " handles, " + std::to_string(of.legacy_allocations) +
                       " other allocations, " + std::to_string(of.contexts) + " contexts, free";
    for (const MemoryInfo& device : of.devices) {
      text += " " + std::to_string(device.free.value());
    }
    return text;
  };
  what_ = "the model counts " + list(expected_) + "; the driver " + list(books_);
  return false;
}

bool Differential::step(const testing::Op& op, const Arguments& arguments, const Outcome& outcome) {
  ++calls_;
  if (!model_.step(op, arguments, outcome)) [[unlikely]] {
    what_ = model_.mismatch();
    return false;
  }
  return true;
}

bool Differential::probe(const testing::Op& op, std::uint64_t address) {
  const Arguments arguments = {.address = address, .size = 1};
  const Outcome outcome = runner_.run(op, arguments);
  if (step(op, arguments, outcome)) [[likely]] {
    return true;
  }
  what_ = "asked for " + std::string(name_of(op.kind)) + " " + std::to_string(op.choice) +
          " of address " + std::to_string(address) + ": " + what_;
  return false;
}

bool Differential::probe_address(std::uint64_t address) {
  constexpr std::array attributes = {
      PointerAttribute::memory_type,    PointerAttribute::device_pointer,
      PointerAttribute::device_ordinal, PointerAttribute::range_start_addr,
      PointerAttribute::range_size,     PointerAttribute::allowed_handle_types,
      PointerAttribute::access_flags,   PointerAttribute::mapping_base_addr,
      PointerAttribute::mapping_size,
  };
  for (std::int32_t device = 0; device < options_.devices; ++device) {
    if (!probe({.kind = OpKind::get_access,
                .device = static_cast<std::int8_t>(device),
                .choice = static_cast<std::uint8_t>(LocationType::device)},
               address)) {
      return false;
    }
  }
  if (!probe({.kind = OpKind::get_access,
              .choice = static_cast<std::uint8_t>(LocationType::host_numa)},
             address) ||
      !probe({.kind = OpKind::address_range}, address)) {
    return false;
  }
  for (const PointerAttribute attribute : attributes) {
    if (!probe({.kind = OpKind::attribute, .choice = static_cast<std::uint8_t>(attribute)},
               address)) {
      return false;
    }
  }
  // A handle is told by what is mapped; the reference taken is given back.
  const testing::Op retain = {.kind = OpKind::retain};
  const Arguments at = {.address = address};
  const Outcome retained = runner_.run(retain, at);
  if (!step(retain, at, retained)) {
    return false;
  }
  if (retained.is_ok()) {
    const testing::Op release = {.kind = OpKind::release};
    const Arguments handle = {.object = retained.value};
    if (!step(release, handle, runner_.run(release, handle))) {
      return false;
    }
  }
  // Reading waits: where work is in flight, that would be another program.
  return !model_.state().work.empty() || !model_.can_read(address) ||
         probe({.kind = OpKind::expect, .value = model_.byte_at(address)}, address);
}

bool Differential::probe_handles() {
  for (std::size_t i = 0; i < model_.state().handles.size(); ++i) {
    const testing::Op properties = {.kind = OpKind::properties};
    const Arguments handle = {.object = model_.state().handles[i].value};
    if (!step(properties, handle, runner_.run(properties, handle))) {
      return false;
    }
  }
  const testing::Op info = {.kind = OpKind::mem_info};
  return step(info, {}, runner_.run(info, {}));
}

// Every granule of what is reserved or mapped, and the ones around.
bool Differential::probe_all() {
  const std::uint64_t granule = profile_.granularity_minimum.value();
  std::vector<std::uint64_t> addresses;
  const auto add = [&](std::uint64_t begin, std::uint64_t size) {
    constexpr std::uint64_t most = 40;
    const std::uint64_t count = std::min(size / granule, most);
    for (std::uint64_t i = 0; i <= count; ++i) {
      addresses.push_back(begin + i * granule);
    }
    addresses.push_back(begin - 1);
  };
  for (const ModelReservation& reservation : model_.state().reservations) {
    add(reservation.begin, reservation.size);
  }
  for (const ModelBlock& block : model_.state().blocks) {
    if (block.kind != BlockKind::driver) {
      add(block.begin, block.size);
    }
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  return std::all_of(addresses.begin(), addresses.end(),
                     [this](std::uint64_t address) { return probe_address(address); }) &&
         probe_handles();
}

// Whether the next program may run on this machine: everything is undone.
bool Differential::is_as_new() const {
  const ModelState& state = model_.state();
  const auto alive = std::count_if(state.contexts.begin(), state.contexts.end(),
                                   [](const ModelContext& of) { return of.is_alive; });
  const auto found =
      std::find_if(state.contexts.begin(), state.contexts.end(),
                   [this](const ModelContext& of) { return of.handle == primary_ && of.is_alive; });
  if (found == state.contexts.end()) {
    return false;
  }
  const ModelContext& home = *found;
  return !state.is_lost && alive == 1 && home.peers.empty() &&
         home.limits == model_.initial_limits() && state.work.empty() &&
         home.all_end <= state.now && state.context_stack.size() == 1 &&
         state.context_stack.front() == primary_ && state.primary_references[0] == 1 &&
         state.reservations.empty() && state.legacy.empty() && state.heap_blocks.empty() &&
         state.streams.empty() && state.events.empty() && expected_.mappings == 0 &&
         expected_.handles == 0 && expected_.allocations == 0;
}

namespace {

// One program of 64. Which ones hangs on the programs alone, not on what ran before them.
bool is_probed(const Program& program) noexcept {
  std::uint32_t sum = 0;
  for (const testing::Op& op : program.ops) {
    sum = sum * 31 + static_cast<std::uint32_t>(op.kind) +
          static_cast<std::uint32_t>(static_cast<std::uint16_t>(op.size.count)) * 7;
  }
  return sum % 64 == 0;
}

}  // namespace

std::optional<Difference> Differential::run(const Program& program) {
  outcomes_.clear();
  what_.clear();
  std::size_t at = 0;
  bool is_same = prepare();
  deep_states_.begin();
  const bool looks_at_all = options_.level == Level::thorough;
  const bool probes =
      options_.level == Level::probing || (options_.level == Level::quick && is_probed(program));
  for (; is_same && at < program.ops.size(); ++at) {
    if (at == program.drain && probes && !probe_all()) {
      is_same = false;
      break;
    }
    const testing::Op& op = program.ops[at];
    deep_states_.before(op, model_);
    const Outcome outcome = runner_.run(op);
    outcomes_.push_back(outcome);
    is_same = step(op, runner_.arguments(), outcome) && compare_books();
    if (trace_ != nullptr) {
      runner_.trace(*trace_, op, outcome);
    }
    if (!is_same) {
      break;
    }
    deep_states_.after(op, runner_.arguments(), outcome, model_);
    if (looks_at_all && !probe_all()) {
      is_same = false;
      break;
    }
  }
  if (is_same && probes && at <= program.drain) {
    is_same = probe_all();  // nothing undoes it
  }
  deep_states_.end(model_, at > program.drain);
  if (is_same && looks_at_all) {
    what_ = driver_.check_invariants();
    is_same = what_.empty();
  }
  is_undone_ = is_same && is_as_new();
  if (is_same) {
    return std::nullopt;
  }
  if (at < outcomes_.size() && outcomes_[at].code != model_.expected_code()) {
    outcomes_[at] = {.code = model_.expected_code()};
  }
  return Difference{.at = at, .what = what_, .outcomes = outcomes_};
}

std::optional<Difference> Differential::run_alone(const Program& program) {
  is_undone_ = false;
  return run(program);
}

std::optional<Difference> difference(const sim::Profile& profile,
                                     const DifferentialOptions& options, const Program& program) {
  DifferentialOptions closely = options;
  closely.level = std::max(options.level, Level::probing);
  return Differential(profile, closely).run(program);
}

}  // namespace tessera::model
