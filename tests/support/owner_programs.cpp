#include "support/owner_programs.h"

#include <array>
#include <utility>

#include <sys/socket.h>

#include "tessera/buffers/device_vector.h"
#include "tessera/buffers/mirrored_ring.h"
#include "tessera/buffers/sleepable_buffer.h"
#include "tessera/buffers/striped_buffer.h"
#include "tessera/owners/capabilities.h"
#include "tessera/owners/multicast.h"
#include "tessera/owners/peers.h"
#include "tessera/owners/retire_queue.h"
#include "tessera/owners/transaction.h"
#include "tessera/owners/vmm_alloc.h"
#include "tessera/sharing/shared_memory.h"

namespace tessera::test {
namespace {

constexpr DeviceOrdinal device_0{0};
constexpr DeviceOrdinal device_1{1};
constexpr std::array both = {device_0, device_1};
constexpr Bytes unit = 2_MiB;

Result<Mapping> mapped(DriverUse use, const AccessSet& access = AccessSet::of_device(device_0)) {
  TESSERA_TRY_ASSIGN(const Reservation reservation, Reservation::make(use, {.size = unit}));
  TESSERA_TRY_ASSIGN(const PhysicalAllocation memory,
                     PhysicalAllocation::create(use, {.size = unit}));
  TESSERA_TRY_ASSIGN(Mapping mapping, Mapping::map(reservation, Bytes(0), memory));
  TESSERA_TRY(mapping.grant(access));
  return mapping;
}

Status owners(DriverUse use) {
  TESSERA_TRY_ASSIGN(Mapping mapping, mapped(use, AccessSet::of_devices(both)));
  TESSERA_TRY_ASSIGN(Quiescence proof, Quiescence::after_device(*use.driver, device_1));
  TESSERA_TRY(mapping.revoke(AccessSet::of_device(device_1), std::move(proof)));
  TESSERA_TRY_ASSIGN(PhysicalAllocation again, PhysicalAllocation::retain(use, mapping.begin()));
  TESSERA_TRY(again.granted());
  TESSERA_TRY(again.close());
  return mapping.close(Quiescence::promised());
}

Status destructors(DriverUse use) {
  TESSERA_TRY(mapped(use));
  return {};
}

Status transaction(DriverUse use) {
  Transaction steps(use);
  TESSERA_TRY_ASSIGN(const Reservation* reservation, steps.reserve({.size = unit * 3}));
  for (std::uint64_t i = 0; i < 3; ++i) {
    TESSERA_TRY_ASSIGN(const PhysicalAllocation* memory, steps.create({.size = unit}));
    TESSERA_TRY(steps.map(*reservation, unit * i, *memory));
  }
  TESSERA_TRY(steps.grant(reservation->range(), AccessSet::of_device(device_0)));
  Transaction::Made made = steps.commit();
  for (Mapping& mapping : made.mappings) {
    TESSERA_TRY(mapping.close(Quiescence::promised()));
  }
  return {};
}

Status multicast(DriverUse use) {
  TESSERA_TRY_ASSIGN(const MulticastObject object,
                     MulticastObject::make(use, {.size = unit, .devices = both}));
  TESSERA_TRY_ASSIGN(const PhysicalAllocation memory,
                     PhysicalAllocation::create(use, {.size = object.size()}));
  TESSERA_TRY_ASSIGN(MulticastBinding binding, MulticastBinding::bind(object, Bytes(0), memory));
  return binding.close(Quiescence::promised());
}

Status retiring(DriverUse use) {
  TESSERA_TRY_ASSIGN(Mapping collected, mapped(use));
  TESSERA_TRY_ASSIGN(Mapping drained, mapped(use));
  TESSERA_TRY_ASSIGN(const EventHandle event, use.driver->event_create(EventFlags::none));
  const Status done = [&]() -> Status {
    TESSERA_TRY(use.driver->event_record({.event = event}));
    RetireQueue queue(*use.driver);
    TESSERA_TRY(queue.retire(collected, {{.device = device_0, .event = event}}));
    // Or a real device decides which calls come next.
    TESSERA_TRY(use.driver->event_synchronize(event));
    TESSERA_TRY(queue.collect());
    TESSERA_TRY(queue.retire(drained, {{.device = device_0, .event = event}}));
    return queue.drain();
  }();
  const Status destroyed = use.driver->event_destroy(event);
  return done ? destroyed : done;
}

Status allocating(DriverUse use) {
  TESSERA_TRY_ASSIGN(const DeviceAddress address, vmm_alloc(use, 3_MiB));
  const Status freed = vmm_free(*use.driver, address);
  if (!freed) {
    // As a careful program would: it is still allocated.
    static_cast<void>(vmm_free(*use.driver, address, Quiescence::promised()));
  }
  return freed;
}

Status peers(DriverUse use) {
  TESSERA_TRY_ASSIGN(Mapping mapping, mapped(use, {}));
  TESSERA_TRY(grant(mapping, std::span(both).first(1)));
  TESSERA_TRY(grant(*use.driver, mapping.range(), both));
  return mapping.close(Quiescence::promised());
}

Status capabilities(DriverUse use) {
  TESSERA_TRY(probe_capabilities(*use.driver, device_0));
  return {};
}

Status growing(DriverUse use) {
  TESSERA_TRY_ASSIGN(GrowableBuffer buffer,
                     GrowableBuffer::make(use, {.access = AccessSet::of_device(device_1),
                                                .reserve = unit * 2,
                                                .growth = GrowthPolicy::exact()}));
  TESSERA_TRY(buffer.grow_to(unit));
  TESSERA_TRY(buffer.grow_to(unit * 2));
  TESSERA_TRY(buffer.grow_to(unit * 4));  // moves
  TESSERA_TRY(buffer.shrink_to(unit * 2, Quiescence::promised()));
  TESSERA_TRY(buffer.release_retired(Quiescence::promised()));
  return buffer.close(Quiescence::promised());
}

Status growing_in_steps(DriverUse use) {
  TESSERA_TRY_ASSIGN(
      GrowableBuffer buffer,
      GrowableBuffer::make(
          use, {.reserve = unit * 8, .growth = GrowthPolicy::exact().in_steps_up_to(unit)}));
  TESSERA_TRY(buffer.grow_to(unit * 3));
  TESSERA_TRY(buffer.grow_to(unit * 6));
  return {};
}

Status vectors(DriverUse use) {
  TESSERA_TRY_ASSIGN(auto vector, DeviceVector<int>::make(
                                      use, {.reserve = unit * 2, .growth = GrowthPolicy::exact()}));
  TESSERA_TRY(vector.append(std::array{1, 2, 3}));
  TESSERA_TRY(vector.resize(1'000'000));
  return vector.shrink_to_fit(Quiescence::promised());
}

Status stripes(DriverUse use) {
  TESSERA_TRY_ASSIGN(StripedBuffer buffer,
                     StripedBuffer::make(use, {.size = unit * 4, .devices = {device_0, device_1}}));
  return buffer.close(Quiescence::promised());
}

Status rings(DriverUse use) {
  TESSERA_TRY_ASSIGN(MirroredRing ring, MirroredRing::make(use, {.capacity = unit}));
  return ring.close(Quiescence::promised());
}

Status sleeping(DriverUse use) {
  TESSERA_TRY_ASSIGN(SleepableBuffer buffer,
                     SleepableBuffer::make(use, {.size = unit * 2, .piece_size = unit}));
  TESSERA_TRY(buffer.sleep(Quiescence::promised(), Contents::keep_on_host));
  TESSERA_TRY(buffer.wake());
  TESSERA_TRY(buffer.sleep(Quiescence::promised()));
  return buffer.close(Quiescence::none());
}

Status sharing(DriverUse use) {
  std::array<int, 2> sockets = {};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    return Error{.code = ErrorCode::operating_system};
  }
  const FileDescriptor exporter(sockets[0]);
  const FileDescriptor importer(sockets[1]);
  TESSERA_TRY_ASSIGN(
      GrowableBuffer buffer,
      GrowableBuffer::make(use, {.memory = {.exports = HandleTypes::posix_file_descriptor},
                                 .reserve = unit * 4,
                                 .growth = GrowthPolicy::exact()}));
  TESSERA_TRY(buffer.grow_to(unit));
  TESSERA_TRY(buffer.grow_to(unit * 3));
  TESSERA_TRY_ASSIGN(ExportedMemory exported, ExportedMemory::of_range(use, buffer.range()));
  TESSERA_TRY(send_memory(exporter.get(), exported));
  TESSERA_TRY_ASSIGN(SharedMemory shared,
                     SharedMemory::receive(use, importer.get(), AccessSet::of_device(device_0)));
  TESSERA_TRY(receive_receipt(exporter.get()));
  TESSERA_TRY(exported.close());
  return shared.close(Quiescence::promised());
}

}  // namespace

