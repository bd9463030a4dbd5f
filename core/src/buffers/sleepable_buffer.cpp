#include "tessera/buffers/sleepable_buffer.h"

#include <algorithm>
#include <new>
#include <utility>

#include "buffers/buffer_access.h"

namespace tessera {

SleepableBuffer::SleepableBuffer(DriverUse use, const SleepableBufferOptions& options,
                                 const AccessSet& access, Reservation reservation, CallSite site)
    : use_(use),
      memory_(options.memory),
      access_(access),
      site_(site),
      reservation_(std::move(reservation)),
      size_(options.size) {}

Result<SleepableBuffer> SleepableBuffer::make(DriverUse use, const SleepableBufferOptions& options,
                                              CallSite site) {
  TESSERA_TRY_ASSIGN(const AccessSet access,
                     detail::checked_access(*use.driver, options.memory, options.access));
  TESSERA_TRY_ASSIGN(const Bytes granularity, granularity_of(*use.driver, options.memory));
  const Bytes wanted_piece = options.piece_size.is_zero() ? options.size : options.piece_size;
  TESSERA_TRY_ASSIGN(const Bytes piece_size, rounded_size(wanted_piece, granularity));
  TESSERA_TRY_ASSIGN(
      Reservation reservation,
      Reservation::make(use, {.size = options.size, .granularity = granularity}, site));
  SleepableBuffer buffer(use, options, access, std::move(reservation), site);
  buffer.piece_size_ = piece_size;
  TESSERA_TRY(buffer.wake(site));
  return buffer;
}

Status SleepableBuffer::check_usable() const {
  if (!is_open()) {
    return detail::buffer_is_closed();
  }
  if (state_ == SleepState::failed) {
    return Error{.code = ErrorCode::illegal_state, .reason = Reason::buffer_has_failed};
  }
  return {};
}

void SleepableBuffer::fail(const Error& error) noexcept {
  state_ = SleepState::failed;
  if (first_error_) {
    first_error_ = error;
  }
}

Status SleepableBuffer::set_access(AddressRange range) const {
  if (access_.is_empty()) {
    return {};
  }
  return use_.driver->mem_set_access(
      {.address = range.begin(), .size = range.size(), .descriptors = access_.descriptors()});
}

// --- Sleeping -----------------------------------------------------------------------------------

Status SleepableBuffer::sleep(Quiescence proof, Contents contents) {
  TESSERA_TRY(check_usable());
  if (state_ == SleepState::asleep) {
    // Only releases what an earlier call could not.
    return row_.shorten_to(0);
  }
  TESSERA_TRY(proof.check_covers(row_.device_bits()));
  std::unique_ptr<std::byte[]> kept;
  if (contents == Contents::keep_on_host) {
    TESSERA_TRY_ASSIGN(kept, copied_to_host());
  }
  std::vector<Piece> pieces = row_.take();
  const Status unmapped = unmap(pieces);
  if (!unmapped) {
    for (Piece& piece : pieces) {
      row_.append(std::move(piece.memory), std::move(piece.mapping));
    }
    return unmapped;
  }
  state_ = SleepState::asleep;
  kept_ = std::move(kept);
  for (Piece& piece : pieces) {
    row_.release_later(std::move(piece.memory));
  }
  return row_.shorten_to(0);
}

Result<std::unique_ptr<std::byte[]>> SleepableBuffer::copied_to_host() const {
  const auto count = static_cast<std::size_t>(size_.value());
  std::unique_ptr<std::byte[]> bytes(new (std::nothrow) std::byte[count]);
  if (bytes == nullptr) {
    return Error{.code = ErrorCode::out_of_memory,
                 .reason = Reason::out_of_host_memory,
                 .values = {size_.value()}};
  }
  TESSERA_TRY(use_.driver->memcpy_dtoh(
      {.destination = std::span(bytes.get(), count), .source = address()}));
  return bytes;
}

Status SleepableBuffer::unmap(std::vector<Piece>& pieces) {
  for (std::size_t i = pieces.size(); i-- > 0;) {
    // The piece still holds the memory, with its bytes.
    const Status unmapped = pieces[i].mapping.close(Quiescence::promised());
    if (!unmapped) {
      if (!map_again(pieces, i + 1)) {
        fail(unmapped.error());
      }
      return unmapped;
    }
  }
  return {};
}

Status SleepableBuffer::map_again(std::vector<Piece>& pieces, std::size_t first) {
  if (first == pieces.size()) {
    return {};
  }
  for (std::size_t i = first; i < pieces.size(); ++i) {
    Piece& piece = pieces[i];
    TESSERA_TRY_ASSIGN(piece.mapping, Mapping::map(reservation_, piece.range().begin() - address(),
                                                   piece.memory, site_));
    // One by one: several at once, but not the whole row, is what not every driver takes.
    TESSERA_TRY(set_access(piece.range()));
    piece.mapping.note_access(access_);
  }
  return {};
}

// --- Waking -------------------------------------------------------------------------------------

Status SleepableBuffer::wake(CallSite site) {
  TESSERA_TRY(check_usable());
  if (state_ == SleepState::awake) {
    return {};
  }
  const CallSiteScope scope(site);
  site_ = site;
  bool is_copying = false;
  const Status filled = fill(is_copying, site);
  if (!filled) {
    // Nobody has seen this memory yet, so no work but the copy back can use it; where that cannot
    // be waited for, the memory stays until close() gets a proof.
    if (!is_copying || use_.driver->stream_synchronize({})) {
      static_cast<void>(row_.shorten_to(0));
    }
    if (row_.count() != 0) {
      fail(filled.error());
    }
    return filled;
  }
  kept_.reset();
  state_ = SleepState::awake;
  ++generation_;
  return {};
}

Status SleepableBuffer::make_pieces(CallSite site) {
  while (row_.size() < capacity()) {
    const Bytes offset = row_.size();
    TESSERA_TRY_ASSIGN(
        PhysicalAllocation memory,
        PhysicalAllocation::create(use_,
                                   {.size = std::min(piece_size_, capacity() - offset),
                                    .memory = memory_,
                                    .granularity = reservation_.granularity()},
                                   site));
    TESSERA_TRY_ASSIGN(Mapping mapping, Mapping::map(reservation_, offset, memory, site));
    row_.append(std::move(memory), std::move(mapping));
  }
  return {};
}

Status SleepableBuffer::fill(bool& is_copying, CallSite site) {
  // What an earlier sleep could not release is tried again; it is not in the way.
  static_cast<void>(row_.shorten_to(0));
  TESSERA_TRY(make_pieces(site));
  TESSERA_TRY(set_access(reservation_.range()));
  // Before the copy: should nobody see it end, giving back waits for these devices.
  row_.note_access(access_);
  if (kept_ != nullptr) {
    TESSERA_TRY(use_.driver->memcpy_htod(
        {.destination = address(),
         .source = std::span(kept_.get(), static_cast<std::size_t>(size_.value()))}));
    // The device may still be copying, and what is unmapped next is the caller's business.
    is_copying = true;
    TESSERA_TRY(use_.driver->stream_synchronize({}));
  }
  return {};
}

// --- Closing ------------------------------------------------------------------------------------

Status SleepableBuffer::close(Quiescence proof) {
  if (!is_open()) {
    return {};
  }
  TESSERA_TRY(proof.check_covers(row_.device_bits()));
  const std::size_t before = row_.count();
  const Status unmapped = row_.shorten_to(0);
  if (row_.count() == 0 && state_ == SleepState::awake) {
    state_ = SleepState::asleep;
  } else if (row_.count() != 0 && row_.count() < before) {
    fail(unmapped.error());
  }
  TESSERA_TRY(unmapped);
  TESSERA_TRY(reservation_.close());
  kept_.reset();
  return {};
}

}  // namespace tessera
