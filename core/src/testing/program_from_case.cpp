#include <limits>
#include <utility>

#include "tessera/scenario/writer.h"
#include "tessera/testing/program_text.h"

namespace tessera::testing {
namespace {

using scenario::Operand;
using scenario::Symbol;
using scenario::SymbolKind;
using scenario::Term;
using scenario::TermKind;

SlotKind slot_kind(SymbolKind kind) noexcept {
  constexpr std::array<SlotKind, scenario::symbol_kinds> kinds = {
      SlotKind::reservation, SlotKind::none,       SlotKind::pointer,
      SlotKind::handle,      SlotKind::descriptor, SlotKind::context,
      SlotKind::none,        SlotKind::stream,     SlotKind::event};
  return kinds[static_cast<std::size_t>(kind)];
}

// Turns one operation into an Op. What does not fit is noted in `fault`.
class Converter {
 public:
  [[nodiscard]] Op op() const noexcept { return op_; }
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

  void operator()(const scenario::ContextRetain& of) { on_device(OpKind::ctx_retain, of.device); }
  void operator()(const scenario::ContextRelease& of) { on_device(OpKind::ctx_release, of.device); }
  void operator()(const scenario::ContextReset& of) { on_device(OpKind::ctx_reset, of.device); }
  void operator()(const scenario::ContextCreate& of) {
    on_device(OpKind::ctx_create, of.device);
    result(of.result);
  }
  void operator()(const scenario::ContextDestroy& of) { context(OpKind::ctx_destroy, of.context); }
  void operator()(const scenario::ContextSet& of) { context(OpKind::ctx_set, of.context); }
  void operator()(const scenario::ContextNone&) { op_.kind = OpKind::ctx_none; }
  void operator()(const scenario::ContextSync&) { op_.kind = OpKind::ctx_sync; }
  void operator()(const scenario::PeerCan& of) {
    on_device(OpKind::peer_can, of.device);
    op_.other = fit<std::uint8_t>(of.peer);
  }
  void operator()(const scenario::PeerEnable& of) { on_device(OpKind::peer_enable, of.device); }
  void operator()(const scenario::LimitSet& of) {
    numbered(OpKind::limit_set, of.which);
    op_.extra = size(of.value);
  }
  void operator()(const scenario::LimitGet& of) { numbered(OpKind::limit_get, of.which); }
  void operator()(const scenario::Granularity& of) {
    on_device(OpKind::granularity, of.properties.device);
    op_.choice = fit<std::uint8_t>(
        static_cast<std::uint32_t>(of.option.value_or(GranularityOption::minimum)));
    only(of.properties_pointer == scenario::Pointer::given && of.out == scenario::Pointer::given);
  }
  void operator()(const scenario::Reserve& of) {
    op_.kind = OpKind::reserve;
    result(of.result);
    op_.size = size(of.size);
    op_.extra = of.alignment.is_given() ? size(of.alignment) : plain_bytes(0);
    op_.place = of.hint.is_given() ? place(of.hint) : Place();
    op_.flags = fit<std::uint8_t>(of.flags.value_or(0));
    only(of.out == scenario::Pointer::given);
  }
  void operator()(const scenario::AddressFree& of) {
    range(OpKind::address_free, of.address, of.size);
  }
  void operator()(const scenario::Create& of) {
    const scenario::Properties& asked = of.properties;
    op_.kind = OpKind::create;
    result(of.result);
    op_.size = size(of.size);
    op_.device = fit<std::int8_t>(asked.device.value_or(0));
    op_.choice = fit<std::uint8_t>(
        static_cast<std::uint32_t>(asked.location.value_or(LocationType::device)));
    op_.value = fit<std::uint8_t>(
        static_cast<std::uint32_t>(asked.handle_types.value_or(HandleTypes::none)));
    const auto type = asked.type.value_or(AllocationType::pinned);
    const auto bit = [](bool is_set, CreateBits value) {
      return is_set ? static_cast<unsigned>(value) : 0U;
    };
    const unsigned bits = bit(type == AllocationType::managed, create_managed_type) |
                          bit(asked.compression.value_or(0) != 0, create_compressed) |
                          bit(asked.gpu_direct_rdma.value_or(0) != 0, create_rdma) |
                          bit(asked.usage.value_or(0) != 0, create_tile_pool);
    op_.other = bits == 0 ? no_slot : static_cast<std::uint8_t>(bits);
    op_.flags = fit<std::uint8_t>(of.flags.value_or(0));
    only(type != AllocationType::invalid && asked.compression.value_or(0) <= 1 &&
         asked.gpu_direct_rdma.value_or(0) <= 1 && asked.usage.value_or(0) <= 1 &&
         of.reserved.value_or(0) == 0 && of.win32_metadata.value_or(0) == 0 &&
         of.properties_pointer == scenario::Pointer::given && of.out == scenario::Pointer::given);
  }
  void operator()(const scenario::Release& of) { object(OpKind::release, of.handle); }
  void operator()(const scenario::Props& of) {
    object(OpKind::properties, of.handle);
    only(of.out == scenario::Pointer::given);
  }
  void operator()(const scenario::Retain& of) {
    op_.kind = OpKind::retain;
    result(of.result);
    op_.place = place(of.address);
  }
  void operator()(const scenario::Export& of) {
    object(OpKind::export_fd, of.handle);
    result(of.result);
    op_.value = fit<std::uint8_t>(
        static_cast<std::uint32_t>(of.type.value_or(HandleTypes::posix_file_descriptor)));
    op_.flags = fit<std::uint8_t>(of.flags.value_or(0));
    only(of.out == scenario::Pointer::given);
  }
  void operator()(const scenario::Import& of) {
    object(OpKind::import_fd, of.descriptor);
    result(of.result);
    only(of.type.value_or(HandleTypes::posix_file_descriptor) ==
         HandleTypes::posix_file_descriptor);
  }
  void operator()(const scenario::Close& of) { object(OpKind::close_fd, of.descriptor); }
  void operator()(const scenario::Map& of) {
    range(OpKind::map, of.address, of.size);
    op_.object = slot(of.handle, SlotKind::handle);
    op_.extra = of.offset.is_given() ? size(of.offset) : plain_bytes(0);
    op_.flags = fit<std::uint8_t>(of.flags.value_or(0));
  }
  void operator()(const scenario::Unmap& of) { range(OpKind::unmap, of.address, of.size); }
  void operator()(const scenario::SetAccess& of) {
    range(OpKind::set_access, of.address, of.size);
    AccessDescriptor first = {.location = {.type = of.location.value_or(LocationType::device),
                                           .id = of.device.value_or(0)},
                              .flags = of.protection.value_or(AccessFlags::read_write)};
    if (!of.descriptors.empty()) {
      first = of.descriptors.front();
    }
    if (of.descriptors.size() == 2) {
      const AccessDescriptor& second = of.descriptors[1];
      const auto flags = static_cast<std::uint32_t>(second.flags);
      only(second.location.type == LocationType::device && second.location.id >= 0 &&
           second.location.id < 16 && flags < 16);
      op_.other = static_cast<std::uint8_t>(static_cast<unsigned>(second.location.id) << 4U |
                                            (flags & 15U));
      only(op_.other != no_slot);
    }
    op_.choice = fit<std::uint8_t>(static_cast<std::uint32_t>(first.location.type));
    op_.device = fit<std::int8_t>(first.location.id);
    op_.value = fit<std::uint8_t>(static_cast<std::uint32_t>(first.flags));
    only(of.descriptors.size() <= 2 && !of.count);
  }
  void operator()(const scenario::GetAccess& of) {
    on_device(OpKind::get_access, of.device);
    op_.place = place(of.address);
    op_.choice =
        fit<std::uint8_t>(static_cast<std::uint32_t>(of.location.value_or(LocationType::device)));
    only(of.out == scenario::Pointer::given && of.location_pointer == scenario::Pointer::given);
  }
  void operator()(const scenario::Alloc& of) { allocate(OpKind::alloc, of.result, of.size); }
  void operator()(const scenario::AllocPitch& of) {
    allocate(OpKind::alloc_pitch, of.result, of.width);
    op_.extra = plain_bytes(fit<std::int16_t>(of.height));
    op_.value = fit<std::uint8_t>(of.element_size);
  }
  void operator()(const scenario::Managed& of) {
    allocate(OpKind::alloc_managed, of.result, of.size);
    in_kibibytes(op_.size);
  }
  void operator()(const scenario::AllocAsync& of) {
    allocate(OpKind::alloc_async, of.result, of.size);
    op_.other = slot(of.stream, SlotKind::stream);
  }
  void operator()(const scenario::HostAlloc& of) {
    allocate(OpKind::host_alloc, of.result, of.size);
    in_kibibytes(op_.size);
  }
  void operator()(const scenario::Free& of) {
    op_.kind = OpKind::free;
    op_.place = place(of.address);
  }
  void operator()(const scenario::FreeAsync& of) {
    op_.kind = OpKind::free_async;
    op_.place = place(of.address);
    op_.other = slot(of.stream, SlotKind::stream);
  }
  void operator()(const scenario::MemInfo&) { op_.kind = OpKind::mem_info; }
  void operator()(const scenario::AddressRangeOf& of) {
    op_.kind = OpKind::address_range;
    op_.place = place(of.address);
  }
  void operator()(const scenario::Attribute& of) {
    numbered(OpKind::attribute, static_cast<std::uint32_t>(of.which));
    op_.place = place(of.address);
  }
  void operator()(const scenario::Htod& of) { bytes(OpKind::htod, of); }
  void operator()(const scenario::Expect& of) { bytes(OpKind::expect, of); }
  void operator()(const scenario::Memset& of) {
    bytes(OpKind::memset, of);
    queued(of.stream);
  }
  void operator()(const scenario::Dtod& of) {
    range(OpKind::dtod, of.destination, of.size);
    op_.source = place(of.source);
    queued(of.stream);
  }
  void operator()(const scenario::StreamCreate& of) {
    numbered(OpKind::stream_create, of.flags.value_or(0));
    result(of.result);
  }
  void operator()(const scenario::StreamDestroy& of) { object(OpKind::stream_destroy, of.stream); }
  void operator()(const scenario::StreamSync& of) { object(OpKind::stream_sync, of.stream); }
  void operator()(const scenario::StreamWait& of) {
    object(OpKind::stream_wait, of.stream);
    op_.other = slot(of.event, SlotKind::event);
    op_.flags = fit<std::uint8_t>(of.flags.value_or(0));
  }
  void operator()(const scenario::EventCreate& of) {
    numbered(OpKind::event_create, of.flags.value_or(0));
    result(of.result);
  }
  void operator()(const scenario::EventRecord& of) {
    object(OpKind::event_record, of.event);
    op_.other = slot(of.stream, SlotKind::stream);
  }
  void operator()(const scenario::EventQuery& of) { object(OpKind::event_query, of.event); }
  void operator()(const scenario::EventSync& of) { object(OpKind::event_sync, of.event); }
  void operator()(const scenario::EventDestroy& of) { object(OpKind::event_destroy, of.event); }
  void operator()(const scenario::Launch& of) {
    constexpr std::uint64_t unit_ns = 10'000;
    numbered(OpKind::launch, static_cast<std::uint32_t>(of.touch));
    op_.place = place(of.address);
    op_.value = of.value.value_or(0);
    op_.extra = plain_bytes(fit<std::int16_t>(of.duration_ns.value_or(0) / unit_ns));
    op_.other = slot(of.stream, SlotKind::stream);
    only(of.duration_ns.value_or(0) % unit_ns == 0);
  }
  void operator()(const scenario::MulticastCreate& of) {
    on_device(OpKind::mc_create, fit<std::int8_t>(static_cast<std::int32_t>(of.devices)));
    result(of.result);
    op_.size = size(of.size);
  }
  void operator()(const scenario::MulticastAdd& of) {
    object(OpKind::mc_add, of.multicast);
    op_.device = fit<std::int8_t>(of.device);
  }
  void operator()(const scenario::MulticastBind& of) {
    object(OpKind::mc_bind, of.multicast);
    op_.other = slot(of.memory, SlotKind::handle);
    op_.size = size(of.size);
    op_.extra = of.offset.is_given() ? size(of.offset) : plain_bytes(0);
  }
  void operator()(const scenario::MulticastUnbind& of) {
    object(OpKind::mc_unbind, of.multicast);
    op_.device = fit<std::int8_t>(of.device);
    op_.size = size(of.size);
    op_.extra = of.offset.is_given() ? size(of.offset) : plain_bytes(0);
  }
  template <class Other>
  void operator()(const Other&) {
    only(false);
  }

