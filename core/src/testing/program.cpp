#include "tessera/testing/program.h"

#include <algorithm>
#include <array>

namespace tessera::testing {
namespace {

constexpr std::array<std::string_view, op_kinds> names = {{
#define TESSERA_OP(name, produces, operands) #name,
#include "tessera/testing/op_kinds.def"
#undef TESSERA_OP
}};

constexpr SlotKind object_slot(OpKind kind, unsigned operands) noexcept {
  switch (kind) {
    case OpKind::ctx_destroy:
    case OpKind::ctx_set:
      return SlotKind::context;
    case OpKind::import_fd:
    case OpKind::close_fd:
      return SlotKind::descriptor;
    case OpKind::stream_destroy:
    case OpKind::stream_sync:
    case OpKind::stream_wait:
      return SlotKind::stream;
    case OpKind::event_record:
    case OpKind::event_query:
    case OpKind::event_sync:
    case OpKind::event_destroy:
      return SlotKind::event;
    default:
      return (operands & uses_object) != 0 ? SlotKind::handle : SlotKind::none;
  }
}

constexpr SlotKind other_slot(OpKind kind, unsigned operands) noexcept {
  switch (kind) {
    case OpKind::create:
    case OpKind::set_access:
    case OpKind::peer_can:
      return SlotKind::none;
    case OpKind::stream_wait:
      return SlotKind::event;
    case OpKind::mc_bind:
      return SlotKind::handle;
    default:
      return (operands & uses_other) != 0 ? SlotKind::stream : SlotKind::none;
  }
}

constexpr detail::OpFacts make_facts(OpKind kind, SlotKind result,
                                     std::uint16_t operands) noexcept {
  return {.result = result,
          .object = object_slot(kind, operands),
          .other = other_slot(kind, operands),
          .operands = operands};
}

void normalize_place(Place& place) noexcept {
  if (place.base != SlotKind::reservation && place.base != SlotKind::pointer) {
    place.base = SlotKind::none;
    place.slot = 0;
  }
  place.slot = static_cast<std::uint8_t>(place.slot % slots_max);
}

void normalize_size(Size& size) noexcept {
  size.unit = static_cast<SizeUnit>(static_cast<unsigned>(size.unit) % size_units);
}

std::uint8_t normal_slot(std::uint8_t slot) noexcept {
  return slot == no_slot ? slot : static_cast<std::uint8_t>(slot % slots_max);
}

// Real host memory and buffers of the runner stand behind these: what is copied fits into 256
// bytes, or is so much that it is refused.
void bound_bytes(Size& size, std::int16_t most) noexcept {
  size.unit = SizeUnit::bytes;
  size.count = static_cast<std::int16_t>(size.count < 0 ? -1 : size.count % (most + 1));
  if (size.count + size.bytes < 0 && size.count >= 0) {
    size.bytes = 0;
  }
}

void normalize_sizes(Op& op) noexcept {
  constexpr std::int16_t copied_max = 128;
  constexpr std::int16_t host_kibibytes_max = 64;
  switch (op.kind) {
    case OpKind::htod:
    case OpKind::expect:
      bound_bytes(op.size, copied_max);
      op.size.count = static_cast<std::int16_t>(std::max<int>(op.size.count, 0));
      op.size.bytes = 0;
      break;
    case OpKind::dtod:
      bound_bytes(op.size, copied_max);
      break;
    case OpKind::memset:
      if (op.size.unit != SizeUnit::granules || op.size.count < 0 || op.size.count > 2) {
        bound_bytes(op.size, copied_max);
      }
      break;
    case OpKind::alloc_managed:
    case OpKind::host_alloc:
      op.size.unit = SizeUnit::kibibytes;
      op.size.count =
          static_cast<std::int16_t>(std::max<int>(op.size.count, 0) % (host_kibibytes_max + 1));
      op.size.bytes = static_cast<std::int8_t>(std::max<int>(op.size.bytes, 0));
      break;
    case OpKind::launch:
      op.extra = plain_bytes(static_cast<std::int16_t>(std::max<int>(op.extra.count, 0)));
      break;
    case OpKind::alloc_pitch:
      op.extra = plain_bytes(static_cast<std::int16_t>(std::max<int>(op.extra.count, 0)));
      break;
    default:
      break;
  }
}

}  // namespace

namespace detail {
constexpr std::array<OpFacts, op_kinds> op_facts = {{
#define TESSERA_OP(name, produces, operands) make_facts(OpKind::name, SlotKind::produces, operands),
#include "tessera/testing/op_kinds.def"
#undef TESSERA_OP
}};
}  // namespace detail

std::string_view name_of(OpKind kind) noexcept {
  return names[std::min(static_cast<std::size_t>(kind), op_kinds - 1)];
}

void normalize(Op& op) noexcept {
  op.kind = static_cast<OpKind>(static_cast<std::size_t>(op.kind) % op_kinds);
  const Op blank;
  const unsigned used = operands_of(op.kind);
  // Without branches, which could not be foreseen.
  const auto keep = [&](OpField field, auto& value, const auto& unused) {
    value = (used & field) != 0 ? value : unused;
  };
  keep(uses_object, op.object, blank.object);
  keep(uses_other, op.other, blank.other);
  keep(uses_place, op.place, blank.place);
  keep(uses_source, op.source, blank.source);
  keep(uses_size, op.size, blank.size);
  keep(uses_extra, op.extra, blank.extra);
  keep(uses_device, op.device, blank.device);
  keep(uses_choice, op.choice, blank.choice);
  keep(uses_value, op.value, blank.value);
  keep(uses_flags, op.flags, blank.flags);
  op.result = result_of(op.kind) == SlotKind::none
                  ? std::uint8_t{0}
                  : static_cast<std::uint8_t>(op.result % slots_max);
  op.object = normal_slot(op.object);
  if (other_of(op.kind) != SlotKind::none) {
    op.other = normal_slot(op.other);
  }
  if (op.kind == OpKind::create && op.other != no_slot) {
    op.other &= 0x0fU;
  }
  if ((op.kind == OpKind::memset || op.kind == OpKind::dtod) && op.flags == 0) {
    op.other = no_slot;
  }
  normalize_place(op.place);
  normalize_place(op.source);
  normalize_size(op.size);
  normalize_size(op.extra);
  normalize_sizes(op);
}

}  // namespace tessera::testing
