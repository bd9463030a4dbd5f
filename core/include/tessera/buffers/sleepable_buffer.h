// SleepableBuffer: gives its memory back and keeps its addresses, so that another program, or
// another model, has the memory meanwhile, and pointers into the buffer are good again afterwards.
//
//             sleep                       an undo failed
//     awake --------> asleep     awake ------------------> failed
//           <--------            asleep ----------------->
//             wake
//
// Not for several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tessera/buffers/piece.h"

namespace tessera {

struct SleepableBufferOptions {
  Bytes size;
  MemoryOptions memory = {};
  // Who gets access, besides the device that the memory is on; again at each wake.
  AccessSet access = {};
  // The memory is made in pieces of this size, rounded up, the last one maybe smaller. Zero: in one
  // piece, which is quickest.
  Bytes piece_size = {};
};

enum class SleepState : std::uint8_t {
  awake,
  asleep,  // no memory is held
  failed,  // an error could not be undone: only close works
};

enum class Contents : std::uint8_t {
  discard,       // after waking, the bytes are whatever is there
  keep_on_host,  // in pageable memory of this process, as many bytes as the size
};

class SleepableBuffer {
 public:
  // Awake, with memory and access. ERRORS: invalid_value (size zero, or too large); invalid_device;
  // peer_access_unsupported; those of reserve, create, map and set access. Nothing is left then.
  [[nodiscard]] static Result<SleepableBuffer> make(DriverUse use,
                                                    const SleepableBufferOptions& options,
                                                    CallSite site = CallSite::here());

  // Gives the memory back. Asleep already: nothing to do, and what was kept stays kept. Contents
  // are copied in the current context, which is one of a device with access.
  // ERRORS, still awake and with all bytes: not_permitted (the proof lacks a device with access);
  // those of memcpy_dtoh and unmap; out_of_memory (of the host: Reason::out_of_host_memory).
  // ERRORS, asleep: those of release; the memory stays this buffer's, and to sleep, wake or close
  // again tries again. illegal_state (closed, or failed).
  Status sleep(Quiescence proof, Contents contents = Contents::discard);
  // Makes memory at the same addresses, and copies kept contents back in the current context. Awake
  // already: nothing to do. ERRORS: those of create (out_of_memory), map, set access and
  // memcpy_htod: still asleep, nothing is held, kept contents stay, and waking may be tried again;
  // but failed where the copy was begun and cannot be waited for, which close() gives a proof of.
  // illegal_state (closed, or failed).
  Status wake(CallSite site = CallSite::here());

  [[nodiscard]] SleepState state() const noexcept { return state_; }
  // What could not be undone was undoing this; no error unless the state is failed.
  [[nodiscard]] const Status& first_error() const noexcept { return first_error_; }
  // 1 at first, and one more with each wake: the addresses stay, but whoever registered the memory
  // elsewhere (exports, NICs) has to do it again.
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
  // Whether contents are kept on the host now.
  [[nodiscard]] bool keeps_contents() const noexcept { return kept_ != nullptr; }

  // False once closed or moved from; what is below is to be asked only while open.
  [[nodiscard]] bool is_open() const noexcept { return reservation_.is_open(); }
  [[nodiscard]] Bytes size() const noexcept { return size_; }  // as asked for
  [[nodiscard]] Bytes capacity() const noexcept { return reservation_.size(); }
  [[nodiscard]] DeviceAddress address() const noexcept { return reservation_.base(); }
  [[nodiscard]] AddressRange range() const noexcept { return {address(), size_}; }
  [[nodiscard]] const AccessSet& access() const noexcept { return access_; }
  // In address order; none while asleep.
  [[nodiscard]] std::span<const Piece> pieces() const noexcept { return row_.pieces(); }

  // Gives all back, from any state; while asleep that is the addresses alone, and any proof does.
  // Again is harmless. ERRORS: not_permitted; the first one of giving back, after which it is still
  // open, with what is left: failed, unless it was asleep. The destructor waits for all devices
  // with access once, then does the same.
  Status close(Quiescence proof);

 private:
  SleepableBuffer(DriverUse use, const SleepableBufferOptions& options, const AccessSet& access,
                  Reservation reservation, CallSite site);

  [[nodiscard]] Status check_usable() const;
  // Makes and maps pieces until the row is full.
  Status make_pieces(CallSite site);
  // The same, then gives access and copies back what was kept.
  // `is_copying`: the copy back was begun, and may be under way.
  Status fill(bool& is_copying, CallSite site);
  [[nodiscard]] Status set_access(AddressRange range) const;
  // Unmaps all pieces, or none unless the state is failed then; their memory is still held.
  Status unmap(std::vector<Piece>& pieces);
  // Maps pieces from number `first` on again.
  Status map_again(std::vector<Piece>& pieces, std::size_t first);
  [[nodiscard]] Result<std::unique_ptr<std::byte[]>> copied_to_host() const;
  void fail(const Error& error) noexcept;

  DriverUse use_;
  MemoryOptions memory_;
  AccessSet access_;
  CallSite site_;
  Reservation reservation_;
  PieceRow row_;
  Bytes size_;
  Bytes piece_size_;
  std::unique_ptr<std::byte[]> kept_;
  SleepState state_ = SleepState::asleep;
  Status first_error_;  // of those that led to the state failed
  std::uint64_t generation_ = 0;
};

}  // namespace tessera
