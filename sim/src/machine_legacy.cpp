// mem_alloc and its relatives.
#include <algorithm>
#include <bit>
#include <iterator>

#include <sys/mman.h>

#include "machine.h"

namespace tessera::sim {

std::unique_ptr<Backing> Machine::new_backing(Bytes size) const {
  return options_.bytes ? std::make_unique<Backing>(Backing::Kind::anonymous, size) : nullptr;
}

Result<AddressRange> Machine::allocate_in_heap(Heap& heap, Bytes size, Bytes block_size,
                                               DeviceOrdinal device) {
  if (const auto part = heap.parts.allocate(size)) {
    return *part;
  }
  DeviceMemory& memory = memory_of(device);
  const Bytes block = align_up(size, block_size);
  auto piece = memory.take(block);
  if (!piece) {
    // A pool takes back what it keeps; nothing else gets that before somebody synchronizes [h200].
    if (&heap == &pools_.at(static_cast<std::size_t>(device.value()))) {
      trim_pools();
    }
    store_.collect();
    piece = memory.take(block);
  }
  if (!piece) {
    return out_of_memory(block, device);
  }
  const auto addresses = space_.take_addresses(block, profile_.reservation_granularity);
  if (!addresses) {
    memory.give_back(*piece);
    return refuse(ErrorCode::out_of_memory, Reason::out_of_addresses, block.value(),
                  space_.reserved().value());
  }
  heap.blocks.emplace(addresses->begin().value(), HeapBlock{.range = *addresses, .piece = *piece});
  heap.parts.add_block(*addresses);
  return *heap.parts.allocate(size);
}

void Machine::release_block(Heap& heap, AddressRange block, DeviceOrdinal device) {
  const auto found = heap.blocks.find(block.begin().value());
  TESSERA_CHECK(found != heap.blocks.end());
  heap.parts.remove_block(block);
  memory_of(device).give_back(found->second.piece);
  space_.give_back_addresses(found->second.range);
  heap.blocks.erase(found);
}

const HeapBlock* Machine::block_at(const Heap& heap, DeviceAddress address) {
  const auto next = heap.blocks.upper_bound(address.value());
  if (next == heap.blocks.begin()) {
    return nullptr;
  }
  const HeapBlock& block = std::prev(next)->second;
  return block.range.contains(address) ? &block : nullptr;
}

DeviceAddress Machine::add_legacy(LegacyAllocation allocation) {
  const AddressRange range = allocation.range;
  allocation.buffer_id = next_buffer_id_++;
  const SlabIndex index = legacy_.insert(std::move(allocation));
  space_.add_block(range, BlockKind::legacy, index);
  legacy_by_address_.emplace(range.begin().value(), index);
  return range.begin();
}

std::optional<SlabIndex> Machine::legacy_at(DeviceAddress address) const {
  const auto found = legacy_by_address_.find(address.value());
  return found != legacy_by_address_.end() ? std::optional(found->second) : std::nullopt;
}

// Frees one whatever its kind; waits for nothing.
void Machine::free_legacy(SlabIndex index) {
  const LegacyAllocation allocation = std::move(legacy_[index]);
  const DeviceAddress address = allocation.range.begin();
  space_.remove_block(address);
  legacy_by_address_.erase(address.value());
  legacy_.erase(index);
  if (allocation.host_memory != nullptr) {
    ::munmap(allocation.host_memory, allocation.range.size().value());
    return;
  }
  const auto device = static_cast<std::size_t>(allocation.device.value());
  if (allocation.kind == LegacyKind::pool) {
    // The pool keeps the block until the next synchronization.
    static_cast<void>(pools_.at(device).parts.free(address));
    return;
  }
  Heap& heap = resources_.at(allocation.context).heap;
  if (const auto emptied = heap.parts.free(address)) {
    release_block(heap, *emptied, allocation.device);
  }
}

void Machine::free_legacy_of(ContextHandle context) {
  std::vector<SlabIndex> owned;
  for (const auto& [address, index] : legacy_by_address_) {
    if (legacy_[index].context == context) {
      owned.push_back(index);
    }
  }
  for (const SlabIndex index : owned) {
    free_legacy(index);
  }
}

void Machine::trim_pools() {
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    for (const AddressRange& block : pools_[i].parts.empty_blocks()) {
      release_block(pools_[i], block, DeviceOrdinal(static_cast<std::int32_t>(i)));
    }
  }
}

