// Memory that others import: descriptors, sizes and pieces that get lost on the way.
#include <thread>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "report_machine.h"
#include "tessera/buffers/growable_buffer.h"
#include "tessera/sharing/exported_memory.h"
#include "tessera/sharing/shared_memory.h"

namespace tessera::reports {
namespace {

struct Sockets {
  Sockets() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0); }
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;
  ~Sockets() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  std::array<int, 2> ends = {};
};

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }

PhysicalAllocation make_exportable(ReportMachine& m, Bytes size) {
  return must(PhysicalAllocation::create(
      m.use(), {.size = size, .memory = {.exports = HandleTypes::posix_file_descriptor}}));
}

int export_of(ReportMachine& m, AllocationHandle handle) {
  return must(m->mem_export_to_shareable_handle({.handle = handle})).file_descriptor;
}

// pytorch 191076: the import fails after the descriptor was received, which leaks.
TEST(Pytorch191076, BareCallsLeaveADescriptorOpen) {
  ReportMachine m({.faults = {Fault::each_of(Call::mem_import_from_shareable_handle,
                                             ErrorCode::out_of_memory)}});
  const AllocationHandle handle = m.exportable();
  const int descriptor = export_of(m, handle);
  EXPECT_FALSE(m->mem_import_from_shareable_handle({.file_descriptor = descriptor}));
  must(m->mem_release(handle));
  EXPECT_THAT(m.end(), Contains(RuleId::leak_descriptor));
  ::close(descriptor);
}

TEST(Pytorch191076, DescriptorsAreOwnedBeforeAnythingCanFail) {
  ReportMachine m({.faults = {Fault::each_of(Call::mem_import_from_shareable_handle,
                                             ErrorCode::out_of_memory)}});
  const Sockets sockets;
  ExportedMemory exported = must(ExportedMemory::of(make_exportable(m, unit)));
  must(send_memory(sockets.ends[0], exported));
  ReceivedMemory received = must(receive_memory(sockets.ends[1]));
  const int descriptor = received.descriptors.front().get();
  EXPECT_THAT(SharedMemory::import(m.use(), std::move(received), AccessSet::of_device(device_0)),
              fails_with(ErrorCode::out_of_memory));
  EXPECT_FALSE(is_open(descriptor));
  must(exported.close());
  EXPECT_THAT(m.end(), IsEmpty()) << m.text();
}

