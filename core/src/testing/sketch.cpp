#include "testing/sketch.h"

#include <algorithm>

namespace tessera::testing {
namespace {

// Whether the size is so many granules and no more; how many.
std::int16_t whole_granules(const Size& size) noexcept {
  const bool is_whole = size.unit == SizeUnit::granules && size.bytes == 0 && size.count > 0 &&
                        size.count <= Sketch::reservation_max;
  return is_whole ? size.count : std::int16_t{0};
}

std::uint32_t granule_bits(int first, int count) noexcept {
  if (first < 0 || count <= 0 || first >= Sketch::reservation_max) {
    return 0;
  }
  const std::uint64_t ones = (std::uint64_t{1} << std::min(count, 32)) - 1;
  return static_cast<std::uint32_t>(ones << static_cast<unsigned>(first));
}

bool is_plain(const Place& place) noexcept {
  return place.base == SlotKind::reservation && place.bytes == 0 && place.granules >= 0;
}

Op in_slot(OpKind kind, unsigned slot) noexcept {
  return {.kind = kind, .object = static_cast<std::uint8_t>(slot)};
}

constexpr std::size_t index_of(SlotKind kind) noexcept { return static_cast<std::size_t>(kind); }

}  // namespace

void Sketch::clear() {
  live_ = {};
  held_ = {};
  reservations_ = {};
  memories_ = {};
  pointers_ = {};
  event_streams_.fill(no_slot);
  mappings_.clear();
  retained_ = {};
  has_context_ = true;
  is_home_ = true;
  is_home_released_ = false;
  is_home_reset_ = false;
}

std::uint16_t Sketch::vacant(SlotKind kind) const noexcept {
  return static_cast<std::uint16_t>(~(held_[index_of(kind)] | live_[index_of(kind)]));
}

void Sketch::set(SlotKind kind, unsigned slot, bool live, bool held) noexcept {
  const auto bit = static_cast<std::uint16_t>(1U << slot);
  auto& alive = live_[index_of(kind)];
  auto& holds = held_[index_of(kind)];
  alive = static_cast<std::uint16_t>(live ? alive | bit : alive & ~bit);
  holds = static_cast<std::uint16_t>(held ? holds | bit : holds & ~bit);
}

void Sketch::apply_result(const Op& op, bool is_likely) {
  switch (op.kind) {
    case OpKind::reserve:
      reservations_[op.result] = {
          .size = op.size, .granules = is_likely ? whole_granules(op.size) : std::int16_t{0}};
      break;
    case OpKind::create:
      memories_[op.result] = {.granules = whole_granules(op.size),
                              .owed = 1,
                              .device = op.device,
                              .is_exportable = (op.value & 1U) != 0,
                              .is_on_host = op.choice != 1};
      break;
    case OpKind::mc_create:
      memories_[op.result] = {.granules = whole_granules(op.size), .owed = 1, .is_multicast = true};
      break;
    case OpKind::import_fd:
    case OpKind::retain: {
      Memory memory = {.owed = 1};
      if (op.kind == OpKind::retain && is_plain(op.place)) {
        for (const Mapping& mapping : mappings_) {
          if (mapping.is_known && mapping.handle < slots_max &&
              mapping.place.slot == op.place.slot && mapping.place.granules <= op.place.granules &&
              op.place.granules < mapping.place.granules + mapping.size.count) {
            memory = memories_[mapping.handle];
            memory.owed = 1;
            memory.is_released = false;
            memory.same_as = mapping.handle;
          }
        }
      }
      memories_[op.result] = memory;
      break;
    }
    case OpKind::alloc:
    case OpKind::alloc_pitch:
    case OpKind::alloc_managed:
    case OpKind::alloc_async:
    case OpKind::host_alloc: {
      const int unit = op.size.unit == SizeUnit::kibibytes ? 1024 : 1;
      pointers_[op.result] = {
          .bytes = static_cast<std::int16_t>(std::clamp(op.size.count * unit, 0, 1024)),
          .is_stream_ordered = op.kind == OpKind::alloc_async,
          .is_host = op.kind == OpKind::host_alloc};
      break;
    }
    case OpKind::event_create:
      event_streams_[op.result] = no_slot;
      break;
    default:
      break;
  }
  set(result_of(op.kind), op.result, is_likely, true);
}

void Sketch::take(const Mapping& mapping, bool on) noexcept {
  const std::uint32_t bits = granule_bits(mapping.place.granules, mapping.size.count);
  std::uint32_t& taken = reservations_[mapping.place.slot].taken;
  taken = on ? taken | bits : taken & ~bits;
}

void Sketch::apply_map(const Op& op, bool is_likely) {
  Mapping mapping = {.place = op.place, .size = op.size, .handle = op.object};
  mapping.is_known = is_likely && is_plain(op.place) && whole_granules(op.size) != 0;
  if (op.object < slots_max) {
    mapping.device = memories_[op.object].device;
  }
  if (mapping.is_known) {
    take(mapping, true);
  }
  mappings_.push_back(mapping);
}

void Sketch::apply_unmap(const Op& op, bool is_likely) {
  if (!is_likely) {
    return;
  }
  std::erase_if(mappings_, [&](const Mapping& mapping) {
    const bool is_exact = mapping.place == op.place && mapping.size == op.size;
    const bool is_inside =
        mapping.is_known && is_plain(op.place) && mapping.place.slot == op.place.slot &&
        mapping.place.granules >= op.place.granules &&
        mapping.place.granules + mapping.size.count <= op.place.granules + whole_granules(op.size);
    if (is_inside || (is_exact && mapping.is_known)) {
      take(mapping, false);
    }
    return is_inside || is_exact;
  });
}

void Sketch::apply_release(const Op& op, bool is_likely) {
  if (op.object >= slots_max) {
    return;
  }
  Memory& memory = memories_[op.object];
  if (memory.owed != 0) {
    --memory.owed;
  }
  const bool is_held = memory.owed != 0;
  memory.is_released = !is_held;
  const bool is_mapped = std::any_of(
      mappings_.begin(), mappings_.end(),
      [&](const Mapping& mapping) { return mapping.is_known && mapping.handle == op.object; });
  set(SlotKind::handle, op.object, is_held || (is_mapped && is_likely), is_held);
}

void Sketch::apply_context(const Op& op, bool is_likely) {
  const auto device = static_cast<std::size_t>(static_cast<std::uint8_t>(op.device)) % 8;
  switch (op.kind) {
    case OpKind::ctx_retain:
      ++retained_[device];
      has_context_ = is_likely;
      is_home_ = false;
      break;
    case OpKind::ctx_release:
      if (retained_[device] != 0) {
        --retained_[device];
      } else if (op.device == 0) {
        is_home_released_ = true;
        is_home_ = false;
      }
      break;
    case OpKind::ctx_create:
    case OpKind::ctx_set:
      has_context_ = is_likely || has_context_;
      is_home_ = false;
      break;
    case OpKind::ctx_reset:
      is_home_reset_ = is_home_reset_ || op.device == 0;
      [[fallthrough]];
    case OpKind::ctx_none:
      has_context_ = false;
      is_home_ = false;
      break;
    case OpKind::ctx_destroy:
      is_home_ = false;
      if (is_likely && op.object < slots_max) {
        set(SlotKind::context, op.object, false, false);
      }
      break;
    default:
      break;
  }
}

void Sketch::apply(const Op& op, bool is_likely) {
  if (result_of(op.kind) != SlotKind::none) {
    apply_result(op, is_likely);
  }
  if (op.kind <= OpKind::ctx_none) {
    apply_context(op, is_likely);
    return;
  }
  const auto ends = [&](SlotKind kind, unsigned slot) {
    if (is_likely && slot < slots_max) {
      set(kind, slot, false, false);
    }
  };
  switch (op.kind) {
    case OpKind::map:
      apply_map(op, is_likely);
      break;
    case OpKind::unmap:
      apply_unmap(op, is_likely);
      break;
    case OpKind::release:
      apply_release(op, is_likely);
      break;
    case OpKind::set_access:
      for (Mapping& mapping : mappings_) {
        if (mapping.is_known && mapping.place.slot == op.place.slot && is_plain(op.place) &&
            mapping.place.granules >= op.place.granules &&
            mapping.place.granules < op.place.granules + op.size.count) {
          mapping.is_accessible = is_likely && op.value == 3 && op.choice == 1;
        }
      }
      break;
    case OpKind::address_free:
      ends(SlotKind::reservation, op.place.base == SlotKind::reservation ? op.place.slot : no_slot);
      break;
    case OpKind::free:
    case OpKind::free_async:
      ends(SlotKind::pointer, op.place.base == SlotKind::pointer ? op.place.slot : no_slot);
      break;
    case OpKind::close_fd:
      ends(SlotKind::descriptor, op.object);
      break;
    case OpKind::stream_destroy:
      ends(SlotKind::stream, op.object);
      break;
    case OpKind::event_destroy:
      ends(SlotKind::event, op.object);
      break;
    case OpKind::event_record:
      if (op.object < slots_max) {
        event_streams_[op.object] = op.other;
      }
      break;
    default:
      break;
  }
}

void Sketch::drain_contexts(std::vector<Op>& ops) const {
  const std::uint16_t created = held_[index_of(SlotKind::context)];
  for (unsigned slot = 0; slot < slots_max; ++slot) {
    if ((created >> slot & 1U) != 0) {
      ops.push_back(in_slot(OpKind::ctx_destroy, slot));
    }
  }
  for (std::size_t device = 0; device < retained_.size(); ++device) {
    for (unsigned i = 0; i < retained_[device]; ++i) {
      ops.push_back({.kind = OpKind::ctx_release, .device = static_cast<std::int8_t>(device)});
    }
  }
}

// Users of things first: work, mappings, references, addresses, other memory, descriptors,
// contexts.
void Sketch::drain(std::vector<Op>& ops) const {
  if (is_home_released_ || is_home_reset_) {
    ops.push_back({.kind = OpKind::ctx_retain});
  }
  if (is_home_reset_) {
    // A reset left the reference that was there.
    ops.push_back({.kind = OpKind::ctx_release});
  }
  if (!is_home_) {
    ops.push_back({.kind = OpKind::ctx_set});
  }
  ops.push_back({.kind = OpKind::ctx_sync});
  for (const Mapping& mapping : mappings_) {
    ops.push_back({.kind = OpKind::unmap, .place = mapping.place, .size = mapping.size});
  }
  const auto each = [&](SlotKind kind, auto&& undo) {
    for (unsigned slot = 0; slot < slots_max; ++slot) {
      if ((held_[index_of(kind)] >> slot & 1U) != 0) {
        undo(slot);
      }
    }
  };
  each(SlotKind::handle, [&](unsigned slot) {
    for (unsigned i = 0; i < memories_[slot].owed; ++i) {
      ops.push_back(in_slot(OpKind::release, slot));
    }
  });
  each(SlotKind::reservation, [&](unsigned slot) {
    ops.push_back(
        {.kind = OpKind::address_free,
         .place = {.base = SlotKind::reservation, .slot = static_cast<std::uint8_t>(slot)},
         .size = reservations_[slot].size});
  });
  each(SlotKind::pointer, [&](unsigned slot) {
    ops.push_back({.kind = OpKind::free,
                   .place = {.base = SlotKind::pointer, .slot = static_cast<std::uint8_t>(slot)}});
  });
  each(SlotKind::descriptor,
       [&](unsigned slot) { ops.push_back(in_slot(OpKind::close_fd, slot)); });
  each(SlotKind::stream,
       [&](unsigned slot) { ops.push_back(in_slot(OpKind::stream_destroy, slot)); });
  each(SlotKind::event,
       [&](unsigned slot) { ops.push_back(in_slot(OpKind::event_destroy, slot)); });
  drain_contexts(ops);
}

}  // namespace tessera::testing
