#include "layers/records.h"

namespace tessera::layers {
namespace {

DeviceAddress address_of(const std::byte* memory) noexcept {
  return DeviceAddress(reinterpret_cast<std::uintptr_t>(memory));
}

void add_allocation(LiveObjects& objects, DeviceAddress address, Bytes size, OtherMemory kind,
                    const MadeBy& made, StreamHandle stream = {}) {
  if (address.is_null()) {
    return;
  }
  const ContextHandle context = objects.context_of(stream).value_or(ContextHandle());
  const LiveContext* found = objects.context(context);
  const bool is_on_device = kind == OtherMemory::device || kind == OtherMemory::pool;
  objects.add_allocation(
      {.range = AddressRange(address, size),
       .kind = kind,
       // A pool's memory is of no context: it outlives them all.
       .context = kind == OtherMemory::pool ? ContextHandle() : context,
       .device = is_on_device && found != nullptr ? std::optional(found->device) : std::nullopt,
       .made = made});
}

}  // namespace

// --- Contexts ---

TESSERA_RECORD(device_primary_ctx_retain) {
  if (answer) {
    objects.add_context(*answer, request, true, made);
  }
}
TESSERA_RECORD(device_primary_ctx_release) {
  if (answer) {
    objects.release_primary(request, made);
  }
}
TESSERA_RECORD(device_primary_ctx_reset) {
  if (answer) {
    objects.reset_primary(request, made);
  }
}
TESSERA_RECORD(ctx_create) {
  if (answer) {
    objects.add_context(*answer, request.device, false, made);
    objects.push_context(*answer);
  }
}
TESSERA_RECORD(ctx_destroy) {
  if (answer) {
    objects.remove_context(request, made);
  }
}
TESSERA_RECORD(ctx_set_current) {
  static_cast<void>(made);
  if (answer) {
    objects.set_current(request);
  }
}

TESSERA_RECORD(ctx_get_current) {
  static_cast<void>(made);
  static_cast<void>(request);
  if (answer) {
    objects.see_context(*answer);
  }
}

// --- Addresses and memory ---

TESSERA_RECORD(mem_address_reserve) {
  if (answer) {
    const bool is_moved = !request.hint.is_null() && request.hint != *answer;
    objects.add_reservation(AddressRange(*answer, request.size),
                            is_moved ? request.hint : DeviceAddress(), made);
  }
}
TESSERA_RECORD(mem_address_free) {
  if (answer) {
    objects.remove_reservation(request.address, made);
  }
}
TESSERA_RECORD(mem_create) {
  if (answer) {
    objects.add_memory(*answer, request.size, request.properties, made);
  }
}
TESSERA_RECORD(mem_release) {
  if (answer) {
    objects.remove_reference(request, made);
  }
}
TESSERA_RECORD(mem_retain_allocation_handle) {
  if (answer) {
    objects.add_retained(*answer, request, made);
  }
}
TESSERA_RECORD(mem_export_to_shareable_handle) {
  if (answer && answer->type == HandleTypes::posix_file_descriptor) {
    objects.add_descriptor(answer->file_descriptor, request.handle, made);
  } else if (answer && answer->type == HandleTypes::fabric) {
    objects.add_fabric_export(request.handle);
  }
}
TESSERA_RECORD(mem_import_from_shareable_handle) {
  if (answer) {
    const bool is_descriptor = request.type == HandleTypes::posix_file_descriptor;
    objects.add_imported(*answer, is_descriptor ? request.file_descriptor : -1, made);
  }
}
TESSERA_RECORD(mem_get_handle_for_address_range) {
  if (answer) {
    objects.add_range_descriptor(*answer, request.size, made);
  }
}

// --- Mappings ---

TESSERA_RECORD(mem_map) {
  if (answer) {
    objects.add_mapping(AddressRange(request.address, request.size), request.handle, request.offset,
                        made);
  }
}
TESSERA_RECORD(mem_unmap) {
  if (const auto range = AddressRange::make(request.address, request.size); answer && range) {
    objects.remove_mappings(*range, made);
  }
}
TESSERA_RECORD(mem_set_access) {
  static_cast<void>(made);
  if (answer) {
    objects.set_access(request);
  } else if (answer.error().origin != Origin::injected) {
    objects.set_access_in_part(request, answer.error().code);
  }
}

// --- Other allocations ---

TESSERA_RECORD(mem_alloc) {
  if (answer) {
    add_allocation(objects, *answer, request, OtherMemory::device, made);
  }
}
TESSERA_RECORD(mem_alloc_pitch) {
  if (answer) {
    add_allocation(objects, answer->address, answer->pitch * request.height, OtherMemory::device,
                   made);
  }
}
TESSERA_RECORD(mem_alloc_managed) {
  if (answer) {
    add_allocation(objects, *answer, request.size, OtherMemory::managed, made);
  }
}
TESSERA_RECORD(mem_alloc_async) {
  if (answer) {
    add_allocation(objects, *answer, request.size, OtherMemory::pool, made, request.stream);
  }
}
TESSERA_RECORD(mem_host_alloc) {
  if (answer) {
    add_allocation(objects, address_of(*answer), request.size, OtherMemory::host, made);
  }
}
TESSERA_RECORD(mem_free_async) {
  if (answer) {
    static_cast<void>(objects.remove_allocation(request.address, made));
  }
}

std::optional<LiveAllocation> take_out(Call call, LiveObjects& objects, const MadeBy& ended,
                                       DeviceAddress address) {
  const LiveAllocation* found = objects.allocation_at(address);
  const bool is_host = call == Call::mem_free_host;
  if (found == nullptr || (found->kind == OtherMemory::host) != is_host) {
    return std::nullopt;
  }
  return objects.remove_allocation(address, ended);
}

// --- Order ---

TESSERA_RECORD(stream_create) {
  if (answer) {
    objects.add_stream(*answer, {.context = objects.current_context().value_or(ContextHandle()),
                                 .flags = static_cast<std::uint32_t>(request),
                                 .made = made});
  }
}
TESSERA_RECORD(stream_destroy) {
  if (answer) {
    objects.remove_stream(request, made);
  }
}
TESSERA_RECORD(event_create) {
  if (answer) {
    objects.add_event(*answer, {.context = objects.current_context().value_or(ContextHandle()),
                                .flags = static_cast<std::uint32_t>(request),
                                .made = made});
  }
}
TESSERA_RECORD(event_destroy) {
  if (answer) {
    objects.remove_event(request, made);
  }
}

// --- Multicast ---

TESSERA_RECORD(multicast_create) {
  if (answer) {
    objects.add_multicast(*answer, request, made);
  }
}
TESSERA_RECORD(multicast_add_device) {
  static_cast<void>(made);
  if (answer) {
    objects.add_multicast_device(request.multicast, request.device);
  }
}
TESSERA_RECORD(multicast_bind_mem) {
  const LiveHandle* memory = objects.handle(request.memory);
  if (answer && memory != nullptr) {
    objects.add_binding(request.multicast, memory->memory, request.multicast_offset, request.size,
                        made);
  }
}
TESSERA_RECORD(multicast_bind_addr) {
  const LiveMapping* mapping = objects.mapping_at(request.address);
  if (answer && mapping != nullptr) {
    objects.add_binding(request.multicast, mapping->memory, request.multicast_offset, request.size,
                        made);
  }
}
TESSERA_RECORD(multicast_unbind) {
  static_cast<void>(made);
  if (answer) {
    objects.remove_binding(request);
  }
}

}  // namespace tessera::layers
