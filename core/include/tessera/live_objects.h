// LiveObjects: the books of everything live that went through a driver: reservations, memory and
// who holds it, mappings and their access, other allocations, streams, events, contexts.
//
// Told only of calls that succeeded, and of set accesses that got halfway. Mappings are kept by
// range, not by call: one unmap may take several. A memory can have several handles (create, retain
// and import may each give a new value, or one that is known), and a handle lives while it has
// references or mappings.
//
// Not thread-safe: Ledger (ledger.h) has the lock. Pointers given are valid until the next change.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tessera/call_site.h"
#include "tessera/error.h"
#include "tessera/rdma_registration.h"
#include "tessera/requests.h"

namespace tessera {

// The call that made something, and where in the program that was.
struct MadeBy {
  std::uint64_t call_number = 0;  // from 1, in the order in which the layer saw them; 0: not known
  Call call = Call::none;
  CallSite site = {};

  friend bool operator==(const MadeBy&, const MadeBy&) = default;
};

using MemoryIndex = std::uint32_t;
inline constexpr MemoryIndex no_memory = ~MemoryIndex{0};

struct LiveReservation {
  AddressRange range;
  DeviceAddress hint;  // where the program wanted it, if it came to lie elsewhere; else null
  MadeBy made;
};

struct LiveMapping {
  AddressRange range;
  AllocationHandle handle;
  MemoryIndex memory = no_memory;
  Bytes offset;
  MadeBy made;
  // Who has access: bit N is device N. Devices from 64 on are not told apart.
  std::uint64_t readers = 0;
  std::uint64_t writers = 0;
  AccessFlags host = AccessFlags::none;
  // Whose access is not known, since a set access failed in the middle.
  std::uint64_t unknown_devices = 0;
  bool is_host_unknown = false;

  [[nodiscard]] AccessFlags access_of(DeviceOrdinal device) const noexcept;
  [[nodiscard]] bool is_unknown(DeviceOrdinal device) const noexcept;
};

struct LiveHandle {
  MemoryIndex memory = no_memory;
  std::uint32_t created = 0;  // references, by the call that took them
  std::uint32_t retained = 0;
  std::uint32_t imported = 0;
  std::uint32_t mappings = 0;
  bool is_imported = false;
  std::optional<RdmaRegistration> rdma;  // of memory made here for GPU-direct RDMA
  MadeBy made;
  MadeBy retained_by;  // the last retain

  [[nodiscard]] std::uint32_t references() const noexcept { return created + retained + imported; }
};

struct LiveBinding {
  DeviceOrdinal device;
  Bytes multicast_offset;
  Bytes size;
  MemoryIndex memory = no_memory;
  MadeBy made;
};

struct LiveMemory {
  Bytes size;
  AllocationProperties properties;
  MadeBy made;
  std::uint32_t handles = 0;      // live ones
  std::uint32_t bindings = 0;     // to multicast objects
  std::uint32_t descriptors = 0;  // exported and not known to be closed
  bool has_fabric_export = false;
  bool is_foreign = false;  // imported from who knows where: properties and size are not known
  // Only of multicast objects.
  bool is_multicast = false;
  std::uint32_t device_count = 0;
  std::vector<DeviceOrdinal> devices;
  std::vector<LiveBinding> bound;

  [[nodiscard]] bool is_live() const noexcept { return handles + bindings + descriptors != 0; }
};

// What tells one open file from another that has its number.
struct DescriptorIdentity {
  std::uint64_t device = 0;
  std::uint64_t file = 0;

  friend bool operator==(const DescriptorIdentity&, const DescriptorIdentity&) = default;
};
// Nothing where no file is open under that number.
[[nodiscard]] std::optional<DescriptorIdentity> identity_of(int descriptor) noexcept;

struct LiveDescriptor {
  MemoryIndex memory = no_memory;  // no_memory: a dma-buf
  Bytes size;
  DescriptorIdentity identity;
  MadeBy made;
};

enum class OtherMemory : std::uint8_t { device, pool, managed, host };
struct LiveAllocation {
  AddressRange range;
  OtherMemory kind = OtherMemory::device;
  ContextHandle context = {};  // that it ends with; null where it is not known, and of pools
  std::optional<DeviceOrdinal> device = {};  // that has it; none where that is not known
  MadeBy made;
};

struct LiveContext {
  ContextHandle handle;
  DeviceOrdinal device;
  bool is_primary = false;
  bool is_reset = false;  // destroyed until it is retained again
  // Was current before it was made here: others hold it, and the last release here ends nothing.
  bool is_held_elsewhere = false;
  std::uint32_t references = 1;
  MadeBy made;
};

// A stream or an event.
struct LiveOrder {
  ContextHandle context;
  std::uint32_t flags = 0;
  MadeBy made;
};

// What is gone: the last few, so that a message can say "was released by call 12".
enum class DeadKind : std::uint8_t {
  none,
  reservation,
  mapping,
  handle,
  allocation,
  stream,
  event,
  context,
};
struct DeadObject {
  DeadKind kind = DeadKind::none;
  std::uint64_t value = 0;  // the address or handle
  Bytes size;
  MadeBy made;
  MadeBy ended;
};

// What a driver refuses first of a set access, which it carries out mapping by mapping, and for
// each descriptor by descriptor; what came before stays.
struct AccessObstacle {
  const LiveMapping* mapping = nullptr;
  std::size_t descriptor = 0;  // its index
  ErrorCode code = {};
  DeviceAddress unnoted;  // RdmaRegistration's, where that is why
};

class LiveObjects {
 public:
  LiveObjects();
  LiveObjects(const LiveObjects&) = delete;
  LiveObjects& operator=(const LiveObjects&) = delete;

