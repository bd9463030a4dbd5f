// MirroredRing: one memory mapped twice, side by side, so that any window of a ring buffer, also
// one that runs past its end, is one range of addresses. Not for several threads at once.
#pragma once

#include <cstdint>
#include <span>

#include "tessera/buffers/piece.h"

namespace tessera {

struct MirroredRingOptions {
  Bytes capacity;  // rounded up
  MemoryOptions memory = {};
  // Who gets access, besides the device that the memory is on.
  AccessSet access = {};
};

class MirroredRing {
 public:
  // ERRORS: invalid_value (capacity zero, or more than half of 64 bits); invalid_device;
  // peer_access_unsupported; those of reserve, create, map and set access. Nothing is left then.
  [[nodiscard]] static Result<MirroredRing> make(DriverUse use, const MirroredRingOptions& options,
                                                 CallSite site = CallSite::here());

  MirroredRing(MirroredRing&&) noexcept = default;
  // Closes what it held as the destructor does.
  MirroredRing& operator=(MirroredRing&& other) noexcept;
  MirroredRing(const MirroredRing&) = delete;
  MirroredRing& operator=(const MirroredRing&) = delete;
  // Waits once for all devices with access, then gives all back. Failures go to the sink.
  ~MirroredRing();

  // False once closed or moved from; what is below is to be asked only while open.
  [[nodiscard]] bool is_open() const noexcept { return reservation_.is_open(); }
  [[nodiscard]] Bytes capacity() const noexcept { return Bytes(reservation_.size().value() / 2); }
  [[nodiscard]] DeviceAddress address() const noexcept { return reservation_.base(); }
  [[nodiscard]] const AccessSet& access() const noexcept { return access_; }

  // Where position `position` of an endless stream lies: always in the first of the two mappings,
  // so that `capacity` bytes from there are usable. Positions may run on past 64 bits only where
  // the capacity is a power of two.
  [[nodiscard]] DeviceAddress address_at(std::uint64_t position) const noexcept {
    return address() + Bytes(position) % capacity();
  }
  // `size` bytes from there. ERRORS: invalid_value (more than the capacity).
  [[nodiscard]] Result<AddressRange> window(std::uint64_t position, Bytes size) const;

  // The memory with its first mapping; to be exported once.
  [[nodiscard]] std::span<const Piece> pieces() const noexcept { return row_.pieces(); }
  // The second mapping, capacity() further on.
  [[nodiscard]] const Mapping& mirror() const noexcept { return mirror_; }

  // Gives all back. Again is harmless. ERRORS: not_permitted (the proof lacks a device with
  // access); the first one of giving back, after which it is still open, with what is left.
  Status close(Quiescence proof);

 private:
  MirroredRing(const AccessSet& access, Reservation reservation, Mapping mirror) noexcept;

  Status close_all();
  void abandon() noexcept;

  AccessSet access_;
  Reservation reservation_;
  PieceRow row_;
  Mapping mirror_;
};

}  // namespace tessera
