// Quiescence: proof that devices have no work left that could use a range. No virtual memory call
// waits for work in flight [h200]: unmapping under a running kernel says OK and loses the process's
// contexts. So whatever unmaps, sleeps or shrinks takes a proof, and uses it up.
//
// A proof is of the driver that it was made with, and of the device that its maker names: a stream
// or event that belongs to another proves nothing, and nobody here can tell.
//
// A proof is about devices: work on device 1 is not proven done by synchronizing device 0. What is
// unmapped must be covered for every device that has access to it. A proof is about the past: work
// queued after it was made is not covered, so make it last, from where no other thread queues more.
// An order between streams (stream_wait_event) is none: it tells the host nothing.
#pragma once

#include <cstdint>
#include <span>

#include "tessera/driver.h"

namespace tessera {

class Quiescence {
 public:
  Quiescence(Quiescence&& other) noexcept;
  Quiescence& operator=(Quiescence&& other) noexcept;
  Quiescence(const Quiescence&) = delete;
  Quiescence& operator=(const Quiescence&) = delete;
  ~Quiescence() = default;

  // The event has completed; it was recorded, on a stream of `device`, after all work that uses the
  // range. Does not wait. ERRORS: not_ready (not completed yet); those of event_query.
  [[nodiscard]] static Result<Quiescence> of_event(Driver& driver, DeviceOrdinal device,
                                                   EventHandle event);
  // The same, after waiting for it.
  [[nodiscard]] static Result<Quiescence> after_event(Driver& driver, DeviceOrdinal device,
                                                      EventHandle event);
  // After waiting for all work of a stream of `device`, which has all work that uses the range.
  [[nodiscard]] static Result<Quiescence> after_stream(Driver& driver, DeviceOrdinal device,
                                                       StreamHandle stream);
  // After waiting for all work of the current context, which is one of `device`.
  [[nodiscard]] static Result<Quiescence> after_current_context(Driver& driver,
                                                                DeviceOrdinal device);
  // After waiting for all work of the devices' primary contexts, which the CUDA runtime and all
  // that is built on it use. Contexts that ctx_create made are not covered. Makes each primary
  // context current for a moment. ERRORS: those of retaining and synchronizing it.
  [[nodiscard]] static Result<Quiescence> after_device(Driver& driver, DeviceOrdinal device);
  [[nodiscard]] static Result<Quiescence> after_devices(Driver& driver,
                                                        std::span<const DeviceOrdinal> devices);
  // The caller's word that no work that could use the range was ever queued, or that it is known to
  // be done by means that the driver interface does not show. Covers every device.
  [[nodiscard]] static Quiescence promised() noexcept;

  // Proves nothing yet: others join it.
  [[nodiscard]] static Quiescence none() noexcept { return Quiescence(0); }

  // Takes over what `other` proves.
  void join(Quiescence other) noexcept;

  [[nodiscard]] bool covers(DeviceOrdinal device) const noexcept;
  // Whether all devices with a bit set (AccessSet::device_bits) are covered. ERRORS: not_permitted,
  // naming a device that is not; also when the proof was used up.
  [[nodiscard]] Status check_covers(std::uint64_t device_bits) const;

 private:
  explicit Quiescence(std::uint64_t device_bits) noexcept : device_bits_(device_bits) {}

  static Result<Quiescence> of(DeviceOrdinal device, const Status& done);

  std::uint64_t device_bits_;
};

}  // namespace tessera
