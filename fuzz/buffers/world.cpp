#include "world.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>

namespace tessera::fuzz {
namespace {

constexpr std::array injected_codes = {ErrorCode::out_of_memory, ErrorCode::invalid_value,
                                       ErrorCode::unknown};
// Those that buffers make most.
constexpr std::array often_failed = {
    Call::mem_address_reserve, Call::mem_create,  Call::mem_map,          Call::mem_set_access,
    Call::mem_unmap,           Call::mem_release, Call::mem_address_free, Call::memcpy_htod,
    Call::memcpy_dtoh,         Call::memset_d8,   Call::ctx_synchronize};

// What is lost when these fail cannot be given back, or tells a lie that destructors believe.
CallSet never_failed() {
  return {Call::device_primary_ctx_retain, Call::device_primary_ctx_release, Call::ctx_set_current};
}

}  // namespace

World::World(sim::SimDriver& simulator, std::int32_t devices, const sim::Profile& profile,
             Choices& choices)
    : simulator_(simulator),
      devices_(devices),
      choices_(choices),
      unit_(profile.granularity_minimum),
      refuses_sizes_(profile.reservation_granularity > profile.granularity_minimum),
      faults_(&simulator, {}),
      driver_(&faults_) {
  const Status started = [&]() -> Status {
    TESSERA_TRY(simulator_.init(0));
    TESSERA_TRY_ASSIGN(const ContextHandle primary, simulator_.device_primary_ctx_retain(device_0));
    return simulator_.ctx_set_current(primary);
  }();
  require(started.has_value(), "the machine does not start");
  at_begin_ = simulator_.books();
  // Copies do not wait for what runs there.
  const auto stream = driver_.stream_create(StreamFlags::non_blocking);
  require(stream.has_value(), "no stream");
  stream_ = *stream;
}

Bytes World::size() {
  const std::uint32_t kind = choices_.below(32);
  if (kind == 31) {
    constexpr std::array odd_sizes = {std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
                                      std::uint64_t{1} << 63U, std::uint64_t{1} << 40U};
    return Bytes(odd_sizes[choices_.below(odd_sizes.size())]);
  }
  const Bytes units = unit_ * (kind + 1);
  switch (choices_.below(4)) {
    case 0:
      return units - 1_B;
    case 1:
      return units + 1_B;
    default:
      return units;
  }
}

DeviceOrdinal World::device() {
  return DeviceOrdinal(choices_.between(0, static_cast<int>(devices_) - 1));
}

MemoryOptions World::memory() {
  MemoryOptions memory;
  memory.location = on_device(device());
  if (choices_.below(4) == 1) {
    memory.granularity = GranularityOption::recommended;
  }
  return memory;
}

AccessSet World::access() {
  AccessSet access = AccessSet::of_device(device_0);
  if (devices_ > 1 && choices_.below(2) == 1) {
    access.set(on_device(device_1),
               choices_.below(2) == 1 ? AccessFlags::read : AccessFlags::read_write);
  }
  return access;
}

std::optional<Quiescence> World::proof() {
  const std::uint32_t kind = choices_.below(8);
  if (kind == 7) {
    return Quiescence::none();
  }
  if (kind < 4 && !has_work_) {
    return Quiescence::promised();
  }
  constexpr std::array devices = {device_0, device_1};
  auto proof = Quiescence::after_devices(
      driver_, std::span(devices).first(static_cast<std::size_t>(devices_)));
  if (!worked("wait", proof)) {
    return std::nullopt;
  }
  has_work_ = false;
  return *std::move(proof);
}

void World::plan_faults() {
  FaultPlan plan;
  plan.never_fails = never_failed();
  const std::uint32_t count = choices_.below(3);
  for (std::uint32_t i = 0; i < count; ++i) {
    const ErrorCode code = injected_codes[choices_.below(injected_codes.size())];
    const Call call = often_failed[choices_.below(often_failed.size())];
    switch (choices_.below(4)) {
      case 0:
        plan.faults.push_back(Fault::nth(1 + choices_.below(64), code));
        break;
      case 1:
        plan.faults.push_back(Fault::nth_of(call, 1 + choices_.below(8), code));
        break;
      case 2:
        plan.faults.push_back(Fault::each_of(call, code));
        break;
      default:
        plan.seed = choices_.below(256);
        plan.faults.push_back({.chance = 20'000 * (1 + choices_.below(16)), .error = code});
        break;
    }
  }
  faults_.set_plan(std::move(plan));
}

void World::launch_at(DeviceAddress address) {
  if (address.is_null()) {
    return;
  }
  if (worked("launch", driver_.launch_touch({.address = address,
                                             .touch = Touch::read,
                                             .duration_ns = 1'000'000,
                                             .stream = stream_}))) {
    has_work_ = true;
  }
}

void World::begin_step() {
  simulator_.read_books(before_);
  faults_before_ = faults_.faults();
  undo_failures_before_ = sink_.failures().size();
}

bool World::judge(const char* what, const Error& error, std::initializer_list<ErrorCode> also) {
  steps_.push_back({what, error});
  if (error.code == ErrorCode{}) {
    return true;
  }
  const bool may_be = faults_.faults() != faults_before_ ||
                      error.code == ErrorCode::out_of_memory ||
                      (refuses_sizes_ && error.code == ErrorCode::invalid_value) ||
                      std::find(also.begin(), also.end(), error.code) != also.end();
  require(may_be, "it fails without a reason");
  return false;
}

void World::require_nothing_left() {
  // What could not be undone is in the sink.
  if (sink_.failures().size() == undo_failures_before_) {
    require(simulator_.books() == before_, "something is left by what failed");
  }
}

void World::finish() {
  begin_step();
  require(worked("wait", driver_.ctx_synchronize(), {}), "waiting fails");
  for (const UndoFailure& failure : sink_.failures()) {
    steps_.push_back({"to be retried", failure.error});
  }
  require(worked("retry", sink_.retry_all(), {}) && sink_.failures().empty(),
          "what was left to the sink cannot be given back");
  require(worked("destroy stream", driver_.stream_destroy(stream_), {}), "the stream stays");
  if (const LeakReport left = driver_.ledger().leak_report(); !left.is_empty()) {
    fail(to_string(left).c_str());
  }
  require(simulator_.books() == at_begin_, "something is left at the end");
  if (const std::string wrong = simulator_.check_invariants(); !wrong.empty()) {
    fail(wrong.c_str());
  }
  if (driver_.finding_count() != 0) {
    fail(to_string(driver_.findings().front()).c_str());
  }
}

void World::put(DeviceAddress address, std::uint8_t value) {
  const std::array source = {std::byte{value}};
  require(simulator_.memcpy_htod({.destination = address, .source = source}).has_value(),
          "a byte cannot be written");
}

std::uint8_t World::get(DeviceAddress address) {
  std::array<std::byte, 1> byte = {};
  require(simulator_.memcpy_dtoh({.destination = byte, .source = address}).has_value(),
          "a byte cannot be read");
  return std::to_integer<std::uint8_t>(byte[0]);
}

void World::fail(const char* what) const {
  for (const Step& step : steps_) {
    std::fprintf(stderr, "# %s: %s\n", step.what,
                 step.error.code == ErrorCode{} ? "OK" : to_string(step.error).c_str());
  }
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void Marks::write(DeviceAddress base) {
  if (!values_.empty()) {
    const std::size_t index = world_->choices().below(static_cast<std::uint32_t>(values_.size()));
    values_[index] = static_cast<std::uint8_t>(1 + world_->choices().below(255));
    world_->put(base + world_->unit() * index, values_[index]);
  }
}

void Marks::check(DeviceAddress base, Bytes size, const char* what) const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (values_[i] != 0 && world_->unit() * i < size) {
      world_->require(world_->get(base + world_->unit() * i) == values_[i], what);
    }
  }
}

}  // namespace tessera::fuzz