 private:
  void only(bool is_sayable) {
    if (!is_sayable && fault_.empty()) {
      fault_ = "programs cannot say this";
    }
  }
  template <class To, class From>
  To fit(From value) {
    only(std::in_range<To>(value));
    return static_cast<To>(value);
  }
  void result(Symbol symbol) {
    only(slot_kind(symbol.kind) == result_of(op_.kind) && symbol.index < slots_max);
    op_.result = static_cast<std::uint8_t>(symbol.index % slots_max);
  }
  void on_device(OpKind kind, std::optional<std::int32_t> device) {
    op_.kind = kind;
    op_.device = fit<std::int8_t>(device.value_or(0));
  }
  void numbered(OpKind kind, std::uint32_t number) {
    op_.kind = kind;
    op_.choice = fit<std::uint8_t>(number);
  }
  void object(OpKind kind, const Operand& operand) {
    op_.kind = kind;
    op_.object = slot(operand, object_of(kind));
  }
  void context(OpKind kind, const Operand& operand) {
    op_.kind = kind;
    const auto symbol = operand.symbol();
    if (symbol && symbol->kind == SymbolKind::primary) {
      op_.device = fit<std::int8_t>(symbol->index);
      return;
    }
    op_.object = slot(operand, SlotKind::context);
    op_.device = op_.object == no_slot ? std::int8_t{-1} : std::int8_t{0};
  }
  void range(OpKind kind, const Operand& address, const Operand& length) {
    op_.kind = kind;
    op_.place = place(address);
    op_.size = size(length);
  }
  void allocate(OpKind kind, Symbol symbol, const Operand& length) {
    op_.kind = kind;
    result(symbol);
    op_.size = size(length);
  }
  // A few bytes, which sizes in kibibytes have beside them.
  static void in_kibibytes(Size& size) {
    if (size.unit == SizeUnit::bytes && size.count >= 0 && size.count <= 127) {
      size = {
          .unit = SizeUnit::kibibytes, .bytes = static_cast<std::int8_t>(size.count), .count = 0};
    }
  }
  template <class Data>
  void bytes(OpKind kind, const Data& of) {
    range(kind, of.address, of.size);
    op_.value = of.value.value_or(0);
  }
  void queued(const Operand& stream) {
    op_.flags = stream.is_given() ? 1 : 0;
    op_.other = slot(stream, SlotKind::stream);
  }
  std::uint8_t slot(const Operand& operand, SlotKind kind) {
    if (const auto symbol = operand.symbol()) {
      only(slot_kind(symbol->kind) == kind && symbol->index < slots_max);
      return static_cast<std::uint8_t>(symbol->index % slots_max);
    }
    const TermKind missing = kind == SlotKind::descriptor ? TermKind::max : TermKind::null;
    only(!operand.is_given() || (operand.size() == 1 && operand.term(0).kind == missing));
    return no_slot;
  }
  static std::int64_t signed_number(const Term& term) noexcept {
    const auto number = static_cast<std::int64_t>(term.number & 0x7fff'ffffU);
    return term.negative ? -number : number;
  }
  Place place(const Operand& operand) {
    Place place;
    std::int64_t granules = 0;
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < operand.size(); ++i) {
      const Term term = operand.term(i);
      if (term.kind == TermKind::symbol) {
        only(place.base == SlotKind::none && !term.negative &&
             (term.symbol == SymbolKind::reservation || term.symbol == SymbolKind::pointer));
        place.base = slot_kind(term.symbol);
        place.slot = static_cast<std::uint8_t>(term.number % slots_max);
      } else if (term.kind == TermKind::granules) {
        granules += signed_number(term);
      } else {
        only(term.kind == TermKind::number || term.kind == TermKind::null);
        bytes += signed_number(term);
      }
    }
    place.granules = fit<std::int8_t>(granules);
    place.bytes = fit<std::int8_t>(bytes);
    return place;
  }
  Size size(const Operand& operand) {
    Size size = plain_bytes(0);
    bool has_count = false;
    for (std::size_t i = 0; i < operand.size(); ++i) {
      const Term term = operand.term(i);
      const bool is_unit = term.kind == TermKind::granules || term.kind == TermKind::kibi ||
                           term.kind == TermKind::tebi;
      only(is_unit || term.kind == TermKind::number);
      if (is_unit || !has_count) {
        only(!has_count);
        size.unit = term.kind == TermKind::granules ? SizeUnit::granules
                    : term.kind == TermKind::kibi   ? SizeUnit::kibibytes
                    : term.kind == TermKind::tebi   ? SizeUnit::tebibytes
                                                    : SizeUnit::bytes;
        size.count = fit<std::int16_t>(signed_number(term));
        has_count = true;
      } else {
        size.bytes = fit<std::int8_t>(signed_number(term));
      }
    }
    return size;
  }

  Op op_;
  std::string fault_;
};

}  // namespace

std::variant<Program, NotAProgram> from_case(const scenario::Case& scenario_case) {
  if (scenario_case.start != scenario::Start::context) {
    return NotAProgram{"case " + scenario_case.name + ": programs begin with a context"};
  }
  Program program;
  for (const scenario::Call& call : scenario_case.calls) {
    Converter converter;
    std::visit(converter, call.operation);
    Op op = converter.op();
    Op said = op;
    normalize(op);
    if (said.size.count == 0) {
      said.size.unit = op.size.unit;  // zero of any unit
    }
    if (!converter.fault().empty() || !(op == said)) {
      return NotAProgram{"case " + scenario_case.name + ": programs cannot say `" +
                         scenario::to_string(call.operation) + "`"};
    }
    program.ops.push_back(op);
  }
  program.drain = program.ops.size();
  return program;
}

}  // namespace tessera::testing