  // --- Changes: what a call that succeeded did ---
  void add_reservation(AddressRange range, DeviceAddress hint, const MadeBy& made);
  void remove_reservation(DeviceAddress begin, const MadeBy& ended);
  void add_memory(AllocationHandle handle, Bytes size, const AllocationProperties& properties,
                  const MadeBy& made);
  void add_multicast(AllocationHandle handle, const MulticastProperties& properties,
                     const MadeBy& made);
  // A retain at `address` gave `handle`.
  void add_retained(AllocationHandle handle, DeviceAddress address, const MadeBy& made);
  // An import of `descriptor` gave `handle`; -1: of something else than a descriptor.
  void add_imported(AllocationHandle handle, int descriptor, const MadeBy& made);
  void remove_reference(AllocationHandle handle, const MadeBy& ended);
  void add_descriptor(int descriptor, AllocationHandle handle, const MadeBy& made);
  void add_range_descriptor(int descriptor, Bytes size, const MadeBy& made);
  void add_fabric_export(AllocationHandle handle);
  void add_mapping(AddressRange range, AllocationHandle handle, Bytes offset, const MadeBy& made);
  void remove_mappings(AddressRange range, const MadeBy& ended);
  // Up to the first hole, as drivers do.
  void set_access(const SetAccessRequest& request);
  // It was refused with that code, and not because of what it asks for: it may be done in part.
  void set_access_in_part(const SetAccessRequest& request, ErrorCode code);
  void add_multicast_device(AllocationHandle multicast, DeviceOrdinal device);
  void add_binding(AllocationHandle multicast, MemoryIndex memory, Bytes offset, Bytes size,
                   const MadeBy& made);
  void remove_binding(const MulticastUnbindRequest& request);
  void add_allocation(const LiveAllocation& allocation);
  std::optional<LiveAllocation> remove_allocation(DeviceAddress begin, const MadeBy& ended);
  void add_context(ContextHandle context, DeviceOrdinal device, bool is_primary,
                   const MadeBy& made);
  // The last reference of a primary context, or a reset, ends what it allocated, too.
  void release_primary(DeviceOrdinal device, const MadeBy& ended);
  void remove_context(ContextHandle context, const MadeBy& ended);
  void reset_primary(DeviceOrdinal device, const MadeBy& ended);
  // A context that is current and was not made here.
  void see_context(ContextHandle context);
  void push_context(ContextHandle context);  // of this thread, as the next two
  void set_current(ContextHandle context);
  [[nodiscard]] std::optional<ContextHandle> current_context() const;  // nothing: not known
  void add_stream(StreamHandle stream, const LiveOrder& made);
  void remove_stream(StreamHandle stream, const MadeBy& ended);
  void add_event(EventHandle event, const LiveOrder& made);
  void remove_event(EventHandle event, const MadeBy& ended);
  // A fault has lost all contexts: allocations, streams and events of theirs cannot be given back.
  void lose_contexts() noexcept { are_contexts_lost_ = true; }

