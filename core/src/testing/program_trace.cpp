// What traces look like: only symbols and what the driver has no choice about.
#include "tessera/testing/program_runner.h"

namespace tessera::testing {
namespace {

constexpr std::array<char, slot_kinds> letters = {'r', 'p', 'h', 'f', 'c', 's', 'e'};

void add_symbol(std::string& out, SlotKind kind, std::size_t slot) {
  out += letters[static_cast<std::size_t>(kind)];
  out += std::to_string(slot);
}

// Attributes that are addresses: shown by their distance. Ids mean nothing by themselves.
enum class Shown : std::uint8_t { plain, distance, whether };

Shown shown_as(std::uint8_t attribute) noexcept {
  switch (static_cast<PointerAttribute>(attribute)) {
    case PointerAttribute::device_pointer:
    case PointerAttribute::host_pointer:
    case PointerAttribute::range_start_addr:
    case PointerAttribute::mapping_base_addr:
      return Shown::distance;
    case PointerAttribute::context:
    case PointerAttribute::buffer_id:
    case PointerAttribute::mempool_handle:
    case PointerAttribute::memory_block_id:
      return Shown::whether;
    default:
      return Shown::plain;
  }
}

}  // namespace

void ProgramRunner::trace(std::string& out, const Op& op, const Outcome& outcome) const {
  const auto number = [&](std::uint64_t value) {
    out += ' ';
    out += std::to_string(static_cast<std::int64_t>(value));
  };
  out += name_of(op.kind);
  if (const SlotKind kind = result_of(op.kind); kind != SlotKind::none) {
    out += ' ';
    add_symbol(out, kind, op.result);
  }
  out += ' ';
  out += outcome.is_ok() ? std::string("OK") : code_name(outcome.code);
  if (outcome.is_ok()) {
    switch (op.kind) {
      case OpKind::retain: {
        out += " =";
        // The lowest slot that has this handle; its own, if it is new to the program.
        for (std::uint8_t slot = 0; slot < slots_max; ++slot) {
          if (value_of(SlotKind::handle, slot) == outcome.value) {
            add_symbol(out, SlotKind::handle, slot);
            break;
          }
        }
        break;
      }
      case OpKind::address_range:
        number(outcome.value - arguments_.address);
        number(outcome.second);
        break;
      case OpKind::attribute: {
        const Shown shown = shown_as(op.choice);
        number(shown == Shown::distance  ? outcome.value - arguments_.address
               : shown == Shown::whether ? std::uint64_t{outcome.value != 0}
                                         : outcome.value);
        break;
      }
      case OpKind::properties:
      case OpKind::mem_info:
      case OpKind::expect:
        number(outcome.value);
        number(outcome.second);
        break;
      case OpKind::alloc_pitch:
        number(outcome.second);
        break;
      case OpKind::get_access:
      case OpKind::limit_get:
      case OpKind::granularity:
      case OpKind::peer_can:
      case OpKind::close_fd:
        number(outcome.value);
        break;
      default:
        break;
    }
  }
  out += '\n';
}

}  // namespace tessera::testing
