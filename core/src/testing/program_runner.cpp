#include "tessera/testing/program_runner.h"

#include <algorithm>
#include <bit>

#include <unistd.h>

namespace tessera::testing {
namespace {

constexpr std::uint64_t no_descriptor = ~std::uint64_t{0};
constexpr std::uint64_t launch_unit_ns = 10'000;

Outcome outcome_of(const Status& status) noexcept {
  return status ? Outcome() : Outcome{.code = status.error().code};
}

template <class T>
std::uint64_t number(const T& value) noexcept {
  if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
    return static_cast<std::uint64_t>(value);
  } else if constexpr (std::is_pointer_v<T>) {
    return std::bit_cast<std::uintptr_t>(value);
  } else {
    return value.value();
  }
}

template <class T>
Outcome outcome_of(const Result<T>& result) noexcept {
  return result ? Outcome{.value = number(*result)} : Outcome{.code = result.error().code};
}

}  // namespace

std::uint64_t hash_of(const std::byte* bytes, std::size_t size) noexcept {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  for (std::size_t i = 0; i < size; ++i) {
    hash = (hash ^ std::to_integer<std::uint64_t>(bytes[i])) * 0x0000'0100'0000'01b3;
  }
  return hash;
}

Outcome outcome_of(const AllocationProperties& properties) noexcept {
  const auto id = static_cast<std::uint32_t>(properties.location.id);
  return {.value = number(properties.location.type) << 32U | id,
          .second = number(properties.type) << 48U | number(properties.compression) << 40U |
                    number(properties.gpu_direct_rdma_capable) << 36U |
                    number(properties.requested_handle_types) << 16U | properties.usage};
}

AllocationProperties properties_of(const Op& op) noexcept {
  const unsigned bits = op.other == no_slot ? 0U : op.other;
  AllocationProperties properties;
  properties.type =
      (bits & create_managed_type) != 0 ? AllocationType::managed : AllocationType::pinned;
  properties.requested_handle_types = static_cast<HandleTypes>(op.value);
  properties.location = {.type = static_cast<LocationType>(op.choice), .id = op.device};
  properties.compression =
      (bits & create_compressed) != 0 ? Compression::generic : Compression::none;
  properties.gpu_direct_rdma_capable = (bits & create_rdma) != 0 ? 1 : 0;
  properties.usage = (bits & create_tile_pool) != 0 ? 1 : 0;
  return properties;
}

std::uint64_t duration_of(const Arguments& arguments) noexcept {
  return arguments.extra * launch_unit_ns;
}

ProgramRunner::~ProgramRunner() { close_descriptors(); }

void ProgramRunner::close_descriptors() noexcept {
  for (const int descriptor : descriptors_) {
    ::close(descriptor);
  }
  descriptors_.clear();
  slots_[static_cast<std::size_t>(SlotKind::descriptor)].fill(no_descriptor);
}

Status ProgramRunner::begin() {
  TESSERA_TRY(driver_.init(0));
  slots_ = {};
  host_memory_.clear();
  primaries_ = {};
  close_descriptors();
  const Outcome retained = retain_primary(Op{.kind = OpKind::ctx_retain});
  return retained.is_ok() ? Status() : Status(Error{.code = retained.code});
}

void ProgramRunner::forget() {
  slots_ = {};
  host_memory_.clear();
  std::fill(primaries_.begin() + 1, primaries_.end(), 0);
  close_descriptors();
}

std::uint64_t ProgramRunner::value_of(SlotKind kind, std::uint8_t slot) const noexcept {
  return kind == SlotKind::none || slot >= slots_max ? 0
                                                     : slots_[static_cast<std::size_t>(kind)][slot];
}

std::uint64_t ProgramRunner::primary(std::int8_t device) const noexcept {
  return device < 0 || static_cast<std::size_t>(device) >= devices_max
             ? 0
             : primaries_[static_cast<std::size_t>(device)];
}

std::uint64_t ProgramRunner::value_of(const Place& place) const noexcept {
  return value_of(place.base, place.slot) +
         static_cast<std::uint64_t>(std::int64_t{place.granules}) * granule_.value() +
         static_cast<std::uint64_t>(std::int64_t{place.bytes});
}

