#include "layers/trace_recorder.h"
#include "scenario/perform.h"
#include "scenario/unless.h"

namespace tessera {

using scenario::alignment_of;
using scenario::Answer;
using scenario::answer_of;
using scenario::Pointer;
using scenario::Symbol;
using scenario::SymbolKind;
using scenario::unless;

namespace {

Pointer pointer_of(NullPointers set, NullPointers which) {
  return has_any(set, which) ? Pointer::null : Pointer::given;
}

scenario::Properties properties_of(const AllocationProperties& properties) {
  return {.type = unless(properties.type, AllocationType::pinned),
          .location = unless(properties.location.type, LocationType::device),
          .device = unless(properties.location.id, 0),
          .handle_types = unless(properties.requested_handle_types, HandleTypes::none),
          .gpu_direct_rdma = unless<std::uint8_t>(properties.gpu_direct_rdma_capable, 0),
          .compression = unless<std::uint8_t>(static_cast<std::uint8_t>(properties.compression), 0),
          .usage = unless<std::uint16_t>(properties.usage, 0)};
}

template <class Enum>
std::uint64_t number(Enum value) {
  return static_cast<std::uint64_t>(value);
}

}  // namespace

void TraceRecorder::record(Tag<Call::mem_get_allocation_granularity>,
                           const GranularityRequest& request, const Result<Bytes>& result) {
  add(scenario::Granularity{.properties = properties_of(request.properties),
                            .option = unless(request.option, GranularityOption::minimum),
                            .properties_pointer =
                                pointer_of(request.null_pointers, NullPointers::properties),
                            .out = pointer_of(request.null_pointers, NullPointers::output)},
      result ? Answer().add("g", result->value()) : Answer(result.error()));
}

void TraceRecorder::record(Tag<Call::mem_address_reserve>, const ReserveRequest& request,
                           const Result<DeviceAddress>& result) {
  scenario::Reserve operation{.result = names_.next(SymbolKind::reservation),
                              .size = names_.size(request.size),
                              .flags = unless<std::uint64_t>(request.flags, 0),
                              .out = pointer_of(request.null_pointers, NullPointers::output)};
  if (!request.alignment.is_zero()) {
    operation.alignment = names_.size(request.alignment);
  }
  if (!request.hint.is_null()) {
    operation.hint = names_.address(request.hint);
  }
  Answer answer = answer_of(result);
  if (result) {
    answer.add("aligned", alignment_of(result->value(), request.alignment.is_zero()
                                                            ? scenario::shown_alignment_max
                                                            : std::uint64_t{1} << 63U));
    if (!request.hint.is_null()) {
      answer.add("at", *result == request.hint ? std::string_view("hint") : "other");
    }
    names_.name_range(*result, request.size, operation.result);
  }
  add(std::move(operation), std::move(answer));
}

void TraceRecorder::record(Tag<Call::mem_address_free>, const AddressFreeRequest& request,
                           const Status& status) {
  add(scenario::AddressFree{.address = names_.address(request.address),
                            .size = names_.size(request.size)},
      answer_of(status));
}

void TraceRecorder::record(Tag<Call::mem_create>, const CreateRequest& request,
                           const Result<AllocationHandle>& result) {
  const AllocationProperties& properties = request.properties;
  if (properties.reserved[1] != 0 || properties.reserved[2] != 0 || properties.reserved[3] != 0) {
    comment(Call::mem_create, describe(request), result ? nullptr : &result.error());
    return;
  }
  const bool has_metadata = properties.win32_handle_metadata != nullptr;
  const Symbol symbol = names_.next(SymbolKind::handle);
  add(scenario::Create{.result = symbol,
                       .size = names_.size(request.size),
                       .properties = properties_of(properties),
                       .reserved = unless<std::uint8_t>(properties.reserved[0], 0),
                       .win32_metadata = unless<std::uint8_t>(has_metadata ? 1 : 0, 0),
                       .flags = unless<std::uint64_t>(request.flags, 0),
                       .properties_pointer =
                           pointer_of(request.null_pointers, NullPointers::properties),
                       .out = pointer_of(request.null_pointers, NullPointers::output)},
      answer_of(result));
  if (result) {
    names_.name_created(*result, symbol);
    if (properties.location.type != LocationType::device) {
      written_by_others();
    }
  }
}

void TraceRecorder::record(Tag<Call::mem_release>, const AllocationHandle& handle,
                           const Status& status) {
  add(scenario::Release{.handle = names_.handle(handle)}, answer_of(status));
  if (status) {
    names_.release(handle);
  }
}

void TraceRecorder::record(Tag<Call::mem_get_allocation_properties_from_handle>,
                           const PropertiesRequest& request,
                           const Result<AllocationProperties>& result) {
  Answer answer = answer_of(result);
  if (result) {
    answer.add("type", number(result->type))
        .add("loc", number(result->location.type))
        .add_signed("id", result->location.id)
        .add("handle_types", number(result->requested_handle_types))
        .add("comp", number(result->compression))
        .add("rdma", result->gpu_direct_rdma_capable)
        .add("usage", result->usage);
  }
  add(scenario::Props{.handle = names_.handle(request.handle),
                      .out = pointer_of(request.null_pointers, NullPointers::output)},
      std::move(answer));
}

void TraceRecorder::record(Tag<Call::mem_retain_allocation_handle>, const DeviceAddress& address,
                           const Result<AllocationHandle>& result) {
  const Symbol symbol = names_.next(SymbolKind::handle);
  Answer answer = answer_of(result);
  if (result) {
    const auto first = names_.name_retained(*result, symbol);
    answer.add("same", first ? to_string(*first) : "none");
  }
  add(scenario::Retain{.result = symbol, .address = names_.address(address)}, std::move(answer));
}

void TraceRecorder::record(Tag<Call::mem_export_to_shareable_handle>, const ExportRequest& request,
                           const Result<ShareableHandle>& result) {
  if (result && result->type == HandleTypes::posix_file_descriptor) {
    descriptor_closed(result->file_descriptor);  // or its number would not have come again
  }
  const Symbol symbol = names_.next(SymbolKind::descriptor);
  add(scenario::Export{.result = symbol,
                       .handle = names_.handle(request.handle),
                       .type = unless(request.type, HandleTypes::posix_file_descriptor),
                       .flags = unless<std::uint64_t>(request.flags, 0),
                       .out = pointer_of(request.null_pointers, NullPointers::output)},
      answer_of(result));
  if (result && result->type != HandleTypes::fabric) {
    names_.name_exported(*result, symbol);
    written_by_others();
  }
}

void TraceRecorder::record(Tag<Call::mem_import_from_shareable_handle>,
                           const ShareableHandle& request, const Result<AllocationHandle>& result) {
  if (request.type == HandleTypes::fabric) {
    comment(Call::mem_import_from_shareable_handle, describe(request),
            result ? nullptr : &result.error());
    return;
  }
  const Symbol symbol = names_.next(SymbolKind::handle);
  Answer answer = answer_of(result);
  if (result) {
    const auto first = names_.name_imported(*result, symbol);
    answer.add("same", first ? to_string(*first) : "none");
    written_by_others();
  }
  add(scenario::Import{.result = symbol,
                       .descriptor = names_.shareable(request),
                       .type = unless(request.type, HandleTypes::posix_file_descriptor)},
      std::move(answer));
}

void TraceRecorder::record(Tag<Call::mem_map>, const MapRequest& request, const Status& status) {
  scenario::Map operation{.address = names_.address(request.address),
                          .size = names_.size(request.size),
                          .handle = names_.handle(request.handle),
                          .flags = unless<std::uint64_t>(request.flags, 0)};
  if (!request.offset.is_zero()) {
    operation.offset = names_.size(request.offset);
  }
  add(std::move(operation), answer_of(status));
}

void TraceRecorder::record(Tag<Call::mem_unmap>, const UnmapRequest& request,
                           const Status& status) {
  add(scenario::Unmap{.address = names_.address(request.address),
                      .size = names_.size(request.size)},
      answer_of(status));
}

void TraceRecorder::record(Tag<Call::mem_set_access>, const SetAccessRequest& request,
                           const Status& status) {
  scenario::SetAccess operation{.address = names_.address(request.address),
                                .size = names_.size(request.size)};
  if (request.descriptors.empty()) {
    operation.count = 0;
  } else if (request.descriptors.size() == 1) {
    const AccessDescriptor& only = request.descriptors.front();
    operation.location = unless(only.location.type, LocationType::device);
    operation.device = unless(only.location.id, 0);
    operation.protection = unless(only.flags, AccessFlags::read_write);
  } else {
    operation.descriptors.assign(request.descriptors.begin(), request.descriptors.end());
  }
  add(std::move(operation), answer_of(status));
}

void TraceRecorder::record(Tag<Call::mem_get_access>, const GetAccessRequest& request,
                           const Result<AccessFlags>& result) {
  add(scenario::GetAccess{.address = names_.address(request.address),
                          .location = unless(request.location.type, LocationType::device),
                          .device = unless(request.location.id, 0),
                          .out = pointer_of(request.null_pointers, NullPointers::output),
                          .location_pointer =
                              pointer_of(request.null_pointers, NullPointers::properties)},
      result ? Answer().add("flags", number(*result)) : Answer(result.error()));
}

}  // namespace tessera
