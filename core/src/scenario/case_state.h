// What a running case knows: the values of its symbols, and what it has made and not yet undone.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tessera/scenario/scenario.h"
#include "tessera/scenario/world.h"

namespace tessera::scenario {

// What a symbol stands for when its call failed or was not made: zero; for a descriptor, where zero
// is a good one, -1. (Recordings tell the two apart: importing 0 is INVALID_VALUE, -1 UNKNOWN.)
inline constexpr std::uint64_t no_descriptor = ~std::uint64_t{0};
constexpr std::uint64_t missing_value(SymbolKind kind) noexcept {
  return kind == SymbolKind::descriptor ? no_descriptor : 0;
}

class SymbolTable {
 public:
  void set(Symbol symbol, std::uint64_t value);
  [[nodiscard]] std::uint64_t value_of(Symbol symbol) const noexcept;

 private:
  // Indexes are mostly small and dense; others must not make a table of their size.
  static constexpr std::uint32_t dense_max = 1024;
  std::array<std::vector<std::uint64_t>, symbol_kinds> dense_;
  std::map<Symbol, std::uint64_t> sparse_;
};

// What is to be undone. Keys are addresses and handle values.
struct Ledger {
  std::map<std::uint64_t, Bytes> reservations;
  std::map<std::uint64_t, Bytes> mappings;
  std::unordered_map<std::uint64_t, std::uint64_t> references;
  std::vector<DeviceAddress> device_memory;
  std::vector<std::byte*> host_memory;
  std::vector<StreamHandle> streams;
  std::vector<EventHandle> events;
  std::vector<int> descriptors;
  std::vector<ContextHandle> contexts;

  struct Primary {
    ContextHandle context;
    std::uint64_t references = 0;
  };
  std::map<std::int32_t, Primary> primaries;

  // Something was done that undoing does not wholly take back, such as a reset.
  bool tainted = false;
};

class CaseState {
 public:
  CaseState(World& world, Start start) : world_(world), start_(start) {}

  [[nodiscard]] World& world() noexcept { return world_; }
  [[nodiscard]] Driver& driver() { return world_.driver(); }
  [[nodiscard]] Start start() const noexcept { return start_; }
  [[nodiscard]] SymbolTable& symbols() noexcept { return symbols_; }
  [[nodiscard]] const SymbolTable& symbols() const noexcept { return symbols_; }
  [[nodiscard]] Ledger& ledger() noexcept { return ledger_; }

  [[nodiscard]] std::uint64_t value(const Operand& operand);
  [[nodiscard]] Bytes bytes(const Operand& operand) { return Bytes(value(operand)); }
  [[nodiscard]] DeviceAddress address(const Operand& operand) {
    return DeviceAddress(value(operand));
  }
  [[nodiscard]] AllocationHandle handle(const Operand& operand) {
    return AllocationHandle(value(operand));
  }

  // The retained context of a device; null where there is none.
  [[nodiscard]] ContextHandle primary(std::int32_t device) const noexcept;
  Status retain_primary(std::int32_t device);

  // Free memory now, which later figures are given against; nothing where it cannot be had.
  void start_accounting();
  [[nodiscard]] std::uint64_t free_at_start() const noexcept { return free_at_start_; }

  // The symbol that a handle's value was first seen under, if that memory is still the same.
  [[nodiscard]] std::optional<Symbol> name_of_handle(std::uint64_t value) const;
  void name_handle(std::uint64_t value, Symbol symbol) { handle_names_[value] = symbol; }

  bool undo();
  void close_descriptors();

 private:
  World& world_;
  Start start_;
  SymbolTable symbols_;
  Ledger ledger_;
  std::unordered_map<std::uint64_t, Symbol> handle_names_;
  std::uint64_t free_at_start_ = 0;
};

}  // namespace tessera::scenario