std::uint64_t ProgramRunner::value_of(const Size& size) const noexcept {
  std::uint64_t unit = 1;
  switch (size.unit) {
    case SizeUnit::bytes:
      break;
    case SizeUnit::kibibytes:
      unit = std::uint64_t{1} << 10U;
      break;
    case SizeUnit::granules:
      unit = granule_.value();
      break;
    case SizeUnit::tebibytes:
      unit = std::uint64_t{1} << 40U;
      break;
  }
  return static_cast<std::uint64_t>(std::int64_t{size.count}) * unit +
         static_cast<std::uint64_t>(std::int64_t{size.bytes});
}

Arguments ProgramRunner::evaluate(const Op& op) const noexcept {
  const unsigned used = operands_of(op.kind);
  Arguments arguments;
  if ((used & uses_place) != 0) {
    arguments.address = value_of(op.place);
  }
  if ((used & uses_source) != 0) {
    arguments.source = value_of(op.source);
  }
  if ((used & uses_size) != 0) {
    arguments.size = value_of(op.size);
  }
  if ((used & uses_extra) != 0) {
    arguments.extra = value_of(op.extra);
  }
  if ((used & uses_object) != 0) {
    const SlotKind kind = object_of(op.kind);
    const bool is_primary = op.object == no_slot && kind == SlotKind::context;
    arguments.object = is_primary ? primary(op.device) : value_of(kind, op.object);
  }
  if ((used & uses_other) != 0) {
    arguments.other = value_of(other_of(op.kind), op.other);
  }
  if (op.kind == OpKind::free) {
    arguments.other = is_host_memory(arguments.address) ? 1 : 0;
  }
  return arguments;
}

bool ProgramRunner::is_host_memory(std::uint64_t address) const noexcept {
  return std::find(host_memory_.begin(), host_memory_.end(), address) != host_memory_.end();
}

void ProgramRunner::keep(const Op& op, const Outcome& outcome) {
  const SlotKind kind = result_of(op.kind);
  if (kind == SlotKind::none) {
    return;
  }
  const std::uint64_t missing = kind == SlotKind::descriptor ? no_descriptor : 0;
  slots_[static_cast<std::size_t>(kind)][op.result] = outcome.is_ok() ? outcome.value : missing;
  if (op.kind == OpKind::host_alloc && outcome.is_ok()) {
    host_memory_.push_back(outcome.value);
  }
}

Outcome ProgramRunner::run(const Op& op) {
  const Outcome outcome = run(op, evaluate(op));
  keep(op, outcome);
  return outcome;
}

Outcome ProgramRunner::run(const Op& op, const Arguments& arguments) {
  arguments_ = arguments;
  if (op.kind <= OpKind::limit_get) {
    return run_context(op);
  }
  if (op.kind <= OpKind::close_fd) {
    return run_memory(op);
  }
  if (op.kind <= OpKind::get_access) {
    return run_mapping(op);
  }
  if (op.kind <= OpKind::free_async) {
    return run_allocation(op);
  }
  if (op.kind <= OpKind::attribute) {
    return run_query(op);
  }
  if (op.kind <= OpKind::memset) {
    return run_data(op);
  }
  return op.kind <= OpKind::launch ? run_order(op) : run_multicast(op);
}

Outcome ProgramRunner::retain_primary(const Op& op) {
  const auto context = driver_.device_primary_ctx_retain(DeviceOrdinal(op.device));
  if (!context) {
    return {.code = context.error().code};
  }
  if (op.device >= 0 && static_cast<std::size_t>(op.device) < devices_max) {
    primaries_[static_cast<std::size_t>(op.device)] = context->value();
  }
  Outcome outcome = outcome_of(driver_.ctx_set_current(*context));
  outcome.value = context->value();
  return outcome;
}

