#include "machine.h"

#include <utility>

#include "fork_count.h"

namespace tessera::sim {
namespace {

Context context_defaults(const Profile& profile) {
  Context context;
  context.limits = initial_limits(limit_rules(profile));
  return context;
}

std::vector<DeviceMemory> device_memories(const Profile& profile, std::int32_t devices) {
  const DeviceMemory one({.total = profile.memory_total - profile.memory_reserved,
                          .contiguous = profile.contiguous_memory,
                          .may_page_out = profile.pages_out ? profile.host_memory : Bytes()});
  return std::vector<DeviceMemory>(static_cast<std::size_t>(devices), one);
}

}  // namespace

Machine::Machine(const Profile& profile, const SimOptions& options)
    : profile_(profile),
      options_(options),
      fork_count_(fork_count()),
      space_(profile.address_windows, profile.reservation_block, profile.reservation_granularity),
      memories_(device_memories(profile, options.devices)),
      store_(memories_),
      contexts_(options.devices, context_defaults(profile)),
      pools_(static_cast<std::size_t>(options.devices), Heap(profile.heap_alignment)) {
  TESSERA_CHECK(options.devices >= 1 && options.devices <= AddressSpace::devices_max);
  limit_rules_ = limit_rules(profile);
  costs_.fill(profile.default_cost);
  for (const auto& [call, cost] : profile.costs) {
    costs_.at(static_cast<std::size_t>(call)) = cost;
  }
}

Machine::~Machine() {
  while (!legacy_by_address_.empty()) {
    free_legacy(legacy_by_address_.begin()->second);
  }
}

std::optional<Error> Machine::begin_call(Call call) {
  if (fork_count() != fork_count_) {
    return complete(refuse(ErrorCode::not_initialized, Reason::forked_child), call);
  }
  if (!is_initialized_ && call != Call::init && call != Call::driver_get_version) {
    return complete(refuse(ErrorCode::not_initialized, Reason::before_init), call);
  }
  timeline_.advance(costs_[static_cast<std::size_t>(call)].base_ns);
  return std::nullopt;
}

Error Machine::complete(Error error, Call call) noexcept {
  error.call = call;
  error.origin = Origin::simulator;
  return error;
}

void Machine::spend_for(Call call, std::uint64_t further_units) {
  const std::uint64_t nanoseconds =
      costs_[static_cast<std::size_t>(call)].per_unit_ns * further_units;
  if (nanoseconds != 0) {
    timeline_.advance(nanoseconds);
  }
}

std::uint64_t Machine::duration_of(Call call, Bytes size) const {
  const CallCost& cost = costs_[static_cast<std::size_t>(call)];
  return cost.base_ns + cost.per_unit_ns * (size / 1_MiB);
}

bool Machine::is_device(DeviceOrdinal device) const noexcept {
  return device.value() >= 0 && device.value() < options_.devices;
}

Status Machine::check_device(DeviceOrdinal device) const {
  if (!is_device(device)) {
    return refuse(ErrorCode::invalid_device, Reason::no_such_device, signed_value(device.value()),
                  static_cast<std::uint64_t>(options_.devices));
  }
  return {};
}

Status Machine::check_size(Bytes size, Bytes granularity) {
  if (size.is_zero()) {
    return invalid(Reason::size_is_zero, granularity.value());
  }
  if (is_aligned(size, granularity)) {
    return {};
  }
  const auto next = checked_align_up(size, granularity);
  return next ? invalid(Reason::size_not_aligned, size.value(), granularity.value(), next->value())
              : invalid(Reason::size_beyond_all, size.value());
}

Error Machine::out_of_memory(Bytes wanted, DeviceOrdinal device) {
  const DeviceMemory& memory = memory_of(device);
  return refuse(ErrorCode::out_of_memory, Reason::out_of_device_memory, wanted.value(),
                memory.free().value(), memory.largest_free().value());
}

DeviceMemory& Machine::memory_of(DeviceOrdinal device) {
  return memories_.at(static_cast<std::size_t>(device.value()));
}

bool Machine::can_reach(DeviceOrdinal device, DeviceOrdinal peer) const {
  if (device == peer || profile_.peers.empty()) {
    return true;
  }
  return profile_.peers.at(static_cast<std::size_t>(device.value()))
      .at(static_cast<std::size_t>(peer.value()));
}

Status Machine::init(std::uint32_t flags) {
  if (flags != 0) {
    return invalid(Reason::flags_not_zero, flags);
  }
  is_initialized_ = true;
  return {};
}

Result<std::int32_t> Machine::driver_get_version() { return profile_.driver_version; }

Result<std::int32_t> Machine::device_get_count() { return options_.devices; }

Result<std::string> Machine::device_get_name(DeviceOrdinal device) {
  TESSERA_TRY(check_device(device));
  return profile_.device_name;
}

Result<Bytes> Machine::device_total_mem(DeviceOrdinal device) {
  TESSERA_TRY(check_device(device));
  return profile_.memory_total;
}

Result<std::int32_t> Machine::device_get_attribute(const DeviceAttributeRequest& request) {
  TESSERA_TRY(check_device(request.device));
  const auto found = profile_.device_attributes.find(request.attribute);
  if (found == profile_.device_attributes.end()) {
    return invalid(Reason::no_such_device_attribute, signed_value(request.attribute));
  }
  return found->second;
}

Result<bool> Machine::device_can_access_peer(const PeerQuery& query) {
  TESSERA_TRY(check_device(query.device));
  TESSERA_TRY(check_device(query.peer));
  return query.device != query.peer && can_reach(query.device, query.peer);
}

void Machine::read_books(Books& books) {
  const std::lock_guard lock(mutex_);
  store_.collect();
  books.reservations = space_.reservation_count();
  books.reserved = space_.reserved();
  books.mappings = space_.mapping_count();
  books.accessible_mappings = space_.accessible_mapping_count();
  books.allocations = store_.memory_count();
  books.handles = store_.handle_count();
  books.legacy_allocations = legacy_.size();
  books.contexts = contexts_.size();
  books.devices.clear();
  for (const DeviceMemory& memory : memories_) {
    books.devices.push_back({.free = memory.free(), .total = profile_.memory_total});
  }
}

std::string Machine::check_invariants() {
  const std::lock_guard lock(mutex_);
  if (std::string fault = space_.check_invariants(); !fault.empty()) {
    return fault;
  }
  if (std::string fault = store_.check_invariants(); !fault.empty()) {
    return fault;
  }
  if (legacy_.size() != legacy_by_address_.size()) {
    return "legacy allocations are not listed once each";
  }
  for (const Heap& pool : pools_) {
    if (std::string fault = pool.parts.check_invariants(); !fault.empty()) {
      return fault;
    }
  }
  return "";
}

std::uint64_t Machine::now_ns() {
  const std::lock_guard lock(mutex_);
  return timeline_.now();
}

void Machine::advance(std::uint64_t nanoseconds) {
  const std::lock_guard lock(mutex_);
  timeline_.advance(nanoseconds);
}

}  // namespace tessera::sim