Result<DeviceAddress> Machine::mem_alloc(Bytes size) {
  TESSERA_TRY_ASSIGN(const Context* context, need_context());
  if (size.is_zero()) {
    return invalid(Reason::size_is_zero, 1);
  }
  if (size > profile_.memory_total) {
    return out_of_memory(size, context->device);
  }
  TESSERA_TRY_ASSIGN(const AddressRange part,
                     allocate_in_heap(resources_.at(context->handle).heap, size,
                                      profile_.heap_block, context->device));
  LegacyAllocation allocation;
  allocation.range = AddressRange(part.begin(), size);
  allocation.mapping = block_at(resources_.at(context->handle).heap, part.begin())->range;
  allocation.context = context->handle;
  allocation.device = context->device;
  allocation.backing = new_backing(size);
  return add_legacy(std::move(allocation));
}

Result<PitchedAllocation> Machine::mem_alloc_pitch(const AllocPitchRequest& request) {
  TESSERA_TRY(need_context());
  const std::uint32_t element = request.element_size;
  if (element != 4 && element != 8 && element != 16) {
    return invalid(Reason::element_size_unknown, element);
  }
  if (request.width.is_zero() || request.height == 0) {
    return invalid(Reason::size_is_zero, 1);
  }
  const auto pitch = checked_align_up(request.width, profile_.pitch_alignment);
  if (!pitch) {
    return invalid(Reason::size_overflows, request.width.value(), request.height);
  }
  const auto size = checked_multiply(*pitch, request.height);
  if (!size) {
    return refuse(ErrorCode::out_of_memory, Reason::size_overflows, pitch->value(), request.height);
  }
  TESSERA_TRY_ASSIGN(const DeviceAddress address, mem_alloc(*size));
  return PitchedAllocation{.address = address, .pitch = *pitch};
}

// Fresh host memory, at no address that the simulated address space could give to others.
std::byte* Machine::map_host_memory(Bytes size) const {
  const std::uint64_t low = profile_.address_windows.front().begin().value();
  const std::uint64_t high = profile_.address_windows.back().end().value();
  constexpr std::uint64_t step = std::uint64_t{1} << 32U;
  std::uintptr_t wish = 0;
  for (int attempt = 0; attempt < 64; ++attempt) {
    void* memory = ::mmap(std::bit_cast<void*>(wish), size.value(), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      return nullptr;
    }
    const auto begin = std::bit_cast<std::uintptr_t>(memory);
    const bool is_outside = begin >= high || begin + size.value() <= low;
    if (is_outside && !space_.has_block_in({DeviceAddress(begin), size})) {
      return static_cast<std::byte*>(memory);
    }
    ::munmap(memory, size.value());
    wish = (wish == 0 ? high : wish) + step;
  }
  return nullptr;
}

// Host memory is real: the program reads and writes it, at the address that devices know.
Result<DeviceAddress> Machine::allocate_host_memory(Bytes size, LegacyKind kind,
                                                    const Context& context) {
  std::byte* memory = map_host_memory(size);
  if (memory == nullptr) {
    return refuse(ErrorCode::out_of_memory, Reason::out_of_host_memory, size.value());
  }
  LegacyAllocation allocation;
  allocation.range = AddressRange(DeviceAddress(std::bit_cast<std::uintptr_t>(memory)), size);
  allocation.mapping =
      AddressRange(allocation.range.begin(), align_up(size, profile_.granularity_minimum));
  allocation.kind = kind;
  allocation.context = context.handle;
  allocation.device = context.device;
  allocation.host_memory = memory;
  return add_legacy(std::move(allocation));
}

Result<DeviceAddress> Machine::mem_alloc_managed(const AllocManagedRequest& request) {
  // No size is refused before the context is looked at [h200].
  if (request.size.is_zero()) {
    return invalid(Reason::size_is_zero, 1);
  }
  TESSERA_TRY_ASSIGN(const Context* context, need_context());
  if (request.flags != ManagedFlags::attach_global && request.flags != ManagedFlags::attach_host) {
    return invalid(Reason::unknown_flags, static_cast<std::uint64_t>(request.flags), 3);
  }
  if (!profile_.managed_memory) {
    return refuse(ErrorCode::not_supported, Reason::not_supported_here);
  }
  return allocate_host_memory(request.size, LegacyKind::managed, *context);
}