  // --- Questions: null where there is none ---
  [[nodiscard]] const LiveReservation* reservation_at(DeviceAddress address) const;
  [[nodiscard]] const LiveReservation* reservation_with_hint(DeviceAddress address) const;
  [[nodiscard]] const LiveMapping* mapping_at(DeviceAddress address) const;
  // The first mapping that ends after `address`: at it, or the next one.
  [[nodiscard]] const LiveMapping* mapping_from(DeviceAddress address) const;
  [[nodiscard]] const LiveMapping* mapping_before(DeviceAddress address) const;
  // Nothing that these books tell of.
  [[nodiscard]] std::optional<AccessObstacle> access_obstacle(
      AddressRange range, std::span<const AccessDescriptor> descriptors) const;
  [[nodiscard]] const LiveHandle* handle(AllocationHandle handle) const;
  [[nodiscard]] const LiveMemory* memory_of(AllocationHandle handle) const;
  [[nodiscard]] const LiveMemory& memory(MemoryIndex index) const { return memories_[index]; }
  [[nodiscard]] const LiveAllocation* allocation_at(DeviceAddress address) const;
  [[nodiscard]] const LiveContext* context(ContextHandle context) const;
  [[nodiscard]] const LiveContext* primary_of(DeviceOrdinal device) const;
  [[nodiscard]] const LiveOrder* stream(StreamHandle stream) const;
  [[nodiscard]] const LiveOrder* event(EventHandle event) const;
  // Where a stream's work runs: for a default stream the current context. Nothing: not known.
  [[nodiscard]] std::optional<ContextHandle> context_of(StreamHandle stream) const;
  // The last one that ended, of those remembered; of ranges, the one with `value` inside.
  [[nodiscard]] const DeadObject* dead(DeadKind kind, std::uint64_t value) const;

  // Calls `visit(const LiveMapping&)` for each that shares an address with the range, in order.
  template <class Visit>
  void for_each_mapping(AddressRange range, Visit&& visit) const {
    auto found = first_touching(range.begin());
    while (found != mappings_.end() && found->second.range.begin() < range.end()) {
      visit(found->second);
      // The step from one entry to the next may climb the whole tree.
      if (found->second.range.end() >= range.end()) {
        return;
      }
      ++found;
    }
  }
  // Calls `visit(ContextHandle, const LiveContext&)` for each.
  template <class Visit>
  void for_each_context(Visit&& visit) const {
    for (const auto& [context, entry] : contexts_) {
      visit(context, entry);
    }
  }

 private:
  friend struct LeakReport leak_report_of(const LiveObjects& objects);
  using Mappings = std::map<DeviceAddress, LiveMapping>;
  // For addresses in [from, to), `found` is the first mapping that ends after them: they lie in it,
  // or in the hole before it.
  struct Look {
    DeviceAddress from;
    DeviceAddress to;
    Mappings::const_iterator found;
  };

  // The mapping around an address, or the end.
  [[nodiscard]] Mappings::const_iterator around(DeviceAddress address) const;
  [[nodiscard]] Mappings::const_iterator first_touching(DeviceAddress address) const;
  void look_from(DeviceAddress from, Mappings::const_iterator found) const;
  [[nodiscard]] LiveHandle* find_handle(AllocationHandle handle) const;
  // The one that is mapped there, of memory that is known: it lives as long as that.
  [[nodiscard]] LiveHandle& handle_of(const LiveMapping& mapping) const;
  // Null where the mapping's memory has none.
  [[nodiscard]] RdmaRegistration* registration_of(const LiveMapping& mapping) const;
  // Calls `visit(LiveMapping&)` for each from the range's begin to the first hole, while it says
  // so.
  template <class Visit>
  void for_each_in_run(AddressRange range, Visit&& visit) const;
  void give_access(LiveMapping& mapping, const AccessDescriptor& wanted);
  MemoryIndex new_memory();
  LiveHandle& add_handle(AllocationHandle handle, MemoryIndex memory, const MadeBy& made);
  void drop_handle_if_dead(AllocationHandle handle, const MadeBy& ended);
  void forget_descriptor(int descriptor);
  void free_if_unheld(MemoryIndex index);
  void end_context(ContextHandle context, const MadeBy& ended);
  void remember(const DeadObject& object) noexcept;

  std::map<DeviceAddress, LiveReservation> reservations_;
  std::size_t moved_hints_ = 0;  // reservations with a hint
  Mappings mappings_;
  std::unordered_map<AllocationHandle, LiveHandle> handles_;
  // What was found last: one call, and the next, tend to ask for the same several times.
  mutable Look last_look_ = {.from = {}, .to = {}, .found = mappings_.end()};
  mutable AllocationHandle last_handle_;
  mutable LiveHandle* last_handle_entry_ = nullptr;
  std::vector<LiveMemory> memories_;
  std::vector<MemoryIndex> free_memories_;
  std::unordered_map<int, LiveDescriptor> descriptors_;
  std::map<DeviceAddress, LiveAllocation> allocations_;
  std::unordered_map<ContextHandle, LiveContext> contexts_;
  std::map<DeviceOrdinal, ContextHandle> primaries_;
  std::unordered_set<ContextHandle> made_elsewhere_;
  std::unordered_map<std::thread::id, std::vector<ContextHandle>> current_;
  std::unordered_map<StreamHandle, LiveOrder> streams_;
  std::unordered_map<EventHandle, LiveOrder> events_;
  bool are_contexts_lost_ = false;
  std::array<DeadObject, 256> dead_ = {};
  std::size_t next_dead_ = 0;
};

}  // namespace tessera
