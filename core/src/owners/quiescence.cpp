#include "tessera/owners/quiescence.h"

#include <bit>
#include <utility>

#include "owners/primary_context.h"
#include "tessera/owners/access_set.h"

namespace tessera {
namespace {

constexpr std::uint64_t all_devices = ~std::uint64_t{0};

bool is_nameable(DeviceOrdinal device) noexcept {
  return device.value() >= 0 && device.value() < AccessSet::locations_max;
}

constexpr std::uint64_t bit_of(DeviceOrdinal device) noexcept {
  return std::uint64_t{1} << static_cast<unsigned>(device.value());
}

}  // namespace

Quiescence::Quiescence(Quiescence&& other) noexcept
    : device_bits_(std::exchange(other.device_bits_, 0)) {}

Quiescence& Quiescence::operator=(Quiescence&& other) noexcept {
  device_bits_ = std::exchange(other.device_bits_, 0);
  return *this;
}

Result<Quiescence> Quiescence::of(DeviceOrdinal device, const Status& done) {
  TESSERA_TRY(done);
  if (!is_nameable(device)) {
    return Error{.code = ErrorCode::invalid_device,
                 .reason = Reason::device_beyond_library,
                 .values = {static_cast<std::uint64_t>(std::int64_t{device.value()}),
                            std::uint64_t{AccessSet::locations_max - 1}}};
  }
  return Quiescence(bit_of(device));
}

Result<Quiescence> Quiescence::of_event(Driver& driver, DeviceOrdinal device, EventHandle event) {
  return of(device, driver.event_query(event));
}

Result<Quiescence> Quiescence::after_event(Driver& driver, DeviceOrdinal device,
                                           EventHandle event) {
  return of(device, driver.event_synchronize(event));
}

Result<Quiescence> Quiescence::after_stream(Driver& driver, DeviceOrdinal device,
                                            StreamHandle stream) {
  return of(device, driver.stream_synchronize(stream));
}

Result<Quiescence> Quiescence::after_current_context(Driver& driver, DeviceOrdinal device) {
  return of(device, driver.ctx_synchronize());
}

Result<Quiescence> Quiescence::after_device(Driver& driver, DeviceOrdinal device) {
  return of(device, detail::synchronize_primary_context(driver, device));
}

Result<Quiescence> Quiescence::after_devices(Driver& driver,
                                             std::span<const DeviceOrdinal> devices) {
  Quiescence all = none();
  for (const DeviceOrdinal device : devices) {
    TESSERA_TRY_ASSIGN(Quiescence one, after_device(driver, device));
    all.join(std::move(one));
  }
  return all;
}

Quiescence Quiescence::promised() noexcept { return Quiescence(all_devices); }

void Quiescence::join(Quiescence other) noexcept { device_bits_ |= other.device_bits_; }

bool Quiescence::covers(DeviceOrdinal device) const noexcept {
  return is_nameable(device) && (device_bits_ & bit_of(device)) != 0;
}

Status Quiescence::check_covers(std::uint64_t device_bits) const {
  const std::uint64_t missing = device_bits & ~device_bits_;
  if (missing != 0) {
    return Error{.code = ErrorCode::not_permitted,
                 .reason = Reason::device_not_proven_idle,
                 .values = {static_cast<std::uint64_t>(std::countr_zero(missing))}};
  }
  return {};
}

}  // namespace tessera