Outcome ProgramRunner::run_context(const Op& op) {
  const DeviceOrdinal device(op.device);
  const ContextHandle context(arguments_.object);
  switch (op.kind) {
    case OpKind::ctx_retain:
      return retain_primary(op);
    case OpKind::ctx_release:
      return outcome_of(driver_.device_primary_ctx_release(device));
    case OpKind::ctx_reset:
      return outcome_of(driver_.device_primary_ctx_reset(device));
    case OpKind::ctx_create:
      return outcome_of(driver_.ctx_create({.device = device}));
    case OpKind::ctx_destroy:
      return outcome_of(driver_.ctx_destroy(context));
    case OpKind::ctx_set:
      return outcome_of(driver_.ctx_set_current(context));
    case OpKind::ctx_none:
      return outcome_of(driver_.ctx_set_current(ContextHandle()));
    case OpKind::peer_can:
      return outcome_of(
          driver_.device_can_access_peer({.device = device, .peer = DeviceOrdinal(op.other)}));
    case OpKind::peer_enable:
      return outcome_of(
          driver_.ctx_enable_peer_access({.peer = ContextHandle(primary(op.device))}));
    case OpKind::limit_set:
      return outcome_of(driver_.ctx_set_limit(
          {.limit = static_cast<ContextLimit>(op.choice), .value = Bytes(arguments_.extra)}));
    case OpKind::limit_get:
      return outcome_of(driver_.ctx_get_limit(static_cast<ContextLimit>(op.choice)));
    default:
      return outcome_of(driver_.ctx_synchronize());
  }
}

Outcome ProgramRunner::close_descriptor(const Op& op) {
  const auto found = std::find(descriptors_.begin(), descriptors_.end(),
                               static_cast<int>(static_cast<std::int64_t>(arguments_.object)));
  if (found == descriptors_.end()) {
    return {};
  }
  ::close(*found);
  descriptors_.erase(found);
  // Its number may soon be another's.
  if (op.object < slots_max) {
    slots_[static_cast<std::size_t>(SlotKind::descriptor)][op.object] = no_descriptor;
  }
  return {.value = 1};
}

Outcome ProgramRunner::run_memory(const Op& op) {
  const AllocationHandle handle(arguments_.object);
  switch (op.kind) {
    case OpKind::granularity:
      return outcome_of(driver_.mem_get_allocation_granularity(
          {.properties = {.location = on_device(DeviceOrdinal(op.device))},
           .option = static_cast<GranularityOption>(op.choice)}));
    case OpKind::reserve:
      return outcome_of(driver_.mem_address_reserve({.size = Bytes(arguments_.size),
                                                     .alignment = Bytes(arguments_.extra),
                                                     .hint = DeviceAddress(arguments_.address),
                                                     .flags = op.flags}));
    case OpKind::address_free:
      return outcome_of(driver_.mem_address_free(
          {.address = DeviceAddress(arguments_.address), .size = Bytes(arguments_.size)}));
    case OpKind::create:
      return outcome_of(driver_.mem_create(
          {.size = Bytes(arguments_.size), .properties = properties_of(op), .flags = op.flags}));
    case OpKind::release:
      return outcome_of(driver_.mem_release(handle));
    case OpKind::properties: {
      const auto properties = driver_.mem_get_allocation_properties_from_handle({.handle = handle});
      return properties ? testing::outcome_of(*properties)
                        : Outcome{.code = properties.error().code};
    }
    case OpKind::retain:
      return outcome_of(driver_.mem_retain_allocation_handle(DeviceAddress(arguments_.address)));
    case OpKind::export_fd: {
      const auto exported = driver_.mem_export_to_shareable_handle(
          {.handle = handle, .type = static_cast<HandleTypes>(op.value), .flags = op.flags});
      if (!exported) {
        return {.code = exported.error().code};
      }
      descriptors_.push_back(exported->file_descriptor);
      return {.value = static_cast<std::uint64_t>(exported->file_descriptor)};
    }
    case OpKind::import_fd:
      return outcome_of(driver_.mem_import_from_shareable_handle(
          {.file_descriptor = static_cast<int>(static_cast<std::int64_t>(arguments_.object))}));
    default:
      return close_descriptor(op);
  }
}

