// Operations with any operands, and with one wrong one.
#include <array>

#include "testing/maker.h"

namespace tessera::testing {

void ProgramGenerator::Maker::draw_any_fields(Op& op) {
  const auto slot = [&] { return static_cast<std::uint8_t>(choices_.below(4)); };
  op.object = slot();
  op.other = choices_.chance(50) ? no_slot : slot();
  op.place = {.base = choices_.chance(80) ? SlotKind::reservation : SlotKind::pointer,
              .slot = slot(),
              .granules = static_cast<std::int8_t>(choices_.below(4)),
              .bytes = static_cast<std::int8_t>(choices_.below(16) == 0 ? 1 : 0)};
  op.source = {.base = SlotKind::reservation,
               .slot = slot(),
               .granules = static_cast<std::int8_t>(choices_.below(4))};
  op.size = granules(static_cast<std::int16_t>(choices_.between(0, 4)));
  op.extra = choices_.chance(80) ? plain_bytes(0) : granules(1);
  op.device = static_cast<std::int8_t>(choices_.between(-1, options_.devices));
  op.choice = static_cast<std::uint8_t>(choices_.chance(80) ? 1 : choices_.below(21));
  op.value = static_cast<std::uint8_t>(choices_.below(5));
  op.flags = choices_.below(16) == 0 ? 1 : 0;
}

Op ProgramGenerator::Maker::draw_any(OpKind kind) {
  Op op = {.kind = kind};
  draw_any_fields(op);
  const SlotKind result = result_of(kind);
  if (result != SlotKind::none) {
    const std::uint8_t free = vacant(result);
    op.result = free == no_slot ? static_cast<std::uint8_t>(choices_.below(4)) : free;
  }
  if (kind == OpKind::create && choices_.chance(80)) {
    op.other = no_slot;
    op.device = 0;
    op.value = 0;
  }
  if (kind == OpKind::alloc_pitch) {
    op.extra = plain_bytes(static_cast<std::int16_t>(choices_.below(8)));
  }
  return op;
}

void ProgramGenerator::Maker::break_place(Place& place) {
  switch (choices_.below(6)) {
    case 0:
      place.granules = static_cast<std::int8_t>(place.granules + 1);
      break;
    case 1:
      place.granules = static_cast<std::int8_t>(place.granules - 1);
      break;
    case 2:
      place.bytes = static_cast<std::int8_t>(choices_.chance(50) ? 1 : -1);
      break;
    case 3:
      place = {};
      break;
    case 4:  // perhaps another's, perhaps nobody's
      place.slot = static_cast<std::uint8_t>(choices_.below(slots_max));
      break;
    default:
      place.granules = static_cast<std::int8_t>(choices_.between(-4, 40));
      break;
  }
}

void ProgramGenerator::Maker::break_size(Size& size) {
  switch (choices_.below(8)) {
    case 0:
      size.count = 0;
      break;
    case 1:
    case 2:
      size.count = static_cast<std::int16_t>(size.count + 1);
      break;
    case 3:
    case 4:
      size.count = static_cast<std::int16_t>(size.count - 1);
      break;
    case 5:
      size.bytes = static_cast<std::int8_t>(choices_.chance(50) ? 1 : -1);
      break;
    case 6:
      size = {.unit = SizeUnit::granules, .bytes = 0, .count = -1};
      break;
    default:
      size = {.unit = SizeUnit::tebibytes,
              .bytes = 0,
              .count = static_cast<std::int16_t>(choices_.chance(50) ? 1 : 200)};
      break;
  }
}

void ProgramGenerator::Maker::break_rule(Op& op) {
  const unsigned fields = operands_of(op.kind);
  if (fields == 0) {
    return;
  }
  switch (1U << choices_.bit_of(fields)) {
    case uses_object:
      op.object =
          choices_.chance(20) ? no_slot : static_cast<std::uint8_t>(choices_.below(slots_max));
      break;
    case uses_other:
      op.other =
          static_cast<std::uint8_t>(choices_.below(op.kind == OpKind::set_access ? 0x40U : 16U));
      break;
    case uses_place:
      break_place(op.place);
      break;
    case uses_source:
      break_place(op.source);
      break;
    case uses_size:
      break_size(op.size);
      break;
    case uses_extra:
      op.extra = {.unit = SizeUnit::granules, .bytes = 0, .count = 1};
      break_size(op.extra);
      break;
    case uses_device: {
      constexpr std::array<std::int8_t, 5> devices = {-1, 1, 2, 7, 99};
      op.device = devices[choices_.below(devices.size())];
      break;
    }
    case uses_choice:
      op.choice = static_cast<std::uint8_t>(choices_.below(24));
      break;
    case uses_value:
      op.value = static_cast<std::uint8_t>(choices_.below(32));
      break;
    default:
      op.flags =
          op.flags == 0 ? static_cast<std::uint8_t>(choices_.between(1, 2)) : std::uint8_t{0};
      break;
  }
}

}  // namespace tessera::testing