Status Machine::mem_free(DeviceAddress address) {
  TESSERA_TRY(check_current());
  if (address.is_null()) {
    return {};
  }
  const auto index = legacy_at(address);
  if (!index || legacy_[*index].kind == LegacyKind::host || legacy_[*index].is_being_freed) {
    return invalid(Reason::not_allocated, address.value());
  }
  TESSERA_TRY(check_not_lost());
  // Memory of a pool is not waited for, and goes with the last of its block [h200].
  if (legacy_[*index].kind != LegacyKind::pool) {
    wait_for_work(legacy_[*index].device);
  }
  free_legacy(*index);
  trim_pools();
  return {};
}

bool Machine::is_in_heap(DeviceAddress address) const {
  const auto has = [&](const Heap& heap) { return block_at(heap, address) != nullptr; };
  return std::any_of(pools_.begin(), pools_.end(), has) ||
         std::any_of(resources_.begin(), resources_.end(),
                     [&](const auto& of) { return has(of.second.heap); });
}

Result<DeviceAddress> Machine::mem_alloc_async(const AllocAsyncRequest& request) {
  TESSERA_TRY_ASSIGN(const Context* context, need_stream(request.stream));
  if (!profile_.memory_pools) {
    return refuse(ErrorCode::not_supported, Reason::not_supported_here);
  }
  if (request.size.is_zero()) {
    return DeviceAddress();  // [h200]
  }
  if (request.size > profile_.memory_total) {
    return out_of_memory(request.size, context->device);
  }
  Heap& pool = pools_.at(static_cast<std::size_t>(context->device.value()));
  TESSERA_TRY_ASSIGN(
      const AddressRange part,
      allocate_in_heap(pool, request.size, profile_.reservation_block, context->device));
  LegacyAllocation allocation;
  allocation.range = AddressRange(part.begin(), request.size);
  allocation.mapping = block_at(pool, part.begin())->range;
  allocation.kind = LegacyKind::pool;
  allocation.device = context->device;
  allocation.backing = new_backing(request.size);
  return add_legacy(std::move(allocation));
}

Status Machine::mem_free_async(const FreeAsyncRequest& request) {
  TESSERA_TRY_ASSIGN(const Context* context, need_stream(request.stream));
  if (request.address.is_null()) {
    return {};
  }
  const auto index = legacy_at(request.address);
  if (index && legacy_[*index].kind == LegacyKind::managed) {
    return refuse(ErrorCode::not_supported, Reason::managed_not_in_order, request.address.value());
  }
  const bool is_freeable =
      index && !legacy_[*index].is_being_freed &&
      (legacy_[*index].kind == LegacyKind::pool || legacy_[*index].kind == LegacyKind::device);
  if (!is_freeable) {
    return invalid(Reason::not_allocated, request.address.value());
  }
  legacy_[*index].is_being_freed = true;
  // Nothing frees it before: it is being freed, and contexts end after all work.
  timeline_.enqueue(context->handle, request.stream, 0,
                    [this, index = *index] { free_legacy(index); });
  return {};
}

Result<std::byte*> Machine::mem_host_alloc(const HostAllocRequest& request) {
  TESSERA_TRY_ASSIGN(const Context* context, need_context());
  constexpr std::uint32_t known_flags = 7;
  if ((request.flags & ~known_flags) != 0) {
    return invalid(Reason::unknown_flags, request.flags, known_flags);
  }
  if (request.size.is_zero()) {
    return static_cast<std::byte*>(nullptr);  // [h200]
  }
  TESSERA_TRY_ASSIGN(const DeviceAddress address,
                     allocate_host_memory(request.size, LegacyKind::host, *context));
  return legacy_[*legacy_at(address)].host_memory;
}

Status Machine::mem_free_host(std::byte* memory) {
  TESSERA_TRY(check_current());
  if (memory == nullptr) {
    return {};
  }
  const DeviceAddress address(std::bit_cast<std::uintptr_t>(memory));
  const auto index = legacy_at(address);
  if (!index || legacy_[*index].kind != LegacyKind::host) {
    return invalid(Reason::not_allocated, address.value());
  }
  TESSERA_TRY(check_not_lost());
  wait_for_work(legacy_[*index].device);
  free_legacy(*index);
  return {};
}

}  // namespace tessera::sim