Outcome ProgramRunner::set_access(const Op& op) {
  std::array<AccessDescriptor, 2> descriptors = {};
  descriptors[0] = {.location = {.type = static_cast<LocationType>(op.choice), .id = op.device},
                    .flags = static_cast<AccessFlags>(op.value)};
  std::size_t count = 1;
  if (op.other != no_slot) {
    descriptors[1] = {.location = on_device(DeviceOrdinal(op.other >> 4U)),
                      .flags = static_cast<AccessFlags>(op.other & 0x0fU)};
    count = 2;
  }
  return outcome_of(driver_.mem_set_access({.address = DeviceAddress(arguments_.address),
                                            .size = Bytes(arguments_.size),
                                            .descriptors = std::span(descriptors).first(count)}));
}

Outcome ProgramRunner::run_mapping(const Op& op) {
  const DeviceAddress address(arguments_.address);
  const Bytes size(arguments_.size);
  switch (op.kind) {
    case OpKind::map:
      return outcome_of(driver_.mem_map({.address = address,
                                         .size = size,
                                         .offset = Bytes(arguments_.extra),
                                         .handle = AllocationHandle(arguments_.object),
                                         .flags = op.flags}));
    case OpKind::unmap:
      return outcome_of(driver_.mem_unmap({.address = address, .size = size}));
    case OpKind::set_access:
      return set_access(op);
    default:
      return outcome_of(driver_.mem_get_access(
          {.address = address,
           .location = {.type = static_cast<LocationType>(op.choice), .id = op.device}}));
  }
}

Outcome ProgramRunner::free_memory() {
  const auto address = static_cast<std::uintptr_t>(arguments_.address);
  if (arguments_.other == 0) {
    return outcome_of(driver_.mem_free(DeviceAddress(address)));
  }
  const Outcome outcome = outcome_of(driver_.mem_free_host(std::bit_cast<std::byte*>(address)));
  if (const auto found = std::find(host_memory_.begin(), host_memory_.end(), address);
      outcome.is_ok() && found != host_memory_.end()) {
    host_memory_.erase(found);
  }
  return outcome;
}

Outcome ProgramRunner::run_allocation(const Op& op) {
  const Bytes size(arguments_.size);
  const StreamHandle stream(arguments_.other);
  switch (op.kind) {
    case OpKind::alloc:
      return outcome_of(driver_.mem_alloc(size));
    case OpKind::alloc_pitch: {
      const auto allocated = driver_.mem_alloc_pitch(
          {.width = size, .height = arguments_.extra, .element_size = op.value});
      return allocated
                 ? Outcome{.value = allocated->address.value(), .second = allocated->pitch.value()}
                 : Outcome{.code = allocated.error().code};
    }
    case OpKind::alloc_managed:
      return outcome_of(driver_.mem_alloc_managed({.size = size}));
    case OpKind::alloc_async:
      return outcome_of(driver_.mem_alloc_async({.size = size, .stream = stream}));
    case OpKind::host_alloc:
      return outcome_of(driver_.mem_host_alloc({.size = size}));
    case OpKind::free:
      return free_memory();
    default:
      return outcome_of(
          driver_.mem_free_async({.address = DeviceAddress(arguments_.address), .stream = stream}));
  }
}

Outcome ProgramRunner::run_query(const Op& op) {
  const DeviceAddress address(arguments_.address);
  switch (op.kind) {
    case OpKind::mem_info: {
      const auto info = driver_.mem_get_info();
      return info ? Outcome{.value = info->free.value(), .second = info->total.value()}
                  : Outcome{.code = info.error().code};
    }
    case OpKind::address_range: {
      const auto range = driver_.mem_get_address_range(address);
      return range ? Outcome{.value = range->begin().value(), .second = range->size().value()}
                   : Outcome{.code = range.error().code};
    }
    default:
      return outcome_of(driver_.pointer_get_attribute(
          {.attribute = static_cast<PointerAttribute>(op.choice), .address = address}));
  }
}

