// Program: a sequence of driver calls with symbolic operands, as property tests and fuzzers make
// them. An operand names what an earlier call gave by its slot ("reservation 2, one granule in"),
// so one program runs on any Driver, wherever that puts things. A slot whose call failed or was not
// made stands for null (a descriptor: -1), so every part of a program is a program: shrinking just
// drops calls.
//
// Small and flat (an Op is 28 bytes), because millions are made. program_text.h turns programs into
// scenarios and back, program_runner.h runs them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::testing {

// What a slot holds. Each kind has `slots_max` slots.
enum class SlotKind : std::uint8_t {
  reservation,  // r: an address
  pointer,      // p: an address of mem_alloc and its relatives
  handle,       // h: memory or a multicast object
  descriptor,   // f
  context,      // c
  stream,       // s
  event,        // e
  none,
};
inline constexpr std::size_t slot_kinds = 7;
inline constexpr std::size_t slots_max = 16;
// As `object` or `other`: no slot. Stands for null, the default stream, the context of `device`.
inline constexpr std::uint8_t no_slot = 0xff;

enum class OpKind : std::uint8_t {
#define TESSERA_OP(name, produces, operands) name,
#include "tessera/testing/op_kinds.def"
#undef TESSERA_OP
};
inline constexpr std::size_t op_kinds = 0
#define TESSERA_OP(name, produces, operands) +1
#include "tessera/testing/op_kinds.def"
#undef TESSERA_OP
    ;

// Which fields of Op a kind uses, as bits.
enum OpField : std::uint16_t {
  uses_object = 1,
  uses_other = 2,
  uses_place = 4,
  uses_source = 8,
  uses_size = 16,
  uses_extra = 32,
  uses_device = 64,
  uses_choice = 128,
  uses_value = 256,
  uses_flags = 512,
};

// An address: that of a slot, so many granules and bytes on. With base `none`: from null.
struct Place {
  SlotKind base = SlotKind::none;  // reservation, pointer or none
  std::uint8_t slot = 0;
  std::int8_t granules = 0;
  std::int8_t bytes = 0;

  friend bool operator==(const Place&, const Place&) = default;
};

enum class SizeUnit : std::uint8_t { bytes, kibibytes, granules, tebibytes };
inline constexpr std::size_t size_units = 4;

// count * unit + bytes, modulo 2^64: a count or a sum below zero is an enormous size.
struct Size {
  SizeUnit unit = SizeUnit::granules;
  std::int8_t bytes = 0;
  std::int16_t count = 0;

  friend bool operator==(const Size&, const Size&) = default;
};
[[nodiscard]] constexpr Size granules(std::int16_t count) noexcept {
  return {.unit = SizeUnit::granules, .bytes = 0, .count = count};
}
[[nodiscard]] constexpr Size plain_bytes(std::int16_t count) noexcept {
  return {.unit = SizeUnit::bytes, .bytes = 0, .count = count};
}

// One call. What the fields mean depends on `kind`; those that it does not use are left as here.
struct Op {
  OpKind kind = OpKind::ctx_sync;
  std::uint8_t result = 0;        // the slot that the result goes to
  std::uint8_t object = no_slot;  // the handle, descriptor, context, stream or event
  // Another slot: the stream of work, the event waited for, the memory bound. Of create: bits, see
  // CreateBits; of set_access: a second descriptor, device << 4 | flags; of peer_can: the peer.
  std::uint8_t other = no_slot;
  Place place = {};
  Place source = {};  // of dtod
  Size size = {};
  // reserve: alignment; map, multicast: offset; limit_set: value; alloc_pitch: height; launch: how
  // long the kernel waits, its count times 10 us.
  Size extra = {};
  std::int8_t device = 0;
  // create, set_access, get_access: LocationType. attribute, limit, granularity, stream and event:
  // the number. launch: Touch.
  std::uint8_t choice = 0;
  // memset, htod, expect, launch: the byte. set_access: AccessFlags. create, export: HandleTypes.
  // alloc_pitch: the element's size.
  std::uint8_t value = 0;
  // The call's flags. memset, dtod: not zero: only queued in the stream `other`; else it is the
  // default stream, and waited for.
  std::uint8_t flags = 0;

  friend bool operator==(const Op&, const Op&) = default;
};

enum CreateBits : std::uint8_t {
  create_managed_type = 1,  // AllocationType::managed, which no driver takes
  create_compressed = 2,
  create_rdma = 4,
  create_tile_pool = 8,
};

struct Program {
  std::vector<Op> ops = {};
  // Where the part begins that undoes what came before; ops.size() where there is none.
  std::size_t drain = 0;

  friend bool operator==(const Program&, const Program&) = default;
};

namespace detail {
struct OpFacts {
  SlotKind result;
  SlotKind object;
  SlotKind other;
  std::uint16_t operands;
};
extern const std::array<OpFacts, op_kinds> op_facts;
[[nodiscard]] inline const OpFacts& facts_of(OpKind kind) noexcept {
  return op_facts[std::min(static_cast<std::size_t>(kind), op_kinds - 1)];
}
}  // namespace detail

[[nodiscard]] std::string_view name_of(OpKind kind) noexcept;
[[nodiscard]] inline SlotKind result_of(OpKind kind) noexcept {
  return detail::facts_of(kind).result;
}
// Which fields the kind uses: bits of OpField.
[[nodiscard]] inline unsigned operands_of(OpKind kind) noexcept {
  return detail::facts_of(kind).operands;
}
// What kind of slot `object` and `other` name; none where they name no slot.
[[nodiscard]] inline SlotKind object_of(OpKind kind) noexcept {
  return detail::facts_of(kind).object;
}
[[nodiscard]] inline SlotKind other_of(OpKind kind) noexcept {
  return detail::facts_of(kind).other;
}

// Brings any field values into what an Op may hold: slots below slots_max or no_slot, unused fields
// as in Op(), and copies so small that they are quick. Programs from outside are made so.
void normalize(Op& op) noexcept;

}  // namespace tessera::testing
