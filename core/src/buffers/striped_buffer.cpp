#include "tessera/buffers/striped_buffer.h"

#include <numeric>
#include <utility>

#include "buffers/buffer_access.h"
#include "tessera/owners/peers.h"
#include "tessera/owners/transaction.h"

namespace tessera {
namespace {

// Every device of `options` gets access, and whoever else it names.
// ERRORS: a device does not exist, or does not reach the memory of another.
Result<AccessSet> access_of_all(Driver& driver, const StripedBufferOptions& options) {
  TESSERA_TRY(detail::check_devices(driver, options.devices));
  const AccessSet access = AccessSet::of_devices(options.devices).joined_with(options.access);
  const std::vector<DeviceOrdinal> accessors = access.devices();
  for (const DeviceOrdinal owner : options.devices) {
    TESSERA_TRY(check_reach(driver, owner, accessors));
  }
  return access;
}

MemoryOptions on(DeviceOrdinal device, MemoryOptions memory) noexcept {
  memory.location = on_device(device);
  return memory;
}

Result<Bytes> common_granularity(Driver& driver, const StripedBufferOptions& options) {
  std::uint64_t common = 1;
  for (const DeviceOrdinal device : options.devices) {
    TESSERA_TRY_ASSIGN(const Bytes one, granularity_of(driver, on(device, options.memory)));
    common = std::lcm(common, one.value());
  }
  return Bytes(common);
}

}  // namespace

StripedBuffer::StripedBuffer(Bytes size, const AccessSet& access, Reservation reservation) noexcept
    : size_(size), access_(access), reservation_(std::move(reservation)) {}

Result<StripedBuffer> StripedBuffer::make(DriverUse use, const StripedBufferOptions& options,
                                          CallSite site) {
  Driver& driver = *use.driver;
  if (options.devices.empty()) {
    return Error{.code = ErrorCode::invalid_value, .reason = Reason::no_devices};
  }
  TESSERA_TRY_ASSIGN(const AccessSet access, access_of_all(driver, options));
  TESSERA_TRY_ASSIGN(const Bytes granularity, common_granularity(driver, options));
  const std::size_t count = options.devices.size();
  TESSERA_TRY_ASSIGN(const Bytes size, rounded_size(options.size, granularity * count));
  const Bytes stripe(size.value() / count);

  Transaction transaction(use, site);
  TESSERA_TRY_ASSIGN(const Reservation* reservation,
                     transaction.reserve({.size = size, .granularity = granularity}));
  for (std::size_t i = 0; i < count; ++i) {
    TESSERA_TRY_ASSIGN(const PhysicalAllocation* memory,
                       transaction.create({.size = stripe,
                                           .memory = on(options.devices[i], options.memory),
                                           .granularity = granularity}));
    TESSERA_TRY(transaction.map(*reservation, stripe * i, *memory));
  }
  TESSERA_TRY(transaction.grant(reservation->range(), access));

  Transaction::Made made = transaction.commit();
  StripedBuffer buffer(options.size, access, std::move(made.reservations.front()));
  for (std::size_t i = 0; i < count; ++i) {
    buffer.row_.append(std::move(made.allocations[i]), std::move(made.mappings[i]));
  }
  return buffer;
}

AddressRange StripedBuffer::stripe(std::size_t index) const noexcept {
  TESSERA_CHECK(index < row_.count());
  return pieces()[index].range();
}

Result<DeviceOrdinal> StripedBuffer::device_at(DeviceAddress address) const {
  if (!is_open()) {
    return detail::buffer_is_closed();
  }
  const AddressRange all(this->address(), capacity());
  if (!all.contains(address)) {
    return Error{.code = ErrorCode::invalid_value,
                 .reason = Reason::address_outside_buffer,
                 .values = {address.value(), all.begin().value(), all.size().value()}};
  }
  const std::uint64_t index = (address - all.begin()) / stripe_size();
  return DeviceOrdinal(pieces()[index].mapping.memory_location().id);
}

Status StripedBuffer::close(Quiescence proof) {
  if (!is_open()) {
    return {};
  }
  TESSERA_TRY(proof.check_covers(row_.device_bits()));
  TESSERA_TRY(row_.shorten_to(0));
  return reservation_.close();
}

}  // namespace tessera
