#include <atomic>
#include <memory>
#include <utility>

#include <unistd.h>

#include "exported_memory.h"
#include "machine.h"

namespace tessera::sim {
namespace {

constexpr std::uint32_t known_handle_types = 1U | 2U | 4U | 8U;

std::uint32_t bits(HandleTypes types) noexcept { return static_cast<std::uint32_t>(types); }

// The same for all exports of a memory, and no other memory of any process on this host.
std::uint64_t new_memory_id() {
  static std::atomic<std::uint32_t> next = 1;
  return static_cast<std::uint64_t>(::getpid()) << 32U | next.fetch_add(1);
}

// What the driver reports of what was asked for: known handle types, no usage, no compression of
// memory for RDMA [h200]; the host is a node.
AllocationProperties reported(const AllocationProperties& asked) {
  AllocationProperties properties = asked;
  properties.requested_handle_types =
      static_cast<HandleTypes>(bits(asked.requested_handle_types) & known_handle_types);
  properties.usage = 0;
  if (properties.gpu_direct_rdma_capable != 0) {
    properties.compression = Compression::none;
  }
  if (properties.location.type == LocationType::host) {
    properties.location = {.type = LocationType::host_numa, .id = 0};
  }
  return properties;
}

bool is_tile_pool(const CreateRequest& request) noexcept {
  return (request.properties.usage & usage_tile_pool) != 0;
}

// Where memory is short, a tile pool is refused as if it were asked for wrongly, unless it is more
// than any machine has [h200: 16 TiB and 32 TiB].
Error shortage(const CreateRequest& request, Error error) noexcept {
  constexpr Bytes more_than_any = 32_TiB;
  const bool is_on_device = request.properties.location.type == LocationType::device;
  if (is_tile_pool(request) && is_on_device && request.size < more_than_any) {
    error.code = ErrorCode::invalid_value;
  }
  return error;
}

}  // namespace

Status Machine::check_properties(const AllocationProperties& properties) const {
  const Location location = properties.location;
  const bool is_on_device = location.type == LocationType::device;
  if (is_on_device) {
    TESSERA_TRY(check_device(DeviceOrdinal(location.id)));
  }
  if (properties.reserved != AllocationProperties().reserved) {
    return invalid(Reason::reserved_not_zero);
  }
  const std::uint32_t types = bits(properties.requested_handle_types);
  const std::uint32_t exportable = bits(profile_.export_types);
  const std::uint32_t not_permitted = bits(profile_.not_permitted_types);
  const bool has_win32 =
      ((bits(HandleTypes::win32) | bits(HandleTypes::win32_kmt)) & exportable) != 0;
  if (properties.win32_handle_metadata != nullptr && !has_win32) {
    return invalid(Reason::win32_metadata_not_null);
  }
  if (properties.type != AllocationType::pinned) {
    return invalid(Reason::type_not_pinned, static_cast<std::uint64_t>(properties.type));
  }
  const auto compression = static_cast<std::uint8_t>(properties.compression);
  if (compression > 1 || (compression == 1 && !profile_.compression)) {
    return invalid(Reason::unknown_compression, compression, profile_.compression ? 1 : 0);
  }
  const std::uint32_t unsupported = types & known_handle_types & ~(exportable | not_permitted);
  const std::uint32_t unknown = types & ~known_handle_types;
  if (unsupported != 0 || (unknown != 0 && !profile_.quirks.ignores_unknown_handle_types)) {
    return invalid(Reason::handle_types_not_supported, types, exportable);
  }
  const bool is_on_host =
      location.type == LocationType::host || location.type == LocationType::host_numa;
  if (!is_on_device && !(is_on_host && profile_.host_locations)) {
    return invalid(Reason::location_not_supported, static_cast<std::uint64_t>(location.type));
  }
  if (location.type == LocationType::host && types != 0) {
    return invalid(Reason::host_not_exportable, types);
  }
  if (location.type == LocationType::host_numa &&
      (location.id < 0 || location.id >= profile_.host_numa_nodes)) {
    return invalid(Reason::no_such_numa_node, signed_value(location.id),
                   static_cast<std::uint64_t>(profile_.host_numa_nodes));
  }
  const bool is_rdma = properties.gpu_direct_rdma_capable != 0;
  if (is_on_host && (compression != 0 || is_rdma)) {
    return invalid(Reason::host_memory_is_plain, compression, is_rdma ? 1 : 0);
  }
  if ((properties.usage & usage_tile_pool) != 0 && (compression != 0 || is_rdma || types != 0)) {
    return invalid(Reason::tile_pool_is_plain, properties.usage);
  }
  if ((properties.usage & usage_hw_decompress) != 0 && compression != 0) {
    return invalid(Reason::decompress_is_plain, properties.usage);
  }
  return {};
}

// Whether there is as much at all.
Status Machine::check_room(Bytes size, Location location) const {
  const bool is_on_device = location.type == LocationType::device;
  const Bytes all =
      is_on_device ? profile_.memory_total + (profile_.pages_out ? profile_.host_memory : Bytes())
                   : profile_.host_memory;
  if (!all.is_zero() && size > all) {
    return refuse(ErrorCode::out_of_memory,
                  is_on_device ? Reason::out_of_device_memory : Reason::out_of_host_memory,
                  size.value(), all.value(), all.value());
  }
  return {};
}

Result<AllocationHandle> Machine::mem_create(const CreateRequest& request) {
  if (has_any(request.null_pointers, NullPointers::output | NullPointers::properties)) {
    return invalid(Reason::null_pointer);
  }
  if (request.flags != 0) {
    return invalid(Reason::flags_not_zero, request.flags);
  }
  TESSERA_TRY(check_size(request.size, profile_.granularity_minimum));
  TESSERA_TRY(check_properties(request.properties));
  if (const Status room = check_room(request.size, request.properties.location); !room) {
    return shortage(request, room.error());
  }
  spend_for(Call::mem_create, request.size / 1_MiB);
  const std::uint32_t not_permitted =
      bits(request.properties.requested_handle_types) & bits(profile_.not_permitted_types);
  Memory memory;
  memory.size = request.size;
  memory.properties = reported(request.properties);
  memory.hw_decompress = (request.properties.usage & usage_hw_decompress) != 0;
  const bool is_exportable = memory.properties.requested_handle_types != HandleTypes::none;
  if ((options_.bytes || is_exportable) && not_permitted == 0) {
    memory.backing = std::make_unique<Backing>(
        is_exportable ? Backing::Kind::shared : Backing::Kind::anonymous, request.size);
  }
  const auto index = store_.add_memory(std::move(memory));
  if (!index) {
    const Error error = out_of_memory(request.size, DeviceOrdinal(request.properties.location.id));
    return shortage(request, error);
  }
  if (not_permitted != 0) {
    // The driver takes the memory before it makes it exportable [h200].
    store_.free_if_unheld(*index);
    return refuse(ErrorCode::not_permitted, Reason::handle_types_not_permitted, not_permitted);
  }
  const SlabIndex handle = store_.add_memory_handle(*index, false, is_tile_pool(request));
  if (request.properties.gpu_direct_rdma_capable != 0 && profile_.quirks.rdma_needs_first_mapping) {
    store_.add_rdma_registration(handle);
  }
  return store_.value_of(handle);
}

Result<SlabIndex> Machine::need_handle(AllocationHandle handle) const {
  const auto index = store_.find(handle);
  if (!index) {
    return invalid(handle.is_null() ? Reason::null_handle : Reason::dead_handle, handle.value());
  }
  return *index;
}

Status Machine::mem_release(AllocationHandle handle) {
  TESSERA_TRY_ASSIGN(const SlabIndex index, need_handle(handle));
  const HandleEntry& entry = store_.entry(index);
  if (entry.references == 0) {
    return invalid(Reason::no_reference_left, handle.value(), entry.mappings);
  }
  if (entry.references == 1 && entry.mappings == 0) {
    spend_for(Call::mem_release, store_.size_of(index) / 1_MiB);
  }
  store_.remove_reference(index);
  return {};
}

Result<AllocationProperties> Machine::mem_get_allocation_properties_from_handle(
    const PropertiesRequest& request) {
  if (has_any(request.null_pointers, NullPointers::output)) {
    return invalid(Reason::null_pointer);
  }
  TESSERA_TRY_ASSIGN(const SlabIndex index, need_handle(request.handle));
  const HandleEntry& entry = store_.entry(index);
  if (entry.is_multicast) {
    return invalid(Reason::is_multicast, request.handle.value());
  }
  AllocationProperties properties = store_.memory(entry.object).properties;
  if (entry.is_imported && !profile_.quirks.reexport_imported) {
    properties.requested_handle_types = HandleTypes::none;
  }
  return properties;
}

Result<AllocationHandle> Machine::mem_retain_allocation_handle(DeviceAddress address) {
  const Mapping* mapping = space_.mapping_at(address);
  if (mapping == nullptr) {
    return invalid(Reason::not_mapped, address.value());
  }
  // A mapping may run past its reservation; out there the driver does not find it [h200].
  if (!space_.reservation_at(address)) {
    return invalid(Reason::not_reserved, address.value());
  }
  store_.add_reference(mapping->handle);
  return store_.value_of(mapping->handle);
}

Status Machine::check_export_type(HandleTypes type) const {
  const bool is_one = bits(type) != 0 && (bits(type) & (bits(type) - 1)) == 0;
  if (!is_one || !has_all(profile_.export_types, type)) {
    return invalid(Reason::handle_types_not_supported, bits(type), bits(profile_.export_types));
  }
  return {};
}

Result<ShareableHandle> Machine::mem_export_to_shareable_handle(const ExportRequest& request) {
  TESSERA_TRY_ASSIGN(const SlabIndex index, need_handle(request.handle));
  TESSERA_TRY(check_export_type(request.type));
  if (request.flags != 0) {
    return invalid(Reason::flags_not_zero, request.flags);
  }
  if (has_any(request.null_pointers, NullPointers::output)) {
    return invalid(Reason::null_pointer);
  }
  const HandleEntry entry = store_.entry(index);
  if (entry.is_multicast) {
    return refuse(ErrorCode::not_supported, Reason::is_multicast, request.handle.value());
  }
  if (entry.is_imported && !profile_.quirks.reexport_imported) {
    return invalid(Reason::imported_not_exportable, request.handle.value());
  }
  Memory& memory = store_.memory(entry.object);
  if (!has_all(memory.properties.requested_handle_types, request.type)) {
    return invalid(Reason::not_made_exportable, bits(request.type),
                   bits(memory.properties.requested_handle_types));
  }
  if (memory.id == 0) {
    store_.publish(entry.object, new_memory_id());
  }
  ShareableHandle exported = {.type = request.type};
  if (request.type == HandleTypes::posix_file_descriptor) {
    const std::uint32_t number = memory.exports_made;
    exported.file_descriptor = export_memory(
        *memory.backing,
        {.size = memory.size, .properties = memory.properties, .memory_id = memory.id}, number);
    if (exported.file_descriptor < 0) {
      return refuse(ErrorCode::operating_system, Reason::no_descriptor_left);
    }
    ++memory.exports_made;
    memory.exports_open.push_back(number);
    return exported;
  }
  // Windows: an NT handle keeps the memory until it is closed, a KMT handle does not.
  exported.win32 = next_win32_handle_;
  next_win32_handle_ += 4;
  const bool keeps = request.type == HandleTypes::win32;
  win32_handles_.emplace(exported.win32,
                         Win32Handle{.memory = memory.id, .keeps = keeps, .index = entry.object});
  if (keeps) {
    store_.add_windows_handle(entry.object);
  }
  return exported;
}

Result<SlabIndex> Machine::import_descriptor(int file_descriptor) {
  // 0 is refused differently from what is no such descriptor [h200].
  if (file_descriptor == 0) {
    return invalid(Reason::descriptor_is_zero);
  }
  auto imported = import_memory(file_descriptor);
  if (!imported) {
    return refuse(ErrorCode::unknown, Reason::not_an_exported_descriptor,
                  signed_value(file_descriptor));
  }
  const ExportedProperties& exported = imported->properties;
  if (const auto known = store_.find_memory(exported.memory_id)) {
    ::close(imported->file_descriptor);
    return *known;
  }
  Memory memory;
  memory.size = exported.size;
  memory.properties = exported.properties;
  memory.is_foreign = true;
  memory.backing =
      std::make_unique<Backing>(imported->file_descriptor, Backing::file_offset(), exported.size);
  const Location location = exported.properties.location;
  if (location.type == LocationType::device) {
    TESSERA_TRY(check_device(DeviceOrdinal(location.id)));
  }
  const auto index = store_.add_memory(std::move(memory));
  if (!index) {
    return out_of_memory(exported.size, DeviceOrdinal(location.id));
  }
  store_.publish(*index, exported.memory_id);
  return *index;
}

Result<AllocationHandle> Machine::mem_import_from_shareable_handle(const ShareableHandle& handle) {
  if (handle.type == HandleTypes::none) {
    return invalid(Reason::handle_types_not_supported, 0, bits(profile_.export_types));
  }
  if (!check_export_type(handle.type)) {
    return refuse(ErrorCode::not_supported, Reason::handle_types_not_supported, bits(handle.type),
                  bits(profile_.export_types));
  }
  if (handle.type == HandleTypes::posix_file_descriptor) {
    TESSERA_TRY_ASSIGN(const SlabIndex memory, import_descriptor(handle.file_descriptor));
    return store_.value_of(store_.add_memory_handle(memory, true, false));
  }
  const auto found = win32_handles_.find(handle.win32);
  const bool is_alive = found != win32_handles_.end() &&
                        store_.find_memory(found->second.memory) == found->second.index;
  if (!is_alive) {
    return invalid(Reason::not_a_win32_handle, handle.win32);
  }
  return store_.value_of(store_.add_memory_handle(found->second.index, true, false));
}

Status Machine::close_win32_handle(std::uint64_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = win32_handles_.find(handle);
  if (found == win32_handles_.end()) {
    return complete(refuse(ErrorCode::invalid_handle, Reason::not_a_win32_handle, handle),
                    Call::none);
  }
  const Win32Handle closed = found->second;
  win32_handles_.erase(found);
  if (closed.keeps) {
    store_.remove_windows_handle(closed.index);
  }
  return {};
}

}  // namespace tessera::sim
