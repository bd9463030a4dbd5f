// Contexts: which exist, which is current on which thread, which are lost. Primary contexts count
// their references; created ones are pushed on the creating thread's stack.
//
// As an H200 with driver 580.159.04 does it:
//   - A device's primary context has one handle for good. It is active from a retain until its last
//     reference is given back or it is reset; a reset keeps the references, and the next retain,
//     not the next use, makes it active again, with fresh limits.
//   - Whatever destroys a context, it stays on the stacks of threads. Only ctx_destroy pops it,
//   once,
//     from the calling thread's, and only from the top. A handle that is current and not live
//     makes calls answer context_is_destroyed; it may even be made current again.
//
// Not thread-safe: the machine's lock guards it. "This thread" is the calling one. A thread that
// ends with a context current leaves its stack here, unseen by any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "context_limits.h"
#include "tessera/error.h"
#include "tessera/ids.h"

namespace tessera::sim {

struct Context {
  ContextHandle handle;
  DeviceOrdinal device;
  bool is_primary = false;
  ContextLimitValues limits;
  std::set<ContextHandle> peers_enabled;  // whose mem_alloc memory it may use
};

// Pointers to contexts stay good until that context is destroyed, released for the last time or
// reset. Devices given are devices that exist: checked.
class Contexts {
 public:
  // `defaults` gives the limits that every new context starts with.
  Contexts(std::int32_t devices, const Context& defaults);

  // The device's primary context; null where it is not active: the next retain would make it.
  [[nodiscard]] Context* primary(DeviceOrdinal device);
  // One more reference; made if it is not active. `is_new` says whether it was made now.
  struct Retained {
    Context* context;
    bool is_new;
  };
  [[nodiscard]] Retained retain_primary(DeviceOrdinal device);
  // One reference less. The context, taken out of the table, when that was the last; none if a
  // reset had taken it already. `released` false when there was no reference to give back.
  struct Released {
    bool released;
    std::optional<Context> destroyed;
  };
  [[nodiscard]] Released release_primary(DeviceOrdinal device);
  // Whether a release would end an active one.
  [[nodiscard]] bool is_last_reference(DeviceOrdinal device);
  // Takes it out of the table, keeping its references. Nothing if it is not active.
  [[nodiscard]] std::optional<Context> reset_primary(DeviceOrdinal device);

  [[nodiscard]] Context* create(DeviceOrdinal device);  // and pushes it
  // Takes a created context out, and off this thread's stack if it is on top. Nothing if it is
  // not live, or a primary one.
  [[nodiscard]] std::optional<Context> destroy(ContextHandle context);

  // Null if it is not live.
  [[nodiscard]] Context* find(ContextHandle context);
  // Whether there was such a context and it is not live now.
  [[nodiscard]] bool is_destroyed(ContextHandle context) const;
  // The current one of this thread; null if none is, or if it was destroyed.
  [[nodiscard]] Context* current();
  // What ctx_get_current answers: the handle on top of the stack, also of a destroyed context.
  [[nodiscard]] ContextHandle current_handle() const;
  // Replaces the top of this thread's stack; null pops it. False if there never was such a context.
  [[nodiscard]] bool set_current(ContextHandle context);

  // How many are live.
  [[nodiscard]] std::size_t size() const noexcept { return live_.size(); }

 private:
  struct Primary {
    ContextHandle handle;  // null until it is first retained
    std::uint64_t references = 0;
  };

  [[nodiscard]] Primary& primary_slot(DeviceOrdinal device);
  [[nodiscard]] ContextHandle new_handle();
  [[nodiscard]] bool was_given(ContextHandle context) const;
  Context* make(ContextHandle handle, DeviceOrdinal device, bool is_primary);
  [[nodiscard]] std::optional<Context> take_out(ContextHandle context);
  void pop_current();

  Context defaults_;
  std::vector<Primary> primaries_;                   // by device
  std::unordered_map<ContextHandle, Context> live_;  // a map of nodes: pointers stay good
  std::unordered_map<std::uint64_t, std::vector<ContextHandle>> stacks_;  // by thread; none empty
  std::uint64_t handles_given_ = 0;
};

}  // namespace tessera::sim
