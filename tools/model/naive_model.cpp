#include "model/naive_model.h"

#include <algorithm>

namespace tessera::model {

std::uint8_t Contents::at(std::uint64_t offset) const noexcept {
  for (std::size_t i = writes_.size(); i-- > 0;) {
    if (offset >= writes_[i].begin && offset - writes_[i].begin < writes_[i].size) {
      return writes_[i].value;
    }
  }
  return 0;
}

bool ModelBlock::is_accessible() const noexcept {
  return host != AccessFlags::none || access != std::array<AccessFlags, devices_max>{};
}

NaiveModel::NaiveModel(const sim::Profile& profile, std::int32_t devices)
    : profile_(profile), devices_(devices) {
  costs_.fill(profile.default_cost);
  for (const auto& [call, cost] : profile.costs) {
    costs_.at(static_cast<std::size_t>(call)) = cost;
  }
}

void NaiveModel::forget_program() {
  state_.reservations.clear();
  state_.blocks.clear();
  state_.memories.clear();
  state_.multicasts.clear();
  state_.handles.clear();
  state_.legacy.clear();
  state_.heap_blocks.clear();
  state_.streams.clear();
  state_.events.clear();
  state_.work.clear();
  state_.descriptors.clear();
  mismatch_.clear();
  has_changed_ = true;
  if (devices_ == 1 && !profile_.driver_addresses.is_zero()) {
    // The driver's own, at the top of the addresses.
    const std::uint64_t base =
        (profile_.address_windows.back().end() - profile_.driver_addresses).value();
    for (const AddressRange& range : profile_.driver_mapped_single_device) {
      state_.blocks.push_back({.begin = base + range.begin().value(),
                               .size = range.size().value(),
                               .kind = BlockKind::driver});
    }
  }
}

void NaiveModel::begin(std::uint64_t primary_context) {
  forget_program();
  state_.contexts.clear();
  state_.context_stack.assign(1, primary_context);
  state_.primary_references = {1};
  state_.now = 0;
  state_.is_lost = false;
  add_context(primary_context, 0, true);
}

void NaiveModel::begin_again() {
  forget_program();
  // No symbol names those that were created any more.
  std::erase_if(state_.contexts, [](const ModelContext& context) {
    return !context.is_alive && !context.is_primary;
  });
}

void NaiveModel::expect(std::uint64_t value) noexcept {
  has_value_ = true;
  value_ = value;
}

void NaiveModel::expect(std::uint64_t value, std::uint64_t second) noexcept {
  expect(value);
  has_second_ = true;
  second_ = second;
}

void NaiveModel::complain(std::string what) {
  if (mismatch_.empty()) {
    mismatch_ = std::move(what);
  }
}

bool NaiveModel::step(const Op& op, const Arguments& arguments, const Outcome& outcome) {
  has_value_ = false;
  has_second_ = false;
  mismatch_.clear();
  const ErrorCode code = judge(op, arguments, outcome);
  code_ = code;
  if (code != outcome.code) [[unlikely]] {
    const auto name = [](ErrorCode of) { return of == ok ? std::string("OK") : code_name(of); };
    mismatch_ = "the model says " + name(code) + ", the driver " + name(outcome.code);
    return false;
  }
  if (outcome.is_ok() && has_value_ && value_ != outcome.value) [[unlikely]] {
    complain("the model's value is " + std::to_string(value_) + ", the driver's " +
             std::to_string(outcome.value));
  }
  if (outcome.is_ok() && has_second_ && second_ != outcome.second) [[unlikely]] {
    complain("the model's second value is " + std::to_string(second_) + ", the driver's " +
             std::to_string(outcome.second));
  }
  return mismatch_.empty();
}

ErrorCode NaiveModel::judge(const Op& op, const Arguments& arguments, const Outcome& outcome) {
  if (op.kind <= OpKind::limit_get) {
    return judge_context(op, arguments, outcome);
  }
  if (op.kind <= OpKind::close_fd) {
    return judge_memory(op, arguments, outcome);
  }
  if (op.kind <= OpKind::get_access) {
    return judge_mapping(op, arguments);
  }
  if (op.kind <= OpKind::free_async) {
    return judge_allocation(op, arguments, outcome);
  }
  if (op.kind <= OpKind::attribute) {
    return judge_query(op, arguments);
  }
  if (op.kind <= OpKind::memset) {
    return judge_data(op, arguments);
  }
  if (op.kind <= OpKind::launch) {
    return judge_order(op, arguments, outcome);
  }
  return judge_multicast(op, arguments, outcome);
}

void NaiveModel::count(sim::Books& books) {
  if (!has_changed_) {
    return;
  }
  has_changed_ = false;
  books.reservations = state_.reservations.size();
  std::uint64_t reserved = 0;
  for (const ModelReservation& reservation : state_.reservations) {
    reserved += reservation.size;
  }
  books.reserved = Bytes(reserved);
  books.mappings = 0;
  books.accessible_mappings = 0;
  for (const ModelBlock& block : state_.blocks) {
    if (block.kind == BlockKind::mapping) {
      ++books.mappings;
      books.accessible_mappings += block.is_accessible() ? 1U : 0U;
    }
  }
  books.allocations = 0;
  for (const ModelMemory& memory : state_.memories) {
    books.allocations += memory.is_alive ? 1U : 0U;
  }
  books.handles = 0;
  for (const ModelHandle& handle : state_.handles) {
    books.handles += handle.is_alive() ? 1U : 0U;
  }
  books.legacy_allocations = state_.legacy.size();
  books.contexts = 0;
  for (const ModelContext& context : state_.contexts) {
    books.contexts += context.is_alive ? 1U : 0U;
  }
  books.devices.resize(static_cast<std::size_t>(devices_));
  for (std::int32_t device = 0; device < devices_; ++device) {
    books.devices[static_cast<std::size_t>(device)] = {.free = Bytes(free_memory(device)),
                                                       .total = profile_.memory_total};
  }
}

// All that is there, less all that somebody has.
std::uint64_t NaiveModel::free_memory(std::int32_t device) const noexcept {
  std::uint64_t used = profile_.memory_reserved.value();
  for (const ModelMemory& memory : state_.memories) {
    const Location location = memory.properties.location;
    if (memory.is_alive && location.type == LocationType::device && location.id == device) {
      used += memory.size;
    }
  }
  for (const ModelHeapBlock& block : state_.heap_blocks) {
    used += block.device == device ? block.size : 0;
  }
  for (const ModelContext& context : state_.contexts) {
    used += context.is_alive && context.device == device ? context.memory : 0;
  }
  return profile_.memory_total.value() - used;
}

const ModelReservation* NaiveModel::reservation_at(std::uint64_t address) const noexcept {
  for (const ModelReservation& reservation : state_.reservations) {
    if (address >= reservation.begin && address - reservation.begin < reservation.size) {
      return &reservation;
    }
  }
  return nullptr;
}

const ModelBlock* NaiveModel::block_at(std::uint64_t address) const noexcept {
  for (const ModelBlock& block : state_.blocks) {
    if (address >= block.begin && address - block.begin < block.size) {
      return &block;
    }
  }
  return nullptr;
}

}  // namespace tessera::model
