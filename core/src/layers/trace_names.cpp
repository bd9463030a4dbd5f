#include "layers/trace_names.h"

namespace tessera {

using scenario::Operand;
using scenario::Symbol;
using scenario::SymbolKind;

namespace {

// Addresses outside everything are written by their distance from what is this near, because it
// may be what they were computed from.
constexpr Bytes near_by = 1_GiB;

template <class Handle>
Operand operand_of(const std::unordered_map<Handle, Symbol>& names, Handle handle) {
  const auto found = names.find(handle);
  if (found != names.end()) {
    return found->second;
  }
  return handle.is_null() ? scenario::null_operand() : Operand(handle.value());
}

}  // namespace

Symbol TraceNames::next(SymbolKind kind) {
  return {kind, next_.at(static_cast<std::size_t>(kind))++};
}

void TraceNames::name_range(DeviceAddress address, Bytes size, Symbol symbol, bool is_host) {
  // What was there before is gone.
  const auto end = checked_add(address, size);
  auto old = ranges_.lower_bound(address);
  while (old != ranges_.end() && (!end || old->first < *end)) {
    old = ranges_.erase(old);
  }
  ranges_.insert_or_assign(
      address, Range{.symbol = symbol, .size = size, .is_host = is_host, .is_live = true});
}

void TraceNames::retire_range(DeviceAddress address) {
  if (const auto found = ranges_.find(address); found != ranges_.end()) {
    found->second.is_live = false;
  }
}

bool TraceNames::is_live_host(DeviceAddress address) const {
  const auto found = ranges_.find(address);
  return found != ranges_.end() && found->second.is_host && found->second.is_live;
}

void TraceNames::name_created(AllocationHandle handle, Symbol symbol) {
  const std::uint64_t references = handles_.contains(handle) ? handles_.at(handle).references : 0;
  handles_.insert_or_assign(
      handle, HandleName{.symbol = symbol, .first_symbol = symbol, .references = references + 1});
}

std::optional<Symbol> TraceNames::name_retained(AllocationHandle handle, Symbol symbol) {
  const auto [found, is_new] =
      handles_.try_emplace(handle, HandleName{.symbol = symbol, .first_symbol = symbol});
  ++found->second.references;
  return is_new ? std::nullopt : std::optional(found->second.first_symbol);
}

std::optional<Symbol> TraceNames::name_imported(AllocationHandle handle, Symbol symbol) {
  const auto [found, is_new] =
      handles_.try_emplace(handle, HandleName{.symbol = symbol, .first_symbol = symbol});
  // A value that nobody holds any more is another memory's now.
  if (found->second.references++ == 0 && !is_new) {
    found->second.symbol = symbol;
    found->second.first_symbol = symbol;
    return std::nullopt;
  }
  return is_new ? std::nullopt : std::optional(found->second.first_symbol);
}

void TraceNames::release(AllocationHandle handle) {
  const auto found = handles_.find(handle);
  if (found != handles_.end() && found->second.references != 0) {
    --found->second.references;
  }
}

TraceNames::SharedKey TraceNames::key_of(const ShareableHandle& handle) {
  return handle.type == HandleTypes::posix_file_descriptor
             ? SharedKey(true, static_cast<std::uint64_t>(handle.file_descriptor))
             : SharedKey(false, handle.win32);
}

void TraceNames::name_exported(const ShareableHandle& exported, Symbol symbol) {
  shared_.insert_or_assign(key_of(exported), symbol);
}

std::optional<Symbol> TraceNames::take_descriptor(int descriptor) {
  const auto found = shared_.find(key_of({.file_descriptor = descriptor}));
  if (found == shared_.end()) {
    return std::nullopt;
  }
  const Symbol symbol = found->second;
  shared_.erase(found);
  return symbol;
}

void TraceNames::name_context(ContextHandle context, Symbol symbol) {
  contexts_.insert_or_assign(context, symbol);
}

void TraceNames::name_stream(StreamHandle stream, Symbol symbol) {
  streams_.insert_or_assign(stream, symbol);
}

void TraceNames::name_event(EventHandle event, Symbol symbol) {
  events_.insert_or_assign(event, symbol);
}

std::optional<std::int32_t> TraceNames::device_of_primary(ContextHandle context) const {
  const auto found = contexts_.find(context);
  if (found == contexts_.end() || found->second.kind != SymbolKind::primary) {
    return std::nullopt;
  }
  return static_cast<std::int32_t>(found->second.index);
}

Operand TraceNames::size(Bytes size) const {
  if (size == Bytes(~std::uint64_t{0})) {
    return scenario::max_operand();
  }
  const bool in_granules = !granule_.is_zero() && !size.is_zero() && is_aligned(size, granule_);
  return in_granules ? scenario::granules(size / granule_) : Operand(size);
}

Operand TraceNames::address(DeviceAddress address) const {
  if (address.is_null()) {
    return scenario::null_operand();
  }
  const auto after = ranges_.upper_bound(address);
  if (after != ranges_.begin()) {
    const auto& [begin, range] = *std::prev(after);
    const Bytes distance = address - begin;
    if (distance.is_zero()) {
      return range.symbol;
    }
    if (distance <= range.size || distance - range.size <= near_by) {
      return Operand(range.symbol) + size(distance);
    }
  }
  if (after != ranges_.end() && after->first - address <= near_by) {
    return Operand(after->second.symbol) - size(after->first - address);
  }
  return address;
}

Operand TraceNames::handle(AllocationHandle handle) const {
  if (handle.is_null()) {
    return scenario::null_operand();
  }
  const auto found = handles_.find(handle);
  return found == handles_.end() ? Operand(handle) : Operand(found->second.symbol);
}

Operand TraceNames::context(ContextHandle context) const { return operand_of(contexts_, context); }
Operand TraceNames::stream(StreamHandle stream) const { return operand_of(streams_, stream); }
Operand TraceNames::event(EventHandle event) const { return operand_of(events_, event); }

Operand TraceNames::shareable(const ShareableHandle& handle) const {
  const SharedKey key = key_of(handle);
  const auto found = shared_.find(key);
  if (found != shared_.end()) {
    return found->second;
  }
  return key.second == ~std::uint64_t{0} ? scenario::max_operand() : Operand(key.second);
}

}  // namespace tessera
