// Operations that should succeed, as far as the sketch knows.
#include <algorithm>
#include <array>
#include <bit>

#include "testing/maker.h"

namespace tessera::testing {
namespace {

Place at(SlotKind base, unsigned slot, int granules = 0, int bytes = 0) noexcept {
  return {.base = base,
          .slot = static_cast<std::uint8_t>(slot),
          .granules = static_cast<std::int8_t>(granules),
          .bytes = static_cast<std::int8_t>(bytes)};
}

// Those of which any value may be set, and those that can be read.
constexpr std::array<std::uint8_t, 4> settable_limits = {0, 1, 2, 4};
constexpr std::array<std::uint8_t, 8> readable_limits = {0, 1, 2, 4, 5, 6, 7, 8};

}  // namespace

std::uint8_t ProgramGenerator::Maker::vacant(SlotKind kind) const {
  const std::uint32_t vacant = sketch_.vacant(kind);
  return vacant == 0 ? no_slot : static_cast<std::uint8_t>(std::countr_zero(vacant));
}

bool ProgramGenerator::Maker::draw_result(Op& op) {
  op.result = vacant(result_of(op.kind));
  return op.result != no_slot;
}

bool ProgramGenerator::Maker::draw_slot(SlotKind kind, std::uint8_t& slot) {
  const std::uint32_t live = sketch_.live(kind);
  if (live == 0) {
    return false;
  }
  slot = static_cast<std::uint8_t>(choices_.bit_of(live));
  return true;
}

std::int16_t ProgramGenerator::Maker::rounded(int granules) const {
  const int unit = options_.reservation_granules;
  return static_cast<std::int16_t>((granules + unit - 1) / unit * unit);
}

std::int16_t ProgramGenerator::Maker::draw_reservation_size() {
  const bool is_large = choices_.below(16) == 0;
  return rounded(is_large ? choices_.between(9, 32) : choices_.between(1, 8));
}

std::uint8_t ProgramGenerator::Maker::draw_stream() {
  std::uint8_t stream = no_slot;
  if (choices_.chance(60)) {
    static_cast<void>(draw_slot(SlotKind::stream, stream));
  }
  return stream;
}

bool ProgramGenerator::Maker::draw_mapping(const Sketch::Mapping*& mapping) {
  const auto& mappings = sketch_.mappings();
  if (mappings.empty()) {
    return false;
  }
  mapping = &mappings[choices_.below(static_cast<std::uint32_t>(mappings.size()))];
  return mapping->is_known;
}

// Beside another mapping if there is one: in the first gap that fits, or the last.
bool ProgramGenerator::Maker::draw_map(Op& op) {
  std::uint8_t slot = 0;
  if (!draw_slot(SlotKind::reservation, slot) || !draw_slot(SlotKind::handle, op.object)) {
    return false;
  }
  const Sketch::Reservation& reservation = sketch_.reservation(slot);
  const int size = sketch_.memory(op.object).granules;
  if (size == 0 || size > reservation.granules) {
    return false;
  }
  const std::uint64_t wanted = (std::uint64_t{1} << static_cast<unsigned>(size)) - 1;
  const int last = reservation.granules - size;
  const bool from_end = choices_.chance(30);
  const int first = choices_.chance(20) ? choices_.between(0, last) : 0;
  for (int i = first; i <= last; ++i) {
    const int place = from_end ? last - (i - first) : i;
    if ((reservation.taken & wanted << static_cast<unsigned>(place)) == 0) {
      op.place = at(SlotKind::reservation, slot, place);
      op.size = granules(static_cast<std::int16_t>(size));
      return true;
    }
  }
  return false;
}

// One mapping, or all that lie in a row from it on.
bool ProgramGenerator::Maker::draw_unmap(Op& op) {
  const Sketch::Mapping* first = nullptr;
  if (!draw_mapping(first)) {
    return false;
  }
  op.place = first->place;
  op.size = first->size;
  if (choices_.chance(35)) {
    const std::uint32_t taken = sketch_.reservation(first->place.slot).taken;
    int end = first->place.granules + first->size.count;
    while (end < Sketch::reservation_max && (taken >> static_cast<unsigned>(end) & 1U) != 0) {
      ++end;
    }
    op.size.count = static_cast<std::int16_t>(end - first->place.granules);
  }
  return true;
}

bool ProgramGenerator::Maker::draw_set_access(Op& op) {
  Op range;
  if (!draw_unmap(range)) {
    return false;
  }
  op.place = range.place;
  op.size = range.size;
  op.choice = 1;
  op.value = static_cast<std::uint8_t>(choices_.chance(80) ? 3 : choices_.chance(50) ? 1 : 0);
  op.device = static_cast<std::int8_t>(
      options_.devices > 1 && choices_.chance(25) ? choices_.between(0, options_.devices - 1) : 0);
  if (choices_.below(12) == 0) {
    op.other = static_cast<std::uint8_t>(
        choices_.below(static_cast<std::uint32_t>(options_.devices)) << 4U |
        (choices_.chance(50) ? 3U : 1U));
  }
  return true;
}

// Somewhere with access; at a border of two things now and then.
bool ProgramGenerator::Maker::draw_touched(Place& place, bool writes) {
  std::uint8_t slot = 0;
  if (choices_.chance(20) && draw_slot(SlotKind::pointer, slot)) {
    place = at(SlotKind::pointer, slot, 0,
               choices_.between(0, std::min<int>(sketch_.pointer(slot).bytes / 2, 100)));
    return true;
  }
  const Sketch::Mapping* mapping = nullptr;
  if (!draw_mapping(mapping) || (writes && !mapping->is_accessible)) {
    return false;
  }
  place = mapping->place;
  if (mapping->size.count > 1 && choices_.chance(40)) {
    place.granules =
        static_cast<std::int8_t>(place.granules + choices_.between(0, mapping->size.count - 1));
  }
  place.bytes = static_cast<std::int8_t>(choices_.chance(20) ? choices_.between(0, 100) : 0);
  const int end = mapping->place.granules + mapping->size.count;
  if (writes && end < Sketch::reservation_max &&
      (sketch_.reservation(place.slot).taken >> static_cast<unsigned>(end) & 1U) != 0 &&
      choices_.chance(25)) {
    place.granules = static_cast<std::int8_t>(end);
    place.bytes = -2;
  }
  return true;
}

bool ProgramGenerator::Maker::draw_valid_memory(Op& op) {
  switch (op.kind) {
    case OpKind::granularity:
      op.choice = static_cast<std::uint8_t>(choices_.below(2));
      return true;
    case OpKind::reserve:
      op.size = granules(draw_reservation_size());
      if (choices_.below(8) == 0) {
        op.extra = {.unit = SizeUnit::granules,
                    .bytes = 0,
                    .count = static_cast<std::int16_t>(1U << choices_.below(4))};
      } else if (std::uint8_t slot = 0;
                 choices_.below(8) == 0 && draw_slot(SlotKind::reservation, slot)) {
        op.place = at(SlotKind::reservation, slot, rounded(choices_.between(1, 16)));
      }
      op.extra.unit = op.extra.count == 0 ? SizeUnit::bytes : op.extra.unit;
      return draw_result(op);
    case OpKind::address_free: {
      std::uint8_t slot = 0;
      if (!draw_slot(SlotKind::reservation, slot) ||
          (sketch_.reservation(slot).taken != 0 && !choices_.chance(15))) {
        return false;
      }
      op.place = at(SlotKind::reservation, slot);
      op.size = sketch_.reservation(slot).size;
      return true;
    }
    case OpKind::create:
      op.size = granules(static_cast<std::int16_t>(
          choices_.below(16) == 0 ? choices_.between(5, 12) : choices_.between(1, 4)));
      op.device = static_cast<std::int8_t>(options_.devices > 1 && choices_.chance(25)
                                               ? choices_.between(0, options_.devices - 1)
                                               : 0);
      op.choice = static_cast<std::uint8_t>(choices_.below(16) == 0 ? choices_.between(2, 3) : 1);
      op.value = options_.descriptors && op.choice == 1 && choices_.below(64) == 0 ? 1 : 0;
      op.device = op.choice == 1 ? op.device : std::int8_t{0};
      if (op.choice == 1 && choices_.below(16) == 0) {
        op.other = static_cast<std::uint8_t>(choices_.chance(80) ? create_rdma : create_compressed);
      }
      return draw_result(op);
    case OpKind::release:
    case OpKind::properties:
      return draw_slot(SlotKind::handle, op.object);
    case OpKind::retain: {
      const Sketch::Mapping* mapping = nullptr;
      if (!draw_mapping(mapping)) {
        return false;
      }
      op.place = mapping->place;
      op.place.bytes = static_cast<std::int8_t>(choices_.chance(20) ? choices_.between(1, 100) : 0);
      return draw_result(op);
    }
    case OpKind::export_fd:
      op.value = 1;
      return draw_slot(SlotKind::handle, op.object) && sketch_.memory(op.object).is_exportable &&
             draw_result(op);
    case OpKind::import_fd:
      return draw_slot(SlotKind::descriptor, op.object) && draw_result(op);
    default:
      return draw_slot(SlotKind::descriptor, op.object);
  }
}

bool ProgramGenerator::Maker::draw_valid_mapping(Op& op) {
  switch (op.kind) {
    case OpKind::map:
      return draw_map(op);
    case OpKind::unmap:
      return draw_unmap(op);
    case OpKind::set_access:
      return draw_set_access(op);
    default: {
      const Sketch::Mapping* mapping = nullptr;
      if (!draw_mapping(mapping)) {
        return false;
      }
      op.place = mapping->place;
      op.choice = static_cast<std::uint8_t>(choices_.chance(80) ? 1 : choices_.between(2, 3));
      op.device = static_cast<std::int8_t>(
          choices_.below(static_cast<std::uint32_t>(op.choice == 1 ? options_.devices : 1)));
      return true;
    }
  }
}

bool ProgramGenerator::Maker::draw_valid_query(Op& op) {
  if (op.kind == OpKind::mem_info) {
    return true;
  }
  op.choice = static_cast<std::uint8_t>(op.kind == OpKind::attribute ? choices_.between(1, 21) : 0);
  return draw_touched(op.place, false);
}

bool ProgramGenerator::Maker::draw_valid_data(Op& op) {
  op.value = static_cast<std::uint8_t>(choices_.between(1, 4));
  op.size = plain_bytes(static_cast<std::int16_t>(choices_.between(1, 12)));
  const bool may_queue = op.kind == OpKind::dtod || op.kind == OpKind::memset;
  if (may_queue && choices_.chance(30)) {
    op.flags = 1;
    op.other = draw_stream();
  }
  if (op.kind == OpKind::dtod && !draw_touched(op.source, true)) {
    return false;
  }
  if (op.kind == OpKind::memset && choices_.below(16) == 0) {
    op.size = granules(1);
  }
  return (sketch_.has_context() || op.other != no_slot) && draw_touched(op.place, true);
}

bool ProgramGenerator::Maker::draw_valid_allocation(Op& op) {
  std::uint8_t slot = 0;
  switch (op.kind) {
    case OpKind::free:
    case OpKind::free_async:
      if (!draw_slot(SlotKind::pointer, slot)) {
        return false;
      }
      op.place = at(SlotKind::pointer, slot);
      op.other = op.kind == OpKind::free_async ? draw_stream() : no_slot;
      return op.kind == OpKind::free || !sketch_.pointer(slot).is_host;
    case OpKind::alloc_pitch:
      op.size = plain_bytes(static_cast<std::int16_t>(choices_.between(1, 1000)));
      op.extra = plain_bytes(static_cast<std::int16_t>(choices_.between(1, 40)));
      op.value = static_cast<std::uint8_t>(4U << choices_.below(3));
      break;
    case OpKind::alloc:
    case OpKind::alloc_async:
      op.size = choices_.chance(70)
                    ? plain_bytes(static_cast<std::int16_t>(choices_.between(1, 3000)))
                    : granules(static_cast<std::int16_t>(choices_.between(1, 3)));
      op.other = op.kind == OpKind::alloc_async ? draw_stream() : no_slot;
      break;
    default:
      op.size = {.unit = SizeUnit::kibibytes,
                 .bytes = 0,
                 .count = static_cast<std::int16_t>(choices_.between(1, 8))};
      break;
  }
  return (sketch_.has_context() || op.other != no_slot) && draw_result(op);
}

bool ProgramGenerator::Maker::draw_valid_order(Op& op) {
  const SlotKind object = object_of(op.kind);
  switch (op.kind) {
    case OpKind::stream_create:
    case OpKind::event_create:
      op.choice = static_cast<std::uint8_t>(choices_.below(2));
      return sketch_.has_context() && draw_result(op);
    case OpKind::launch:
      op.choice = static_cast<std::uint8_t>(choices_.below(2));
      op.value = static_cast<std::uint8_t>(choices_.between(1, 4));
      op.extra =
          plain_bytes(static_cast<std::int16_t>(choices_.chance(50) ? 0 : choices_.between(1, 40)));
      op.other = draw_stream();
      return sketch_.has_context() && draw_touched(op.place, true);
    case OpKind::stream_wait:
      return draw_slot(object, op.object) && draw_slot(SlotKind::event, op.other);
    case OpKind::event_record:
      op.other = draw_stream();
      return draw_slot(object, op.object);
    default:
      return draw_slot(object, op.object);
  }
}

bool ProgramGenerator::Maker::draw_valid_context(Op& op) {
  const int devices = options_.devices;
  op.device = static_cast<std::int8_t>(choices_.between(0, devices - 1));
  switch (op.kind) {
    case OpKind::ctx_create:
      return draw_result(op);
    case OpKind::ctx_destroy:
      return draw_slot(SlotKind::context, op.object);
    case OpKind::ctx_set:
      if (choices_.chance(50)) {
        op.device = 0;
        return true;
      }
      return draw_slot(SlotKind::context, op.object);
    case OpKind::peer_can:
      op.other = static_cast<std::uint8_t>(choices_.between(0, devices - 1));
      return true;
    case OpKind::peer_enable:
      return devices > 1;
    case OpKind::limit_set:
      op.choice = settable_limits[choices_.below(settable_limits.size())];
      op.extra = plain_bytes(static_cast<std::int16_t>(choices_.between(1, 2000)));
      return true;
    case OpKind::limit_get:
      op.choice = readable_limits[choices_.below(readable_limits.size())];
      return true;
    default:
      return true;
  }
}

bool ProgramGenerator::Maker::draw_valid_multicast(Op& op) {
  if (op.kind == OpKind::mc_create) {
    op.device = static_cast<std::int8_t>(choices_.between(1, options_.devices));
    op.size = granules(static_cast<std::int16_t>(choices_.between(1, 4)));
    return draw_result(op);
  }
  std::uint32_t objects = 0;
  for (unsigned slot = 0; slot < slots_max; ++slot) {
    const bool is_one =
        (sketch_.live(SlotKind::handle) >> slot & 1U) != 0 && sketch_.memory(slot).is_multicast;
    objects |= is_one ? 1U << slot : 0U;
  }
  if (objects == 0) {
    return false;
  }
  op.object = static_cast<std::uint8_t>(choices_.bit_of(objects));
  op.device = static_cast<std::int8_t>(choices_.between(0, options_.devices - 1));
  op.size = granules(1);
  op.extra = granules(static_cast<std::int16_t>(choices_.below(2)));
  return op.kind != OpKind::mc_bind || draw_slot(SlotKind::handle, op.other);
}

bool ProgramGenerator::Maker::draw_valid(OpKind kind, Op& op) {
  if (kind <= OpKind::limit_get) {
    return draw_valid_context(op);
  }
  if (kind <= OpKind::close_fd) {
    return draw_valid_memory(op);
  }
  if (kind <= OpKind::get_access) {
    return draw_valid_mapping(op);
  }
  if (kind <= OpKind::free_async) {
    return draw_valid_allocation(op);
  }
  if (kind <= OpKind::attribute) {
    return draw_valid_query(op);
  }
  if (kind <= OpKind::memset) {
    return draw_valid_data(op);
  }
  return kind <= OpKind::launch ? draw_valid_order(op) : draw_valid_multicast(op);
}

}  // namespace tessera::testing
