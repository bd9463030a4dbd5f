// StripedBuffer: one range over the memory of several devices, a stripe of it on each, as NVIDIA's
// sample vectorAddMMAP lays it out: a program on any of the devices reaches all of it, and data
// larger than one device's memory has one address. Not for several threads at once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tessera/buffers/piece.h"

namespace tessera {

struct StripedBufferOptions {
  Bytes size;
  // Where the stripes lie, in order. A device may come more than once.
  std::vector<DeviceOrdinal> devices;
  // What the memory is like; its location is not looked at.
  MemoryOptions memory = {};
  // Who gets access, besides these devices.
  AccessSet access = {};
};

class StripedBuffer {
 public:
  // The size is rounded up to a multiple of granularity times devices: the least common multiple of
  // the devices' granularities, which are powers of two in practice, so it is the largest.
  // ERRORS: invalid_value (no device; size zero, or too large); invalid_device;
  // peer_access_unsupported (names the pair that cannot reach); those of reserve, create, map and
  // set access. Nothing is left then.
  [[nodiscard]] static Result<StripedBuffer> make(DriverUse use,
                                                  const StripedBufferOptions& options,
                                                  CallSite site = CallSite::here());

  // False once closed or moved from; what is below is to be asked only while open.
  [[nodiscard]] bool is_open() const noexcept { return reservation_.is_open(); }
  [[nodiscard]] Bytes size() const noexcept { return size_; }  // as asked for
  [[nodiscard]] Bytes capacity() const noexcept { return row_.size(); }
  [[nodiscard]] DeviceAddress address() const noexcept { return reservation_.base(); }
  [[nodiscard]] AddressRange range() const noexcept { return {address(), size_}; }
  [[nodiscard]] const AccessSet& access() const noexcept { return access_; }

  [[nodiscard]] std::size_t stripe_count() const noexcept { return row_.count(); }
  [[nodiscard]] Bytes stripe_size() const noexcept { return pieces().front().mapping.size(); }
  // Stripe `index`, below stripe_count() (checked); the last ones may lie beyond the size.
  [[nodiscard]] AddressRange stripe(std::size_t index) const noexcept;
  // Whose memory is there. ERRORS: invalid_value (not inside the capacity).
  [[nodiscard]] Result<DeviceOrdinal> device_at(DeviceAddress address) const;
  // A stripe each, in address order.
  [[nodiscard]] std::span<const Piece> pieces() const noexcept { return row_.pieces(); }

  // Gives all back. Again is harmless. ERRORS: not_permitted (the proof lacks a device with
  // access); the first one of giving back, after which it is still open, with what is left.
  // The destructor waits for all devices with access once, then does the same.
  Status close(Quiescence proof);

 private:
  StripedBuffer(Bytes size, const AccessSet& access, Reservation reservation) noexcept;

  Bytes size_;
  AccessSet access_;
  Reservation reservation_;
  PieceRow row_;
};

}  // namespace tessera
