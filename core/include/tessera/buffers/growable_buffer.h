// GrowableBuffer: device memory that grows without a copy, at one address as long as its reserved
// addresses last. Growing makes one piece of memory for the whole increment, maps it and sets
// access to it: three driver calls.
//
// After any error the buffer is as it was before the call, nothing is left behind, and the call may
// be tried again. Not for several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/buffers/growth_policy.h"
#include "tessera/buffers/piece.h"

namespace tessera {

struct GrowableBufferOptions {
  MemoryOptions memory = {};
  // Who gets access, besides the device that the memory is on (memory on the host: nobody else).
  AccessSet access = {};
  // Addresses to reserve; they cost no memory. Zero: as many as the device has bytes; 64 GiB for
  // memory on the host. Where so many are not to be had, half of it, and so on.
  Bytes reserve = {};
  GrowthPolicy growth = {};
};

// What growing did to the addresses.
struct Growth {
  bool moved = false;
  // If it moved: where everything still is, too, until release_retired.
  AddressRange old_range = {};
};

struct GrowableStatistics {
  std::size_t grows = 0;      // that made memory
  std::size_t fallbacks = 0;  // of those, made as small as the need, because memory lacked
  std::size_t moves = 0;
  std::size_t shrinks = 0;  // that gave memory back
  std::size_t pieces = 0;
  Bytes mapped = {};
  Bytes reserved = {};  // with the retired addresses
  Bytes retired = {};   // addresses that a move left mapped: aliases, no memory of their own
};

class GrowableBuffer {
 public:
  // Reserves addresses; there is no memory yet. `use` outlives the buffer.
  // ERRORS: invalid_device; peer_access_unsupported (a device with access cannot reach the memory);
  // not_supported; out_of_memory (of addresses, not even a granule of them).
  [[nodiscard]] static Result<GrowableBuffer> make(DriverUse use,
                                                   const GrowableBufferOptions& options = {},
                                                   CallSite site = CallSite::here());

  GrowableBuffer(GrowableBuffer&&) noexcept = default;
  // Closes what it held as the destructor does.
  GrowableBuffer& operator=(GrowableBuffer&& other) noexcept;
  GrowableBuffer(const GrowableBuffer&) = delete;
  GrowableBuffer& operator=(const GrowableBuffer&) = delete;
  // Waits once for the work of the primary contexts of all devices with access, then gives all
  // back: a net below those who forgot `close`, which is quicker. Failures go to the sink.
  ~GrowableBuffer();

  // Makes the size at least `size`; memory is made where the capacity is less. Nothing to do when
  // the size is that already. Where the reservation is full, or what a failed growth could not
  // unmap is in the way, reserves another one, at least twice the need if there is so much, and
  // maps the same memory there too: nothing is copied, and the old addresses stay valid until
  // release_retired, because queued work may use them.
  // ERRORS: out_of_memory, of memory, of addresses (Reason::out_of_address_space) or of page tables
  // (call mem_set_access); invalid_value (`size` is more than 64 bits of granules);
  // illegal_state (closed); others of reserve, create, map and set access.
  Result<Growth> grow_to(Bytes size, CallSite site = CallSite::here());
  // The same, by `more` than the size.
  Result<Growth> grow_by(Bytes more, CallSite site = CallSite::here());

  // Makes the size `size`, and unmaps the pieces that lie wholly beyond it, last first: a piece is
  // the smallest unit that goes, so the capacity may stay above. The memory goes back unless
  // retired addresses or exports hold it.
  // ERRORS: not_permitted (the proof lacks a device with access); invalid_value (`size` is above
  // the size); illegal_state; those of unmap and release: pieces may then be gone from the end, the
  // size is at most the capacity, and shrinking again goes on.
  Status shrink_to(Bytes size, Quiescence proof);

  // Gives access to all there is and all that comes; one call. Retired addresses keep what they
  // have. ERRORS: peer_access_unsupported; those of mem_set_access; nothing is given then.
  Status grant(const AccessSet& access);
  Status grant(std::span<const DeviceOrdinal> devices);

  // Unmaps the addresses that moves left. ERRORS: not_permitted; those of unmap and address free;
  // the rest stays, and may be tried again.
  Status release_retired(Quiescence proof);

  // Gives all back. Again is harmless. ERRORS: not_permitted; the first one of giving back, after
  // which it is still open, with what is left, and close may be tried again.
  Status close(Quiescence proof);

  // False once closed or moved from; what is below is to be asked only while open.
  [[nodiscard]] bool is_open() const noexcept { return reservation_.is_open(); }
  [[nodiscard]] Bytes size() const noexcept { return size_; }
  [[nodiscard]] Bytes capacity() const noexcept { return row_.size(); }
  [[nodiscard]] DeviceAddress address() const noexcept { return reservation_.base(); }
  [[nodiscard]] AddressRange range() const noexcept { return {address(), size_}; }
  [[nodiscard]] AddressRange reserved_range() const noexcept { return reservation_.range(); }
  [[nodiscard]] Bytes granularity() const noexcept { return reservation_.granularity(); }
  [[nodiscard]] Driver& driver() const noexcept { return *use_.driver; }
  [[nodiscard]] const AccessSet& access() const noexcept { return access_; }
  // Changes whenever the addresses do, for those who registered them somewhere.
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
  [[nodiscard]] GrowableStatistics statistics() const noexcept;
  // In address order, to be exported or registered one by one. Valid until the next change.
  [[nodiscard]] std::span<const Piece> pieces() const noexcept { return row_.pieces(); }

 private:
  GrowableBuffer(DriverUse use, const GrowableBufferOptions& options, const AccessSet& access,
                 Reservation reservation);

  // Whether memory was made as much as the policy wanted.
  enum class Made : bool { as_wanted, as_needed };
  // Calls `create` with the options of a piece that makes the capacity what the policy says, or
  // where memory lacks, what is needed. `limit` is how much can be mapped.
  template <class Create>
  auto create_for(Bytes need, Bytes limit, Made& made, const Create& create);
  Result<Made> grow_in_place(Bytes need, CallSite site);
  Result<Made> grow_elsewhere(Bytes need, CallSite site);
  [[nodiscard]] std::uint64_t device_bits() const noexcept;
  // Everything that needs a proof is proven.
  Status close_retired();
  Status close_all();
  void abandon() noexcept;

  DriverUse use_;
  MemoryOptions memory_;
  GrowthPolicy growth_;
  AccessSet access_;
  std::vector<AccessDescriptor> descriptors_;  // of access_: a growth allocates none
  Reservation reservation_;
  PieceRow row_;
  // What moves left: mappings at old addresses, and the owners of these.
  std::vector<Mapping> retired_;
  std::vector<Reservation> retired_reservations_;
  Bytes size_;
  std::uint64_t generation_ = 1;
  GrowableStatistics counts_;
};

}  // namespace tessera
