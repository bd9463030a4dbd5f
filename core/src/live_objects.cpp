#include "tessera/live_objects.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "tessera/check.h"

namespace tessera {
namespace {

template <class Map, class Key>
const typename Map::mapped_type* find_in(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

// The entry of a map of ranges that has the address inside.
template <class Map>
const typename Map::mapped_type* find_around(const Map& map, DeviceAddress address) {
  auto found = map.upper_bound(address);
  if (found == map.begin()) {
    return nullptr;
  }
  --found;
  return found->second.range.contains(address) ? &found->second : nullptr;
}

}  // namespace

LiveObjects::LiveObjects() {
  // A new handle nearly always finds an empty place then, and looks at no other entry: with many
  // live ones, each such look is at memory that no cache has.
  handles_.max_load_factor(0.25F);
}

void LiveObjects::remember(const DeadObject& object) noexcept {
  dead_[next_dead_] = object;
  next_dead_ = (next_dead_ + 1) % dead_.size();
}

const DeadObject* LiveObjects::dead(DeadKind kind, std::uint64_t value) const {
  for (std::size_t i = 1; i <= dead_.size(); ++i) {
    const DeadObject& object = dead_[(next_dead_ + dead_.size() - i) % dead_.size()];
    const bool is_inside = value >= object.value && value - object.value < object.size.value();
    if (object.kind == kind && (object.value == value || is_inside)) {
      return &object;
    }
  }
  return nullptr;
}

// --- Addresses ---

void LiveObjects::add_reservation(AddressRange range, DeviceAddress hint, const MadeBy& made) {
  moved_hints_ += hint.is_null() ? 0U : 1U;
  reservations_.insert_or_assign(range.begin(), LiveReservation{range, hint, made});
}

void LiveObjects::remove_reservation(DeviceAddress begin, const MadeBy& ended) {
  const auto found = reservations_.find(begin);
  if (found == reservations_.end()) {
    return;
  }
  const LiveReservation& gone = found->second;
  // A driver that frees addresses with mappings in them takes those away.
  remove_mappings(gone.range, ended);
  moved_hints_ -= gone.hint.is_null() ? 0U : 1U;
  remember({DeadKind::reservation, begin.value(), gone.range.size(), gone.made, ended});
  reservations_.erase(found);
}

const LiveReservation* LiveObjects::reservation_at(DeviceAddress address) const {
  return find_around(reservations_, address);
}

const LiveReservation* LiveObjects::reservation_with_hint(DeviceAddress address) const {
  if (moved_hints_ == 0) {
    return nullptr;
  }
  for (const auto& [begin, reservation] : reservations_) {
    const DeviceAddress hint = reservation.hint;
    if (!hint.is_null() && hint <= address && address - hint < reservation.range.size()) {
      return &reservation;
    }
  }
  return nullptr;
}

// --- Memory ---

MemoryIndex LiveObjects::new_memory() {
  if (!free_memories_.empty()) {
    const MemoryIndex index = free_memories_.back();
    free_memories_.pop_back();
    memories_[index] = {};
    return index;
  }
  memories_.emplace_back();
  return static_cast<MemoryIndex>(memories_.size() - 1);
}

LiveHandle& LiveObjects::add_handle(AllocationHandle handle, MemoryIndex memory,
                                    const MadeBy& made) {
  const auto [found, is_new] = handles_.try_emplace(handle);
  last_handle_ = handle;
  last_handle_entry_ = &found->second;
  if (is_new) {
    found->second.memory = memory;
    found->second.made = made;
    ++memories_[memory].handles;
  }
  return found->second;
}

void LiveObjects::add_memory(AllocationHandle handle, Bytes size,
                             const AllocationProperties& properties, const MadeBy& made) {
  const MemoryIndex index = new_memory();
  memories_[index].size = size;
  memories_[index].properties = properties;
  memories_[index].made = made;
  LiveHandle& entry = add_handle(handle, index, made);
  ++entry.created;
  if (properties.gpu_direct_rdma_capable != 0) {
    entry.rdma = RdmaRegistration();
  }
}

void LiveObjects::add_multicast(AllocationHandle handle, const MulticastProperties& properties,
                                const MadeBy& made) {
  add_memory(handle, properties.size, {}, made);
  LiveMemory& memory = memories_[find_handle(handle)->memory];
  memory.is_multicast = true;
  memory.device_count = properties.device_count;
}

void LiveObjects::add_retained(AllocationHandle handle, DeviceAddress address, const MadeBy& made) {
  const LiveMapping* mapping = mapping_at(address);
  const LiveHandle* known = find_handle(handle);
  const MemoryIndex mapped = mapping != nullptr ? mapping->memory : no_memory;
  if (known == nullptr && mapped == no_memory) {
    return;  // mapped, or made, by somebody else
  }
  LiveHandle& entry = add_handle(handle, known != nullptr ? known->memory : mapped, made);
  ++entry.retained;
  entry.retained_by = made;
}

void LiveObjects::add_imported(AllocationHandle handle, int descriptor, const MadeBy& made) {
  MemoryIndex memory = no_memory;
  if (const LiveHandle* known = this->handle(handle)) {
    memory = known->memory;
  } else if (const auto* exported = find_in(descriptors_, descriptor);
             exported != nullptr && exported->memory != no_memory &&
             identity_of(descriptor) == exported->identity) {
    memory = exported->memory;
  } else {
    // Of another process, or by a duplicate: how large it is, nobody says.
    memory = new_memory();
    memories_[memory].made = made;
    memories_[memory].is_foreign = true;
  }
  LiveHandle& entry = add_handle(handle, memory, made);
  entry.is_imported = true;
  ++entry.imported;
}

void LiveObjects::remove_reference(AllocationHandle handle, const MadeBy& ended) {
  LiveHandle* found = find_handle(handle);
  if (found == nullptr) {
    return;
  }
  LiveHandle& entry = *found;
  // Nobody can tell whose reference it is; the ones taken later go first.
  for (std::uint32_t* count : {&entry.retained, &entry.imported, &entry.created}) {
    if (*count != 0) {
      --*count;
      break;
    }
  }
  drop_handle_if_dead(handle, ended);
}

void LiveObjects::drop_handle_if_dead(AllocationHandle handle, const MadeBy& ended) {
  const LiveHandle& entry = *find_handle(handle);
  if (entry.references() + entry.mappings != 0) {
    return;
  }
  const MemoryIndex index = entry.memory;
  remember({DeadKind::handle, handle.value(), Bytes(), entry.made, ended});
  handles_.erase(handle);
  last_handle_entry_ = nullptr;
  --memories_[index].handles;
  free_if_unheld(index);
}

void LiveObjects::free_if_unheld(MemoryIndex index) {
  if (memories_[index].is_live()) {
    return;
  }
  for (const LiveBinding& binding : std::exchange(memories_[index].bound, {})) {
    --memories_[binding.memory].bindings;
    free_if_unheld(binding.memory);
  }
  free_memories_.push_back(index);
}

LiveHandle* LiveObjects::find_handle(AllocationHandle handle) const {
  if (last_handle_ == handle) {
    return last_handle_entry_;
  }
  auto& handles = const_cast<std::unordered_map<AllocationHandle, LiveHandle>&>(handles_);
  const auto found = handles.find(handle);
  if (found == handles.end()) {
    return nullptr;
  }
  last_handle_ = handle;
  last_handle_entry_ = &found->second;
  return last_handle_entry_;
}

LiveHandle& LiveObjects::handle_of(const LiveMapping& mapping) const {
  LiveHandle* const held = find_handle(mapping.handle);
  TESSERA_CHECK(held != nullptr && held->mappings != 0);
  return *held;
}

const LiveHandle* LiveObjects::handle(AllocationHandle handle) const { return find_handle(handle); }

const LiveMemory* LiveObjects::memory_of(AllocationHandle handle) const {
  const LiveHandle* entry = this->handle(handle);
  return entry == nullptr ? nullptr : &memories_[entry->memory];
}

// --- Descriptors: nobody says when one is closed; its number given out again shows it ---

void LiveObjects::forget_descriptor(int descriptor) {
  const auto found = descriptors_.find(descriptor);
  if (found == descriptors_.end()) {
    return;
  }
  const MemoryIndex memory = found->second.memory;
  descriptors_.erase(found);
  if (memory != no_memory) {
    --memories_[memory].descriptors;
    free_if_unheld(memory);
  }
}

void LiveObjects::add_descriptor(int descriptor, AllocationHandle handle, const MadeBy& made) {
  forget_descriptor(descriptor);
  const LiveHandle* entry = this->handle(handle);
  const auto identity = identity_of(descriptor);
  if (entry == nullptr || !identity) {
    return;
  }
  LiveMemory& memory = memories_[entry->memory];
  ++memory.descriptors;
  descriptors_.emplace(descriptor, LiveDescriptor{entry->memory, memory.size, *identity, made});
}

void LiveObjects::add_range_descriptor(int descriptor, Bytes size, const MadeBy& made) {
  forget_descriptor(descriptor);
  if (const auto identity = identity_of(descriptor)) {
    descriptors_.emplace(descriptor, LiveDescriptor{no_memory, size, *identity, made});
  }
}

void LiveObjects::add_fabric_export(AllocationHandle handle) {
  if (const LiveHandle* entry = this->handle(handle)) {
    memories_[entry->memory].has_fabric_export = true;
  }
}

// --- Mappings ---

LiveObjects::Mappings::const_iterator LiveObjects::around(DeviceAddress address) const {
  const auto found = first_touching(address);
  return found != mappings_.end() && found->second.range.contains(address) ? found
                                                                           : mappings_.end();
}

LiveObjects::Mappings::const_iterator LiveObjects::first_touching(DeviceAddress address) const {
  if (last_look_.from <= address && address < last_look_.to) {
    return last_look_.found;
  }
  auto found = mappings_.upper_bound(address);
  DeviceAddress from;
  if (found != mappings_.begin()) {
    const auto before = std::prev(found);
    const AddressRange range = before->second.range;
    const bool is_inside = address < range.end();
    from = is_inside ? range.begin() : range.end();
    found = is_inside ? before : found;
  }
  look_from(from, found);
  return found;
}

void LiveObjects::look_from(DeviceAddress from, Mappings::const_iterator found) const {
  constexpr DeviceAddress last(std::numeric_limits<std::uint64_t>::max());
  last_look_ = {.from = from,
                .to = found == mappings_.end() ? last : found->second.range.end(),
                .found = found};
}

void LiveObjects::add_mapping(AddressRange range, AllocationHandle handle, Bytes offset,
                              const MadeBy& made) {
  LiveMapping mapping = {.range = range, .handle = handle, .offset = offset, .made = made};
  if (LiveHandle* found = find_handle(handle)) {
    ++found->mappings;
    if (found->rdma) {
      found->rdma->map(range.begin());
    }
    mapping.memory = found->memory;
    LiveMemory& memory = memories_[mapping.memory];
    // What is mapped is a whole handle, so this is the size that an import did not tell.
    memory.size = memory.size.is_zero() ? range.size() : memory.size;
  }
  const auto next = first_touching(range.begin());
  look_from(range.begin(), mappings_.insert_or_assign(next, range.begin(), mapping));
}

void LiveObjects::remove_mappings(AddressRange range, const MadeBy& ended) {
  auto next = first_touching(range.begin());
  if (next != mappings_.end() && next->second.range.begin() < range.begin()) {
    ++next;
  }
  while (next != mappings_.end() && next->second.range.end() <= range.end()) {
    const LiveMapping gone = next->second;
    next = mappings_.erase(next);
    look_from(gone.range.begin(), next);
    remember({DeadKind::mapping, gone.range.begin().value(), gone.range.size(), gone.made, ended});
    if (gone.memory != no_memory) {
      LiveHandle& held = handle_of(gone);
      --held.mappings;
      if (held.rdma) {
        held.rdma->unmap(gone.range.begin());
      }
      drop_handle_if_dead(gone.handle, ended);
    }
  }
}

const LiveMapping* LiveObjects::mapping_at(DeviceAddress address) const {
  const auto found = around(address);
  return found == mappings_.end() ? nullptr : &found->second;
}

const LiveMapping* LiveObjects::mapping_from(DeviceAddress address) const {
  const auto found = first_touching(address);
  return found == mappings_.end() ? nullptr : &found->second;
}

const LiveMapping* LiveObjects::mapping_before(DeviceAddress address) const {
  const auto touching = first_touching(address);
  const auto found =
      touching != mappings_.end() && touching->first < address ? std::next(touching) : touching;
  return found == mappings_.begin() ? nullptr : &std::prev(found)->second;
}

// --- Multicast ---

void LiveObjects::add_multicast_device(AllocationHandle multicast, DeviceOrdinal device) {
  if (const LiveHandle* entry = handle(multicast)) {
    memories_[entry->memory].devices.push_back(device);
  }
}

void LiveObjects::add_binding(AllocationHandle multicast, MemoryIndex memory, Bytes offset,
                              Bytes size, const MadeBy& made) {
  const LiveHandle* entry = handle(multicast);
  if (entry == nullptr || memory == no_memory) {
    return;
  }
  const DeviceOrdinal device(memories_[memory].properties.location.id);
  ++memories_[memory].bindings;
  memories_[entry->memory].bound.push_back({device, offset, size, memory, made});
}

void LiveObjects::remove_binding(const MulticastUnbindRequest& request) {
  const LiveHandle* entry = handle(request.multicast);
  if (entry == nullptr) {
    return;
  }
  auto& bound = memories_[entry->memory].bound;
  const auto found = std::find_if(bound.begin(), bound.end(), [&](const LiveBinding& binding) {
    return binding.device == request.device &&
           binding.multicast_offset == request.multicast_offset && binding.size == request.size;
  });
  if (found != bound.end()) {
    const MemoryIndex memory = found->memory;
    bound.erase(found);
    --memories_[memory].bindings;
    free_if_unheld(memory);
  }
}

// --- Other allocations ---

void LiveObjects::add_allocation(const LiveAllocation& allocation) {
  allocations_.insert_or_assign(allocation.range.begin(), allocation);
}

std::optional<LiveAllocation> LiveObjects::remove_allocation(DeviceAddress begin,
                                                             const MadeBy& ended) {
  const auto found = allocations_.find(begin);
  if (found == allocations_.end()) {
    return std::nullopt;
  }
  const LiveAllocation gone = found->second;
  allocations_.erase(found);
  remember({DeadKind::allocation, begin.value(), gone.range.size(), gone.made, ended});
  return gone;
}

const LiveAllocation* LiveObjects::allocation_at(DeviceAddress address) const {
  return find_around(allocations_, address);
}

// --- Streams and events ---

void LiveObjects::add_stream(StreamHandle stream, const LiveOrder& made) {
  streams_.insert_or_assign(stream, made);
}
void LiveObjects::remove_stream(StreamHandle stream, const MadeBy& ended) {
  if (const LiveOrder* gone = this->stream(stream)) {
    remember({DeadKind::stream, stream.value(), Bytes(), gone->made, ended});
    streams_.erase(stream);
  }
}
void LiveObjects::add_event(EventHandle event, const LiveOrder& made) {
  events_.insert_or_assign(event, made);
}
void LiveObjects::remove_event(EventHandle event, const MadeBy& ended) {
  if (const LiveOrder* gone = this->event(event)) {
    remember({DeadKind::event, event.value(), Bytes(), gone->made, ended});
    events_.erase(event);
  }
}
const LiveOrder* LiveObjects::stream(StreamHandle stream) const {
  return find_in(streams_, stream);
}
const LiveOrder* LiveObjects::event(EventHandle event) const { return find_in(events_, event); }
std::optional<ContextHandle> LiveObjects::context_of(StreamHandle stream) const {
  if (is_implicit(stream)) {
    return current_context();
  }
  const LiveOrder* found = this->stream(stream);
  return found == nullptr ? std::nullopt : std::optional(found->context);
}

}  // namespace tessera
