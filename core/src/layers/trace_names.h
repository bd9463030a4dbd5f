// TraceNames: which symbol of a trace stands for which value, and how values are written by them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tessera/address.h"
#include "tessera/requests.h"
#include "tessera/scenario/operand.h"

namespace tessera {

class TraceNames {
 public:
  explicit TraceNames(Bytes granule) : granule_(granule) {}

  // The next unused one. Calls that fail use one up, too: their symbol stands for nothing.
  scenario::Symbol next(scenario::SymbolKind kind);

  // Names what lies at `address` from now on.
  void name_range(DeviceAddress address, Bytes size, scenario::Symbol symbol, bool is_host = false);
  // Memory of the host is freed; stale addresses are still written by its symbol.
  void retire_range(DeviceAddress address);
  // Memory that mem_host_alloc gave begins there, and was not freed.
  [[nodiscard]] bool is_live_host(DeviceAddress address) const;

  void name_created(AllocationHandle handle, scenario::Symbol symbol);
  // What the runner says of a handle that retain gave, and of one that import gave: the symbol
  // under which the value was seen first, or nothing.
  std::optional<scenario::Symbol> name_retained(AllocationHandle handle, scenario::Symbol symbol);
  std::optional<scenario::Symbol> name_imported(AllocationHandle handle, scenario::Symbol symbol);
  void release(AllocationHandle handle);

  void name_exported(const ShareableHandle& exported, scenario::Symbol symbol);
  // The symbol that a descriptor has, which it loses.
  std::optional<scenario::Symbol> take_descriptor(int descriptor);

  void name_context(ContextHandle context, scenario::Symbol symbol);
  void name_stream(StreamHandle stream, scenario::Symbol symbol);
  void name_event(EventHandle event, scenario::Symbol symbol);
  // The device whose primary context it is.
  [[nodiscard]] std::optional<std::int32_t> device_of_primary(ContextHandle context) const;

  [[nodiscard]] scenario::Operand size(Bytes size) const;
  [[nodiscard]] scenario::Operand address(DeviceAddress address) const;
  [[nodiscard]] scenario::Operand handle(AllocationHandle handle) const;
  [[nodiscard]] scenario::Operand context(ContextHandle context) const;
  [[nodiscard]] scenario::Operand stream(StreamHandle stream) const;
  [[nodiscard]] scenario::Operand event(EventHandle event) const;
  [[nodiscard]] scenario::Operand shareable(const ShareableHandle& handle) const;

 private:
  struct Range {
    scenario::Symbol symbol;
    Bytes size;
    bool is_host;
    bool is_live;
  };
  struct HandleName {
    scenario::Symbol symbol;        // that the trace writes
    scenario::Symbol first_symbol;  // that answers say
    std::uint64_t references = 0;
  };
  // Descriptors and Windows handles are numbered apart.
  using SharedKey = std::pair<bool, std::uint64_t>;
  static SharedKey key_of(const ShareableHandle& handle);

  Bytes granule_;
  std::array<std::uint32_t, scenario::symbol_kinds> next_ = {};
  std::map<DeviceAddress, Range> ranges_;
  std::unordered_map<AllocationHandle, HandleName> handles_;
  std::map<SharedKey, scenario::Symbol> shared_;
  std::unordered_map<ContextHandle, scenario::Symbol> contexts_;
  std::unordered_map<StreamHandle, scenario::Symbol> streams_;
  std::unordered_map<EventHandle, scenario::Symbol> events_;
};

}  // namespace tessera
