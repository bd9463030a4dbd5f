#include <sys/mman.h>

#include "machine.h"

namespace tessera::sim {
namespace {

constexpr std::uint64_t memory_type_host = 1;
constexpr std::uint64_t memory_type_device = 2;
constexpr std::uint32_t dma_buf_handle = 1;

}  // namespace

Result<MemoryInfo> Machine::mem_get_info() {
  TESSERA_TRY_ASSIGN(const Context* context, need_context());
  store_.collect();
  return MemoryInfo{.free = memory_of(context->device).free(), .total = profile_.memory_total};
}

Result<AddressRange> Machine::mem_get_address_range(DeviceAddress address) {
  TESSERA_TRY_ASSIGN(const Context* context, need_context());
  const auto block = space_.block_at(address);
  const bool is_mapping = block && block->kind == BlockKind::mapping;
  const bool is_reachable =
      is_mapping && space_.mapping(block->index).access_of(context->device) != AccessFlags::none;
  if (is_reachable && is_on_host(space_.mapping(block->index))) {
    // Only the size is told of host memory [h200].
    return AddressRange(DeviceAddress(), block->range.size());
  }
  if (is_reachable || (block && block->kind == BlockKind::legacy)) {
    return block->range;
  }
  return refuse(ErrorCode::not_found, is_mapping ? Reason::no_access : Reason::not_mapped,
                address.value());
}

bool Machine::is_on_host(const Mapping& mapping) const {
  const HandleEntry& entry = store_.entry(mapping.handle);
  return !entry.is_multicast &&
         store_.memory(entry.object).properties.location.type == LocationType::host_numa;
}

Result<std::uint64_t> Machine::mapping_attribute(Mapping& mapping,
                                                 const PointerAttributeRequest& request) {
  const HandleEntry& entry = store_.entry(mapping.handle);
  const AllocationProperties properties =
      entry.is_multicast ? AllocationProperties() : store_.memory(entry.object).properties;
  const Context* context = contexts_.current();
  // What the current context's device may do: nothing, without one [h200].
  const AccessFlags flags =
      context != nullptr ? mapping.access_of(context->device) : AccessFlags::none;
  const auto reservation = space_.reservation_at(request.address);
  switch (request.attribute) {
    case PointerAttribute::context:
    case PointerAttribute::mempool_handle:
    case PointerAttribute::is_managed:
    case PointerAttribute::is_legacy_cuda_ipc_capable:
      return 0;
    case PointerAttribute::sync_memops:
      return mapping.sync_memops ? 1 : 0;
    case PointerAttribute::is_hw_decompress_capable:
      return !entry.is_multicast && store_.memory(entry.object).hw_decompress ? 1 : 0;
    case PointerAttribute::memory_type:
      return is_on_host(mapping) ? memory_type_host : memory_type_device;
    case PointerAttribute::device_pointer:
      if (flags == AccessFlags::none) {
        return invalid(Reason::no_access, request.address.value());
      }
      return request.address.value();
    case PointerAttribute::host_pointer:
      if (mapping.host == AccessFlags::none) {
        return invalid(Reason::no_access_for_host, request.address.value());
      }
      return request.address.value();
    case PointerAttribute::buffer_id:
    case PointerAttribute::memory_block_id:
      // Alike for all mappings of a handle, though not for an imported twin of it [h200]; a
      // mapping's buffer is its own.
      return request.attribute == PointerAttribute::buffer_id
                 ? mapping.range.begin().value() / profile_.granularity_minimum.value()
                 : entry.serial;
    case PointerAttribute::device_ordinal:
      return signed_value(properties.location.id);
    case PointerAttribute::range_start_addr:
      return reservation ? reservation->begin().value() : 0;
    case PointerAttribute::range_size:
      return reservation ? reservation->size().value() : 0;
    case PointerAttribute::mapped:
      return 1;
    case PointerAttribute::allowed_handle_types:
      return static_cast<std::uint64_t>(entry.is_imported ? HandleTypes::none
                                                          : properties.requested_handle_types);
    case PointerAttribute::is_gpu_direct_rdma_capable:
      return properties.gpu_direct_rdma_capable;
    case PointerAttribute::access_flags:
      return static_cast<std::uint64_t>(flags);
    case PointerAttribute::mapping_size:
      return mapping.range.size().value();
    case PointerAttribute::mapping_base_addr:
      return mapping.range.begin().value();
    case PointerAttribute::p2p_tokens:
      if (is_on_host(mapping)) {
        return invalid(Reason::attribute_not_supported,
                       static_cast<std::uint64_t>(request.attribute));
      }
      mapping.sync_memops = true;
      return 0;
  }
  return invalid(Reason::unknown_attribute, static_cast<std::uint64_t>(request.attribute));
}

Result<std::uint64_t> Machine::legacy_attribute(LegacyAllocation& allocation,
                                                const PointerAttributeRequest& request) {
  const bool is_on_host = allocation.kind == LegacyKind::host;
  switch (request.attribute) {
    case PointerAttribute::context:
      return allocation.context.value();
    case PointerAttribute::memory_type:
      return is_on_host ? memory_type_host : memory_type_device;
    case PointerAttribute::device_pointer:
      return request.address.value();
    case PointerAttribute::host_pointer:
      if (allocation.host_memory == nullptr) {
        return invalid(Reason::not_host_memory, request.address.value());
      }
      return request.address.value();
    case PointerAttribute::allowed_handle_types:
      return 0;
    case PointerAttribute::is_gpu_direct_rdma_capable:
      return allocation.kind == LegacyKind::device ? 1 : 0;
    case PointerAttribute::sync_memops:
      return allocation.sync_memops || allocation.kind == LegacyKind::managed ? 1 : 0;
    case PointerAttribute::buffer_id:
    case PointerAttribute::memory_block_id:
      return allocation.buffer_id;
    case PointerAttribute::is_managed:
      return allocation.kind == LegacyKind::managed ? 1 : 0;
    case PointerAttribute::device_ordinal:
      return signed_value(allocation.device.value());
    case PointerAttribute::is_legacy_cuda_ipc_capable:
    case PointerAttribute::is_hw_decompress_capable:
      return allocation.kind == LegacyKind::device ? 1 : 0;
    case PointerAttribute::range_start_addr:
      return allocation.range.begin().value();
    case PointerAttribute::range_size:
      return allocation.range.size().value();
    case PointerAttribute::mapping_base_addr:
      return allocation.mapping.begin().value();
    case PointerAttribute::mapping_size:
      return allocation.mapping.size().value();
    case PointerAttribute::mapped:
      return 1;
    case PointerAttribute::access_flags:
      return static_cast<std::uint64_t>(AccessFlags::read_write);
    case PointerAttribute::mempool_handle:
      // Any number but zero: there is one pool a device.
      return allocation.kind == LegacyKind::pool
                 ? static_cast<std::uint64_t>(allocation.device.value()) + 1
                 : 0;
    case PointerAttribute::p2p_tokens:
      if (is_on_host) {
        return invalid(Reason::attribute_not_supported,
                       static_cast<std::uint64_t>(request.attribute));
      }
      allocation.sync_memops = true;
      return 0;
  }
  return invalid(Reason::unknown_attribute, static_cast<std::uint64_t>(request.attribute));
}

Result<std::uint64_t> Machine::pointer_get_attribute(const PointerAttributeRequest& request) {
  const auto block = space_.block_at(request.address);
  if (!block || block->kind == BlockKind::driver) {
    return invalid(Reason::not_mapped, request.address.value());
  }
  // One that was destroyed is none here [h200].
  if (request.attribute == PointerAttribute::device_pointer && contexts_.current() == nullptr) {
    return refuse(ErrorCode::invalid_context, Reason::no_current_context);
  }
  return block->kind == BlockKind::mapping
             ? mapping_attribute(space_.mapping(block->index), request)
             : legacy_attribute(legacy_[block->index], request);
}

Result<int> Machine::mem_get_handle_for_address_range(const RangeHandleRequest& request) {
  if (request.handle_type != dma_buf_handle) {
    return invalid(Reason::unknown_range_handle, request.handle_type);
  }
  if (!profile_.dma_buf) {
    return refuse(ErrorCode::not_supported, Reason::not_supported_here);
  }
  // The range's form is looked at before the context, what lies there after it [h200].
  if (request.address.is_null() || request.size.is_zero() ||
      !is_aligned(request.size, profile_.host_page) ||
      !is_aligned(request.address, profile_.host_page)) {
    return invalid(Reason::range_not_page_aligned, request.address.value(), request.size.value(),
                   profile_.host_page.value());
  }
  TESSERA_TRY_ASSIGN(const Context* context, need_context());
  TESSERA_TRY(
      resolve(*context, request.address, request.size, AccessFlags::none, Toucher::copy_by_device));
  // A mapping over PCIe is refused whatever else is asked for [h200].
  constexpr std::uint64_t over_pcie = 1;
  if ((request.flags & over_pcie) != 0) {
    return refuse(ErrorCode::not_supported, Reason::not_supported_here);
  }
  if (request.flags != 0) {
    return invalid(Reason::unknown_flags, request.flags, over_pcie);
  }
  const int descriptor = ::memfd_create("tessera-dma-buf", MFD_CLOEXEC);
  if (descriptor < 0) {
    return refuse(ErrorCode::operating_system, Reason::no_descriptor_left);
  }
  return descriptor;
}

}  // namespace tessera::sim
