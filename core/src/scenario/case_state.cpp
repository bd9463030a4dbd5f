#include "scenario/case_state.h"

#include <utility>

namespace tessera::scenario {

void SymbolTable::set(Symbol symbol, std::uint64_t value) {
  if (symbol.index >= dense_max) {
    sparse_[symbol] = value;
    return;
  }
  auto& values = dense_[static_cast<std::size_t>(symbol.kind)];
  if (values.size() <= symbol.index) {
    values.resize(symbol.index + 1, missing_value(symbol.kind));
  }
  values[symbol.index] = value;
}

std::uint64_t SymbolTable::value_of(Symbol symbol) const noexcept {
  if (symbol.index >= dense_max) {
    const auto found = sparse_.find(symbol);
    return found == sparse_.end() ? missing_value(symbol.kind) : found->second;
  }
  const auto& values = dense_[static_cast<std::size_t>(symbol.kind)];
  return symbol.index < values.size() ? values[symbol.index] : missing_value(symbol.kind);
}

std::uint64_t CaseState::value(const Operand& operand) {
  return operand.evaluate(world_.granule().value(),
                          [this](Symbol symbol) { return symbols_.value_of(symbol); });
}

ContextHandle CaseState::primary(std::int32_t device) const noexcept {
  const auto found = ledger_.primaries.find(device);
  return found == ledger_.primaries.end() ? ContextHandle() : found->second.context;
}

Status CaseState::retain_primary(std::int32_t device) {
  TESSERA_TRY_ASSIGN(const ContextHandle context,
                     driver().device_primary_ctx_retain(DeviceOrdinal(device)));
  Ledger::Primary& primary = ledger_.primaries[device];
  primary.context = context;
  ++primary.references;
  if (device >= 0) {
    symbols_.set(symbols::primary(static_cast<std::uint32_t>(device)), context.value());
  }
  return driver().ctx_set_current(context);
}

void CaseState::start_accounting() {
  const auto info = driver().mem_get_info();
  free_at_start_ = info ? info->free.value() : 0;
}

std::optional<Symbol> CaseState::name_of_handle(std::uint64_t value) const {
  const auto found = handle_names_.find(value);
  return found == handle_names_.end() ? std::nullopt : std::optional(found->second);
}

void CaseState::close_descriptors() {
  for (const int descriptor : std::exchange(ledger_.descriptors, {})) {
    static_cast<void>(world_.close_descriptor(descriptor));
  }
}

// In the order that lets go of users first: mappings, references, addresses, other memory,
// descriptors, contexts.
bool CaseState::undo() {
  close_descriptors();
  Ledger left = std::exchange(ledger_, {});
  bool clean = !left.tainted;
  const auto must = [&clean](const Status& status) { clean = clean && status.has_value(); };
  // Device 0's last: what follows is done in its context.
  for (auto primary = left.primaries.rbegin(); primary != left.primaries.rend(); ++primary) {
    must(driver().ctx_set_current(primary->second.context));
    must(driver().ctx_synchronize());
  }
  for (const EventHandle event : left.events) {
    must(driver().event_destroy(event));
  }
  for (const StreamHandle stream : left.streams) {
    must(driver().stream_destroy(stream));
  }
  for (const auto& [address, size] : left.mappings) {
    must(driver().mem_unmap({.address = DeviceAddress(address), .size = size}));
  }
  for (const auto& [handle, references] : left.references) {
    for (std::uint64_t i = 0; i < references; ++i) {
      must(driver().mem_release(AllocationHandle(handle)));
    }
  }
  for (const auto& [address, size] : left.reservations) {
    must(driver().mem_address_free({.address = DeviceAddress(address), .size = size}));
  }
  for (const DeviceAddress memory : left.device_memory) {
    must(driver().mem_free(memory));
  }
  for (std::byte* memory : left.host_memory) {
    must(driver().mem_free_host(memory));
  }
  for (const ContextHandle context : left.contexts) {
    must(driver().ctx_destroy(context));
  }
  for (const auto& [device, primary] : left.primaries) {
    for (std::uint64_t i = 0; i < primary.references; ++i) {
      must(driver().device_primary_ctx_release(DeviceOrdinal(device)));
    }
  }
  return clean && start_ == Start::context;
}

}  // namespace tessera::scenario
