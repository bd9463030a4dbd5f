#include "tessera/buffers/growable_buffer.h"

#include <algorithm>
#include <utility>

#include "buffers/buffer_access.h"
#include "owners/grant_over.h"
#include "owners/primary_context.h"
#include "tessera/owners/peers.h"
#include "tessera/owners/transaction.h"

namespace tessera {
namespace {

constexpr Bytes reserve_for_host = 64_GiB;
// What a default size is rounded up to: the total memory of a device is no round number.
constexpr Bytes reserve_unit = 2_MiB;

Result<Bytes> default_reserve(Driver& driver, const MemoryOptions& memory) {
  if (memory.location.type != LocationType::device) {
    return reserve_for_host;
  }
  TESSERA_TRY_ASSIGN(const Bytes total, driver.device_total_mem(DeviceOrdinal(memory.location.id)));
  return align_up(total, reserve_unit);
}

}  // namespace

GrowableBuffer::GrowableBuffer(DriverUse use, const GrowableBufferOptions& options,
                               const AccessSet& access, Reservation reservation)
    : use_(use),
      memory_(options.memory),
      growth_(options.growth),
      access_(access),
      descriptors_(access.descriptors()),
      reservation_(std::move(reservation)) {}

Result<GrowableBuffer> GrowableBuffer::make(DriverUse use, const GrowableBufferOptions& options,
                                            CallSite site) {
  TESSERA_TRY_ASSIGN(const AccessSet access,
                     detail::checked_access(*use.driver, options.memory, options.access));
  TESSERA_TRY_ASSIGN(const Bytes granularity, granularity_of(*use.driver, options.memory));
  Bytes reserve = options.reserve;
  if (reserve.is_zero()) {
    TESSERA_TRY_ASSIGN(reserve, default_reserve(*use.driver, options.memory));
  }
  TESSERA_TRY_ASSIGN(Reservation reservation,
                     Reservation::make_at_most(use, {.size = reserve, .granularity = granularity},
                                               granularity, site));
  return GrowableBuffer(use, options, access, std::move(reservation));
}

GrowableBuffer& GrowableBuffer::operator=(GrowableBuffer&& other) noexcept {
  if (this != &other) {
    abandon();
    use_ = other.use_;
    memory_ = other.memory_;
    growth_ = other.growth_;
    access_ = other.access_;
    descriptors_ = std::move(other.descriptors_);
    row_ = std::move(other.row_);
    retired_ = std::move(other.retired_);
    retired_reservations_ = std::move(other.retired_reservations_);
    reservation_ = std::move(other.reservation_);
    size_ = other.size_;
    generation_ = other.generation_;
    counts_ = other.counts_;
  }
  return *this;
}

GrowableBuffer::~GrowableBuffer() { abandon(); }

template <class Create>
auto GrowableBuffer::create_for(Bytes need, Bytes limit, Made& made, const Create& create) {
  made = Made::as_wanted;
  const Bytes mapped = capacity();
  const Bytes wanted = std::min(growth_.capacity_for(need, mapped, granularity()), limit);
  PhysicalAllocationOptions options = {
      .size = wanted - mapped, .memory = memory_, .granularity = granularity()};
  auto memory = create(options);
  // Any other error than this would hide a fault.
  if (!memory && memory.error().code == ErrorCode::out_of_memory && wanted > need &&
      growth_.falls_back()) {
    options.size = need - mapped;
    made = Made::as_needed;
    memory = create(options);
  }
  return memory;
}

Result<Growth> GrowableBuffer::grow_to(Bytes size, CallSite site) {
  if (!is_open()) {
    return detail::buffer_is_closed();
  }
  Growth growth;
  if (size > capacity()) {
    TESSERA_TRY_ASSIGN(const Bytes need, rounded_size(size, granularity()));
    Made made = Made::as_wanted;
    // A mapping that a failed growth could not undo lies where the next piece would.
    if (need <= reservation_.size() && !reservation_.has_leftovers()) {
      TESSERA_TRY_ASSIGN(made, grow_in_place(need, site));
    } else {
      growth = {.moved = true, .old_range = {address(), capacity()}};
      TESSERA_TRY_ASSIGN(made, grow_elsewhere(need, site));
    }
    ++counts_.grows;
    counts_.fallbacks += made == Made::as_needed ? 1U : 0U;
  }
  size_ = std::max(size_, size);
  return growth;
}

Result<Growth> GrowableBuffer::grow_by(Bytes more, CallSite site) {
  const std::optional<Bytes> size = checked_add(size_, more);
  if (!size) {
    return Error{.code = ErrorCode::invalid_value,
                 .reason = Reason::size_beyond_all,
                 .values = {more.value()}};
  }
  return grow_to(*size, site);
}

Result<GrowableBuffer::Made> GrowableBuffer::grow_in_place(Bytes need, CallSite site) {
  Made made;
  // Both stay in their Results until the row takes them: a mapping is large, and moved once then.
  Result<PhysicalAllocation> memory =
      create_for(need, reservation_.size(), made, [&](const PhysicalAllocationOptions& options) {
        return PhysicalAllocation::create(use_, options, site);
      });
  if (!memory) {
    return memory.error();
  }
  Result<Mapping> mapping = Mapping::map(reservation_, capacity(), *memory, site);
  if (!mapping) {
    return mapping.error();
  }
  if (!descriptors_.empty()) {
    const CallSiteScope scope(site);
    TESSERA_TRY(driver().mem_set_access(
        {.address = mapping->begin(), .size = mapping->size(), .descriptors = descriptors_}));
    mapping->note_access(access_);
  }
  row_.append(*std::move(memory), *std::move(mapping));
  return made;
}

Result<GrowableBuffer::Made> GrowableBuffer::grow_elsewhere(Bytes need, CallSite site) {
  Made how;
  Transaction transaction(use_, site);
  const Bytes twice = checked_multiply(need, 2).value_or(need);
  TESSERA_TRY_ASSIGN(
      const Reservation* reservation,
      transaction.reserve_at_most({.size = twice, .granularity = granularity()}, need));
  // Memory is what lacks first, so it is made before anything is mapped.
  TESSERA_TRY_ASSIGN(
      const PhysicalAllocation* memory,
      create_for(need, reservation->size(), how, [&](const PhysicalAllocationOptions& options) {
        return transaction.create(options);
      }));
  Bytes offset;
  for (const Piece& piece : pieces()) {
    TESSERA_TRY(transaction.map(*reservation, offset, piece.memory));
    offset += piece.memory.size();
  }
  TESSERA_TRY(transaction.map(*reservation, offset, *memory));
  TESSERA_TRY(
      transaction.grant(AddressRange(reservation->base(), offset + memory->size()), access_));

  Transaction::Made made = transaction.commit();
  Mapping last = std::move(made.mappings.back());
  made.mappings.pop_back();
  for (Mapping& old : row_.exchange_mappings(std::move(made.mappings))) {
    retired_.push_back(std::move(old));
  }
  row_.append(std::move(made.allocations.front()), std::move(last));
  retired_reservations_.push_back(
      std::exchange(reservation_, std::move(made.reservations.front())));
  ++generation_;
  ++counts_.moves;
  return how;
}

Status GrowableBuffer::shrink_to(Bytes size, Quiescence proof) {
  if (!is_open()) {
    return detail::buffer_is_closed();
  }
  if (size > size_) {
    return Error{.code = ErrorCode::invalid_value,
                 .reason = Reason::shrinks_to_more,
                 .values = {size.value(), size_.value()}};
  }
  std::size_t kept = row_.count();
  while (kept > 0 && pieces()[kept - 1].range().begin() - address() >= size) {
    --kept;
  }
  if (kept < row_.count()) {
    TESSERA_TRY(proof.check_covers(row_.device_bits()));
  }
  const std::size_t before = row_.count();
  const Status done = row_.shorten_to(kept);
  counts_.shrinks += row_.count() < before ? 1U : 0U;
  size_ = done ? size : std::min(size_, capacity());
  return done;
}

Status GrowableBuffer::grant(const AccessSet& access) {
  if (!is_open()) {
    return detail::buffer_is_closed();
  }
  TESSERA_TRY(detail::checked_access(driver(), memory_, access));
  if (access.is_empty()) {
    return {};
  }
  if (!capacity().is_zero()) {
    // Beside a mapping that a failed growth left, the row is part of a longer one, and access to
    // that is set mapping by mapping, or not at all on some drivers.
    std::vector<AddressRange> each;
    if (reservation_.has_leftovers()) [[unlikely]] {
      for (const Piece& piece : pieces()) {
        each.push_back(piece.range());
      }
    }
    const AddressRange all(address(), capacity());
    TESSERA_TRY(detail::grant_over(driver(), each.empty() ? std::span(&all, 1) : std::span(each),
                                   access_, access));
    row_.note_access(access);
  }
  access_ = access_.joined_with(access);
  descriptors_ = access_.descriptors();
  return {};
}

Status GrowableBuffer::grant(std::span<const DeviceOrdinal> devices) {
  TESSERA_TRY(detail::check_devices(driver(), devices));
  return grant(AccessSet::of_devices(devices));
}

std::uint64_t GrowableBuffer::device_bits() const noexcept {
  std::uint64_t bits = row_.device_bits();
  for (const Mapping& mapping : retired_) {
    bits |= mapping.access().device_bits();
  }
  return bits;
}

Status GrowableBuffer::close_retired() {
  while (!retired_.empty()) {
    TESSERA_TRY(retired_.back().close(Quiescence::promised()));
    retired_.pop_back();
  }
  while (!retired_reservations_.empty()) {
    TESSERA_TRY(retired_reservations_.back().close());
    retired_reservations_.pop_back();
  }
  return {};
}

Status GrowableBuffer::release_retired(Quiescence proof) {
  std::uint64_t bits = 0;
  for (const Mapping& mapping : retired_) {
    bits |= mapping.access().device_bits();
  }
  TESSERA_TRY(proof.check_covers(bits));
  return close_retired();
}

Status GrowableBuffer::close_all() {
  TESSERA_TRY(close_retired());
  const Status unmapped = row_.shorten_to(0);
  size_ = std::min(size_, capacity());
  TESSERA_TRY(unmapped);
  return reservation_.close();
}

Status GrowableBuffer::close(Quiescence proof) {
  if (!is_open()) {
    return {};
  }
  TESSERA_TRY(proof.check_covers(device_bits()));
  return close_all();
}

void GrowableBuffer::abandon() noexcept {
  if (is_open() && detail::wait_for_devices(driver(), device_bits())) {
    // What fails is tried again, and reported, by the owners' destructors.
    static_cast<void>(close_all());
  }
}

GrowableStatistics GrowableBuffer::statistics() const noexcept {
  GrowableStatistics now = counts_;
  now.pieces = row_.count();
  now.mapped = row_.size();
  now.reserved = is_open() ? reservation_.size() : Bytes();
  for (const Reservation& reservation : retired_reservations_) {
    now.reserved += reservation.size();
  }
  for (const Mapping& mapping : retired_) {
    now.retired += mapping.size();
  }
  return now;
}

}  // namespace tessera
