#include "scenario/unless.h"
#include "tessera/testing/program_text.h"

namespace tessera::testing {
namespace {

using scenario::Operand;
using scenario::Operation;
using scenario::Symbol;
using scenario::SymbolKind;
using scenario::TermKind;
using scenario::unless;

SymbolKind symbol_kind(SlotKind kind) noexcept {
  constexpr std::array<SymbolKind, slot_kinds> kinds = {
      SymbolKind::reservation, SymbolKind::pointer, SymbolKind::handle, SymbolKind::descriptor,
      SymbolKind::context,     SymbolKind::stream,  SymbolKind::event};
  return kinds[static_cast<std::size_t>(kind)];
}

void add_term(Operand& operand, TermKind kind, std::int64_t count) {
  if (count != 0) {
    operand.add({.kind = kind,
                 .negative = count < 0,
                 .number = static_cast<std::uint64_t>(count < 0 ? -count : count)});
  }
}

Operand operand_of(const Place& place) {
  Operand operand;
  if (place.base != SlotKind::none) {
    operand = Operand(Symbol{symbol_kind(place.base), place.slot});
  }
  add_term(operand, TermKind::granules, place.granules);
  add_term(operand, TermKind::number, place.bytes);
  return operand.is_given() ? operand : scenario::null_operand();
}

Operand operand_of(const Size& size) {
  constexpr std::array<TermKind, size_units> units = {TermKind::number, TermKind::kibi,
                                                      TermKind::granules, TermKind::tebi};
  Operand operand;
  add_term(operand, units[static_cast<std::size_t>(size.unit)], size.count);
  add_term(operand, TermKind::number, size.bytes);
  return operand.is_given() ? operand : Operand(std::uint64_t{0});
}

// An operand that may be left out: zero is.
Operand optional_operand(const Size& size) {
  return size.count == 0 && size.bytes == 0 ? Operand() : operand_of(size);
}

Symbol result_symbol(const Op& op) { return {symbol_kind(result_of(op.kind)), op.result}; }

Operand object_of_op(const Op& op) {
  const SlotKind kind = object_of(op.kind);
  if (op.object == no_slot) {
    return kind == SlotKind::context && op.device >= 0
               ? Operand(Symbol{SymbolKind::primary, static_cast<std::uint32_t>(op.device)})
           : kind == SlotKind::descriptor ? scenario::max_operand()
                                          : scenario::null_operand();
  }
  return Operand(Symbol{symbol_kind(kind), op.object});
}

Operand other_of_op(const Op& op) {
  return op.other == no_slot ? scenario::null_operand()
                             : Operand(Symbol{symbol_kind(other_of(op.kind)), op.other});
}

// A stream that may be left out: the default one is.
Operand stream_of(const Op& op) { return op.other == no_slot ? Operand() : other_of_op(op); }

Operation create_of(const Op& op) {
  const AllocationProperties asked = properties_of(op);
  const bool is_pinned = asked.type == AllocationType::pinned;
  const bool on_device = asked.location.type == LocationType::device;
  return scenario::Create{
      .result = result_symbol(op),
      .size = operand_of(op.size),
      .properties = {.type = is_pinned ? std::nullopt : std::optional(asked.type),
                     .location = on_device ? std::nullopt : std::optional(asked.location.type),
                     .device = unless<std::int32_t>(op.device),
                     .handle_types = unless(asked.requested_handle_types),
                     .gpu_direct_rdma = unless(asked.gpu_direct_rdma_capable),
                     .compression = unless(static_cast<std::uint8_t>(asked.compression)),
                     .usage = unless(asked.usage)},
      .flags = unless<std::uint64_t>(op.flags)};
}

Operation set_access_of(const Op& op) {
  const AccessDescriptor first = {
      .location = {.type = static_cast<LocationType>(op.choice), .id = op.device},
      .flags = static_cast<AccessFlags>(op.value)};
  scenario::SetAccess operation = {.address = operand_of(op.place), .size = operand_of(op.size)};
  if (op.other != no_slot) {
    operation.descriptors = {first,
                             {.location = on_device(DeviceOrdinal(op.other >> 4U)),
                              .flags = static_cast<AccessFlags>(op.other & 0x0fU)}};
    return operation;
  }
  if (first.location.type != LocationType::device) {
    operation.location = first.location.type;
  }
  operation.device = unless(first.location.id);
  if (first.flags != AccessFlags::read_write) {
    operation.protection = first.flags;
  }
  return operation;
}

std::optional<LocationType> location_of(const Op& op) {
  const auto type = static_cast<LocationType>(op.choice);
  return type == LocationType::device ? std::nullopt : std::optional(type);
}

Operation memory_operation(const Op& op) {
  switch (op.kind) {
    case OpKind::granularity: {
      scenario::Granularity operation;
      operation.properties.device = unless<std::int32_t>(op.device);
      operation.option = static_cast<GranularityOption>(op.choice);
      return operation;
    }
    case OpKind::reserve:
      return scenario::Reserve{.result = result_symbol(op),
                               .size = operand_of(op.size),
                               .alignment = optional_operand(op.extra),
                               .hint = op.place == Place() ? Operand() : operand_of(op.place),
                               .flags = unless<std::uint64_t>(op.flags)};
    case OpKind::address_free:
      return scenario::AddressFree{operand_of(op.place), operand_of(op.size)};
    case OpKind::create:
      return create_of(op);
    case OpKind::release:
      return scenario::Release{object_of_op(op)};
    case OpKind::properties:
      return scenario::Props{object_of_op(op)};
    case OpKind::retain:
      return scenario::Retain{result_symbol(op), operand_of(op.place)};
    case OpKind::export_fd:
      return scenario::Export{.result = result_symbol(op),
                              .handle = object_of_op(op),
                              .type = static_cast<HandleTypes>(op.value),
                              .flags = unless<std::uint64_t>(op.flags)};
    case OpKind::import_fd:
      return scenario::Import{.result = result_symbol(op), .descriptor = object_of_op(op)};
    case OpKind::close_fd:
      return scenario::Close{object_of_op(op)};
    case OpKind::map:
      return scenario::Map{.address = operand_of(op.place),
                           .size = operand_of(op.size),
                           .handle = object_of_op(op),
                           .offset = optional_operand(op.extra),
                           .flags = unless<std::uint64_t>(op.flags)};
    case OpKind::unmap:
      return scenario::Unmap{operand_of(op.place), operand_of(op.size)};
    case OpKind::set_access:
      return set_access_of(op);
    default:
      return scenario::GetAccess{.address = operand_of(op.place),
                                 .location = location_of(op),
                                 .device = unless<std::int32_t>(op.device)};
  }
}

Operation data_operation(const Op& op) {
  const Symbol result = result_of(op.kind) == SlotKind::none ? Symbol{} : result_symbol(op);
  const Operand address = operand_of(op.place);
  const Operand size = operand_of(op.size);
  switch (op.kind) {
    case OpKind::alloc:
      return scenario::Alloc{result, size};
    case OpKind::alloc_pitch:
      return scenario::AllocPitch{result, size, static_cast<std::uint64_t>(op.extra.count),
                                  op.value};
    case OpKind::alloc_managed:
      return scenario::Managed{result, size};
    case OpKind::alloc_async:
      return scenario::AllocAsync{result, size, stream_of(op)};
    case OpKind::host_alloc:
      return scenario::HostAlloc{result, size};
    case OpKind::free:
      return scenario::Free{address};
    case OpKind::free_async:
      return scenario::FreeAsync{address, stream_of(op)};
    case OpKind::mem_info:
      return scenario::MemInfo{};
    case OpKind::address_range:
      return scenario::AddressRangeOf{address};
    case OpKind::attribute:
      return scenario::Attribute{address, static_cast<PointerAttribute>(op.choice)};
    case OpKind::htod:
      return scenario::Htod{address, size, op.value};
    case OpKind::expect:
      return scenario::Expect{address, size, op.value};
    case OpKind::dtod:
      return scenario::Dtod{address, operand_of(op.source), size,
                            op.flags != 0 ? other_of_op(op) : Operand()};
    default:
      return scenario::Memset{address, size, op.value, op.flags != 0 ? other_of_op(op) : Operand()};
  }
}

Operation order_operation(const Op& op) {
  switch (op.kind) {
    case OpKind::stream_create:
      return scenario::StreamCreate{result_symbol(op), unless<std::uint32_t>(op.choice)};
    case OpKind::stream_destroy:
      return scenario::StreamDestroy{object_of_op(op)};
    case OpKind::stream_sync:
      return scenario::StreamSync{object_of_op(op)};
    case OpKind::stream_wait:
      return scenario::StreamWait{object_of_op(op), other_of_op(op),
                                  unless<std::uint32_t>(op.flags)};
    case OpKind::event_create:
      return scenario::EventCreate{result_symbol(op), unless<std::uint32_t>(op.choice)};
    case OpKind::event_record:
      return scenario::EventRecord{object_of_op(op), stream_of(op)};
    case OpKind::event_query:
      return scenario::EventQuery{object_of_op(op)};
    case OpKind::event_sync:
      return scenario::EventSync{object_of_op(op)};
    case OpKind::event_destroy:
      return scenario::EventDestroy{object_of_op(op)};
    case OpKind::launch:
      return scenario::Launch{
          .address = operand_of(op.place),
          .touch = static_cast<Touch>(op.choice),
          .value = op.value,
          .duration_ns = unless(duration_of({.extra = static_cast<std::uint64_t>(op.extra.count)})),
          .stream = stream_of(op)};
    case OpKind::mc_create:
      return scenario::MulticastCreate{result_symbol(op), static_cast<std::uint32_t>(op.device),
                                       operand_of(op.size)};
    case OpKind::mc_add:
      return scenario::MulticastAdd{object_of_op(op), op.device};
    case OpKind::mc_bind:
      return scenario::MulticastBind{object_of_op(op), other_of_op(op), operand_of(op.size),
                                     optional_operand(op.extra)};
    default:
      return scenario::MulticastUnbind{object_of_op(op), op.device, operand_of(op.size),
                                       optional_operand(op.extra)};
  }
}

Operation context_operation(const Op& op) {
  const std::optional<std::int32_t> device = unless<std::int32_t>(op.device);
  switch (op.kind) {
    case OpKind::ctx_retain:
      return scenario::ContextRetain{device};
    case OpKind::ctx_release:
      return scenario::ContextRelease{device};
    case OpKind::ctx_reset:
      return scenario::ContextReset{device};
    case OpKind::ctx_create:
      return scenario::ContextCreate{result_symbol(op), device};
    case OpKind::ctx_destroy:
      return scenario::ContextDestroy{object_of_op(op)};
    case OpKind::ctx_set:
      return scenario::ContextSet{object_of_op(op)};
    case OpKind::ctx_none:
      return scenario::ContextNone{};
    case OpKind::peer_can:
      return scenario::PeerCan{op.device, op.other};
    case OpKind::peer_enable:
      return scenario::PeerEnable{op.device};
    case OpKind::limit_set:
      return scenario::LimitSet{op.choice, operand_of(op.extra)};
    case OpKind::limit_get:
      return scenario::LimitGet{op.choice};
    default:
      return scenario::ContextSync{};
  }
}

Operation operation_of(const Op& op) {
  if (op.kind <= OpKind::limit_get) {
    return context_operation(op);
  }
  if (op.kind <= OpKind::get_access) {
    return memory_operation(op);
  }
  return op.kind <= OpKind::memset ? data_operation(op) : order_operation(op);
}

scenario::Answer answer_of(const Op& op, const Outcome& outcome) {
  if (!outcome.is_ok()) {
    return scenario::Answer(code_name(outcome.code));
  }
  switch (op.kind) {
    case OpKind::expect:
      return scenario::Answer().add("match", outcome.value);
    case OpKind::get_access:
      return scenario::Answer().add("flags", outcome.value);
    case OpKind::peer_can:
      return scenario::Answer().add("can", outcome.value);
    case OpKind::granularity:
      return scenario::Answer().add("g", outcome.value);
    case OpKind::limit_get:
      return scenario::Answer().add("v", outcome.value);
    default:
      return {};
  }
}

}  // namespace

scenario::Case to_case(const Program& program, std::string_view name,
                       std::span<const Outcome> outcomes) {
  scenario::Case built;
  built.name = name;
  built.calls.reserve(program.ops.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    scenario::Call call = {.operation = operation_of(program.ops[i])};
    if (i < outcomes.size()) {
      call.expected = answer_of(program.ops[i], outcomes[i]);
    }
    built.calls.push_back(std::move(call));
  }
  return built;
}

}  // namespace tessera::testing