Outcome ProgramRunner::run_data(const Op& op) {
  const DeviceAddress address(arguments_.address);
  const Bytes size(arguments_.size);
  const std::span<std::byte> bytes =
      std::span(buffer_).first(std::min<std::size_t>(arguments_.size, buffer_.size()));
  switch (op.kind) {
    case OpKind::htod:
      std::fill(bytes.begin(), bytes.end(), std::byte{op.value});
      return outcome_of(driver_.memcpy_htod({.destination = address, .source = bytes}));
    case OpKind::expect: {
      std::fill(bytes.begin(), bytes.end(), ~std::byte{op.value});
      const Outcome outcome =
          outcome_of(driver_.memcpy_dtoh({.destination = bytes, .source = address}));
      const bool match = std::all_of(bytes.begin(), bytes.end(),
                                     [&](std::byte byte) { return byte == std::byte{op.value}; });
      return outcome.is_ok()
                 ? Outcome{.value = match ? 1U : 0U, .second = hash_of(bytes.data(), bytes.size())}
                 : outcome;
    }
    case OpKind::dtod: {
      const MemcpyDtodRequest copy = {
          .destination = address, .source = DeviceAddress(arguments_.source), .size = size};
      if (op.flags != 0) {
        return outcome_of(
            driver_.memcpy_dtod_async({.copy = copy, .stream = StreamHandle(arguments_.other)}));
      }
      const Status status = driver_.memcpy_dtod(copy);
      return outcome_of(status ? driver_.ctx_synchronize() : status);
    }
    default: {
      const MemsetD8Request set = {.destination = address, .value = op.value, .size = size};
      if (op.flags != 0) {
        return outcome_of(
            driver_.memset_d8_async({.set = set, .stream = StreamHandle(arguments_.other)}));
      }
      const Status status = driver_.memset_d8(set);
      return outcome_of(status ? driver_.ctx_synchronize() : status);
    }
  }
}

Outcome ProgramRunner::run_order(const Op& op) {
  const StreamHandle stream(op.kind == OpKind::event_record || op.kind == OpKind::launch
                                ? arguments_.other
                                : arguments_.object);
  const EventHandle event(op.kind == OpKind::stream_wait ? arguments_.other : arguments_.object);
  switch (op.kind) {
    case OpKind::stream_create:
      return outcome_of(driver_.stream_create(static_cast<StreamFlags>(op.choice)));
    case OpKind::stream_destroy:
      return outcome_of(driver_.stream_destroy(stream));
    case OpKind::stream_sync:
      return outcome_of(driver_.stream_synchronize(stream));
    case OpKind::stream_wait:
      return outcome_of(
          driver_.stream_wait_event({.stream = stream, .event = event, .flags = op.flags}));
    case OpKind::event_create:
      return outcome_of(driver_.event_create(static_cast<EventFlags>(op.choice)));
    case OpKind::event_record:
      return outcome_of(driver_.event_record({.event = event, .stream = stream}));
    case OpKind::event_query:
      return outcome_of(driver_.event_query(event));
    case OpKind::event_sync:
      return outcome_of(driver_.event_synchronize(event));
    case OpKind::event_destroy:
      return outcome_of(driver_.event_destroy(event));
    default:
      return outcome_of(driver_.launch_touch({.address = DeviceAddress(arguments_.address),
                                              .touch = static_cast<Touch>(op.choice),
                                              .value = op.value,
                                              .duration_ns = duration_of(arguments_),
                                              .stream = stream}));
  }
}

Outcome ProgramRunner::run_multicast(const Op& op) {
  const AllocationHandle object(arguments_.object);
  switch (op.kind) {
    case OpKind::mc_create:
      return outcome_of(driver_.multicast_create(
          {.device_count = static_cast<std::uint32_t>(op.device), .size = Bytes(arguments_.size)}));
    case OpKind::mc_add:
      return outcome_of(
          driver_.multicast_add_device({.multicast = object, .device = DeviceOrdinal(op.device)}));
    case OpKind::mc_bind:
      return outcome_of(driver_.multicast_bind_mem({.multicast = object,
                                                    .multicast_offset = Bytes(arguments_.extra),
                                                    .memory = AllocationHandle(arguments_.other),
                                                    .size = Bytes(arguments_.size)}));
    default:
      return outcome_of(driver_.multicast_unbind({.multicast = object,
                                                  .device = DeviceOrdinal(op.device),
                                                  .multicast_offset = Bytes(arguments_.extra),
                                                  .size = Bytes(arguments_.size)}));
  }
}

}  // namespace tessera::testing