const std::vector<OwnerProgram>& owner_programs() {
  static const std::vector<OwnerProgram> programs = {
      {.name = "owners", .body = owners, .devices = 2},
      // Where waiting for a device fails, a destructor unmaps all the same.
      {.name = "destructors", .body = destructors, .may_recover = true},
      {.name = "transaction", .body = transaction},
      {.name = "multicast", .body = multicast, .devices = 2, .simulated_only = true},
      // What is not to be collected yet is waited for.
      {.name = "retiring", .body = retiring, .may_recover = true},
      // Lost contexts have no work: freeing goes on.
      {.name = "allocating", .body = allocating, .may_recover = true},
      // An attribute that is refused says that nothing is mapped.
      {.name = "peers", .body = peers, .devices = 2, .may_recover = true},
      // What cannot be had is an answer.
      {.name = "capabilities", .body = capabilities, .may_recover = true},
      // A smaller reservation, or smaller pieces, will do.
      {.name = "growing", .body = growing, .devices = 2, .may_recover = true},
      {.name = "growing_in_steps", .body = growing_in_steps, .may_recover = true},
      {.name = "vectors", .body = vectors, .may_recover = true},
      {.name = "stripes", .body = stripes, .devices = 2},
      {.name = "rings", .body = rings},
      {.name = "sleeping", .body = sleeping},
      {.name = "sharing", .body = sharing, .may_recover = true},
  };
  return programs;
}

Status run_owner_program(const OwnerProgram& program, Driver& driver) {
  CollectingSink sink;
  Status done = program.body({driver, sink});
  if (done && !sink.failures().empty()) {
    done = sink.failures().front().error;
  }
  const Status retried = sink.retry_all();
  return done ? retried : done;
}

}  // namespace tessera::test