// pytorch 186213: each import reserves 9/8 of the device's memory in addresses; after hundreds of
// imports reserving is OUT_OF_MEMORY, and taken for a lack of memory.
TEST(Pytorch186213, BareCallsRunOutOfAddressesWithMemoryFree) {
  ReportMachine m;
  int reservations = 0;
  while (true) {
    const auto reserved = m->mem_address_reserve({.size = 158_GiB});
    if (!reserved) {
      EXPECT_EQ(reserved.error().code, ErrorCode::out_of_memory);
      EXPECT_THAT(to_string(reserved.error()), HasSubstr("memory is another budget"));
      break;
    }
    ASSERT_LT(++reservations, 10'000);
  }
  EXPECT_GT(must(m->mem_get_info()).free, 130_GiB);
}

TEST(Pytorch186213, AnImportReservesWhatItMaps) {
  ReportMachine m;
  const Sockets sockets;
  const ExportedMemory exported = must(ExportedMemory::of(make_exportable(m, 20_MiB)));
  const Bytes before = m.simulator().books().reserved;
  must(send_memory(sockets.ends[0], exported));
  const SharedMemory shared = must(SharedMemory::import(
      m.use(), must(receive_memory(sockets.ends[1])), AccessSet::of_device(device_0)));
  EXPECT_EQ(m.simulator().books().reserved - before, 20_MiB);
}

// pytorch 179220: the exporter closes its descriptor before the peer has it.
TEST(Pytorch179220, BareCallsImportWhatWasClosed) {
  ReportMachine m;
  const AllocationHandle handle = m.exportable();
  const int descriptor = export_of(m, handle);
  ::close(descriptor);
  EXPECT_THAT(m->mem_import_from_shareable_handle({.file_descriptor = descriptor}),
              fails_with(ErrorCode::unknown));
  EXPECT_EQ(m.broken(), std::vector{RuleId::import_not_exported});
}

TEST(Pytorch179220, WhatWasSentArrivesThoughTheExporterCloses) {
  ReportMachine m;
  const Sockets sockets;
  {
    ExportedMemory exported = must(ExportedMemory::of(make_exportable(m, unit)));
    must(send_memory(sockets.ends[0], exported));
    must(exported.close());
  }
  SharedMemory shared = must(SharedMemory::import(m.use(), must(receive_memory(sockets.ends[1])),
                                                  AccessSet::of_device(device_0)));
  must(shared.close(Quiescence::promised()));
  EXPECT_THAT(m.end(), IsEmpty()) << m.text();
}

// nccl 1820 and 2332: a buffer of several handles, of which only the first is exported.
TEST(Nccl1820, BareCallsExportOneHandleOfSeveral) {
  ReportMachine m;
  const DeviceAddress address = m.reserve(2);
  for (std::uint64_t i = 0; i < 2; ++i) {
    must(m.map(address + unit * i, 1, m.exportable()));
  }
  must(m.allow(address, 2));
  const AllocationHandle first = must(m->mem_retain_allocation_handle(address));
  const int descriptor = export_of(m, first);
  const AllocationHandle imported =
      must(m->mem_import_from_shareable_handle({.file_descriptor = descriptor}));
  // The importer maps the size that the user's buffer has.
  const DeviceAddress there = m.reserve(2);
  EXPECT_FALSE(m.map(there, 2, imported));
  EXPECT_EQ(m.broken(), std::vector{RuleId::map_not_whole_handle});
  ::close(descriptor);
}

TEST(Nccl1820, ExportingARangeGivesAllItsPieces) {
  ReportMachine m;
  const Sockets sockets;
  GrowableBuffer buffer =
      must(GrowableBuffer::make(m.use(), {.memory = {.exports = HandleTypes::posix_file_descriptor},
                                          .growth = GrowthPolicy::exact()}));
  must(buffer.grow_to(unit));
  must(buffer.grow_to(unit * 4));
  must(m->memset_d8({.destination = buffer.address() + unit * 3, .value = 9, .size = unit}));
  const ExportedMemory exported = must(ExportedMemory::of_range(m.use(), buffer.range()));
  EXPECT_EQ(exported.size(), unit * 4);
  must(send_memory(sockets.ends[0], exported));
  const SharedMemory shared = must(SharedMemory::import(
      m.use(), must(receive_memory(sockets.ends[1])), AccessSet::of_device(device_0)));
  EXPECT_EQ(shared.pieces().size(), 2U);
  std::array<std::byte, 1> last = {};
  must(m->memcpy_dtoh(
      {.destination = last, .source = shared.range().begin() + unit * 4 - Bytes(1)}));
  EXPECT_EQ(last[0], std::byte{9});
}

// mscclpp 451: the importer maps the size that the user asked for, not the rounded one.
TEST(Mscclpp451, BareCallsMapTheSizeThatWasAskedFor) {
  ReportMachine m;
  const AllocationHandle handle = m.exportable(2);
  const int descriptor = export_of(m, handle);
  const AllocationHandle imported =
      must(m->mem_import_from_shareable_handle({.file_descriptor = descriptor}));
  EXPECT_FALSE(m->mem_map({.address = m.reserve(2), .size = 3_MiB, .handle = imported}));
  EXPECT_THAT(m.broken(), Contains(RuleId::map_not_whole_handle));
  ::close(descriptor);
}

TEST(Mscclpp451, TheSizeTravelsWithTheExport) {
  ReportMachine m;
  const Sockets sockets;
  const ExportedMemory exported = must(ExportedMemory::of(make_exportable(m, 3_MiB)));
  must(send_memory(sockets.ends[0], exported));
  const SharedMemory shared = must(SharedMemory::import(
      m.use(), must(receive_memory(sockets.ends[1])), AccessSet::of_device(device_0)));
  EXPECT_EQ(shared.range().size(), 4_MiB);
}

// mscclpp 764: memory is released after its fabric handle was given out, which holds nothing.
sim::Profile with_fabric() {
  sim::Profile profile = *sim::built_in_profile("h200");
  profile.export_types = profile.export_types | HandleTypes::fabric;
  profile.not_permitted_types = HandleTypes::none;
  return profile;
}

TEST(Mscclpp764, BareCallsReleaseWhatAFabricHandleNames) {
  ReportMachine m({}, with_fabric());
  const AllocationHandle handle = m.create(1, {.requested_handle_types = HandleTypes::fabric});
  must(m->mem_export_to_shareable_handle({.handle = handle, .type = HandleTypes::fabric}));
  must(m->mem_release(handle));
  EXPECT_EQ(m.broken(), std::vector{RuleId::fabric_export_unheld});
}

TEST(Mscclpp764, AnExportKeepsItsMemoryWhileItIsPublished) {
  ReportMachine m({}, with_fabric());
  std::optional<PhysicalAllocation> memory = must(PhysicalAllocation::create(
      m.use(), {.size = unit, .memory = {.exports = HandleTypes::fabric}}));
  ExportedMemory exported = must(ExportedMemory::of(*memory, HandleTypes::fabric));
  memory.reset();
  EXPECT_EQ(m.simulator().books().allocations, 1U);
  must(exported.close());
  EXPECT_EQ(m.simulator().books().allocations, 0U);
}

// flashinfer 3869, smolvm 650: descriptors of exports stay open and pin the memory.
TEST(Flashinfer3869, BareCallsLeaveADescriptorThatPinsTheMemory) {
  ReportMachine m;
  const AllocationHandle handle = m.exportable();
  const int descriptor = export_of(m, handle);
  must(m->mem_release(handle));
  EXPECT_EQ(m.simulator().books().allocations, 1U);
  EXPECT_EQ(m.end(), std::vector{RuleId::leak_descriptor});
  EXPECT_THAT(m.text(), HasSubstr("descriptor " + std::to_string(descriptor)));
  ::close(descriptor);
}

TEST(Flashinfer3869, AnExportClosesItsDescriptors) {
  ReportMachine m;
  int descriptor = -1;
  {
    const ExportedMemory exported = must(ExportedMemory::of(make_exportable(m, unit)));
    descriptor = exported.descriptors().front().get();
    EXPECT_TRUE(is_open(descriptor));
  }
  EXPECT_FALSE(is_open(descriptor));
  EXPECT_THAT(m.end(), IsEmpty()) << m.text();
}

}  // namespace
}  // namespace tessera::reports
