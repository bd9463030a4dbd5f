#include <utility>

#include <unistd.h>

#include "rule_machine.h"

namespace tessera::rules {
namespace {

Status create_with(RuleMachine& m, const AllocationProperties& properties) {
  const auto handle = m->mem_create({.size = m.units(1), .properties = properties});
  return handle ? Status() : Status(handle.error());
}

TESSERA_BREAKS(create_size) {
  static_cast<void>(m->mem_create({.size = Bytes(6912), .properties = {}}));
}
TESSERA_KEEPS(create_size) {
  const Bytes granularity = must(m->mem_get_allocation_granularity({}));
  must(m->mem_create({.size = align_up(Bytes(6912), granularity), .properties = {}}));
}

TESSERA_BREAKS(create_type) {
  static_cast<void>(create_with(m, {.type = AllocationType::managed}));
}
TESSERA_KEEPS(create_type) { must(create_with(m, {.type = AllocationType::pinned})); }

TESSERA_BREAKS(create_reserved_bytes) {
  static_cast<void>(create_with(m, {.reserved = {1, 0, 0, 0}}));
}
TESSERA_KEEPS(create_reserved_bytes) { must(create_with(m, {.reserved = {}})); }

TESSERA_BREAKS(create_location) {
  static_cast<void>(create_with(m, {.location = {.type = LocationType::none}}));
}
TESSERA_KEEPS(create_location) {
  must(create_with(m, {.location = {.type = LocationType::host}}));
  must(create_with(m, {.location = {.type = LocationType::host_numa}}));
}
TEST(Validation, LearnsFromTheAnswerThatThereIsNoSuchNode) {
  RuleMachine m(h200(), ValidationMode::refuse);
  EXPECT_FALSE(create_with(m, {.location = {.type = LocationType::host_numa, .id = 60}}));
  EXPECT_EQ(m->findings().at(0).rule, RuleId::create_location);
  EXPECT_FALSE(m->findings().at(0).was_refused);
}

TESSERA_BREAKS(create_export_types_unknown) {
  static_cast<void>(create_with(m, {.requested_handle_types = static_cast<HandleTypes>(16)}));
}
TESSERA_KEEPS(create_export_types_unknown) {
  must(create_with(m, {.requested_handle_types = HandleTypes::posix_file_descriptor}));
}

TESSERA_BREAKS(create_export_types_unsupported) {
  static_cast<void>(create_with(m, {.requested_handle_types = HandleTypes::win32}));
}
// What the attribute promises and the machine does not permit is found out by trying.
TESSERA_KEEPS(create_export_types_unsupported) {
  EXPECT_FALSE(create_with(m, {.requested_handle_types = HandleTypes::fabric}));
}

TESSERA_BREAKS(create_properties_conflict) {
  static_cast<void>(
      create_with(m, {.location = {.type = LocationType::host}, .gpu_direct_rdma_capable = 1}));
}
TESSERA_KEEPS(create_properties_conflict) { must(create_with(m, {.gpu_direct_rdma_capable = 1})); }

TESSERA_BREAKS(create_compression) {
  static_cast<void>(create_with(m, {.compression = static_cast<Compression>(2)}));
}
TESSERA_KEEPS(create_compression) { must(create_with(m, {.compression = Compression::generic})); }

// 2 TiB.
TESSERA_BREAKS(create_tile_pool_too_large) {
  static_cast<void>(
      m->mem_create({.size = m.units(1U << 20U), .properties = {.usage = usage_tile_pool}}));
}
TESSERA_KEEPS(create_tile_pool_too_large) { must(create_with(m, {.usage = usage_tile_pool})); }

TESSERA_BREAKS(null_handle) { static_cast<void>(m->mem_release({})); }
TESSERA_KEEPS(null_handle) { must(m->mem_release(m.create(1))); }

TESSERA_BREAKS(unknown_handle) {
  static_cast<void>(m.map(m.reserve(1), 1, AllocationHandle(0xbad)));
}
TESSERA_KEEPS(unknown_handle) { must(m.map(m.reserve(1), 1, m.create(1))); }

TESSERA_BREAKS(stale_handle) {
  const AllocationHandle handle = m.create(1);
  must(m->mem_release(handle));
  static_cast<void>(m.map(m.reserve(1), 1, handle));
}
TESSERA_KEEPS(stale_handle) {
  const AllocationHandle handle = m.create(1);
  must(m.map(m.reserve(1), 1, handle));
  must(m->mem_release(handle));
}

TESSERA_BREAKS(use_after_release) {
  const AllocationHandle handle = m.create(1);
  must(m.map(m.reserve(1), 1, handle));
  must(m->mem_release(handle));
  static_cast<void>(m.map(m.reserve(1), 1, handle));
}
TESSERA_KEEPS(use_after_release) {
  const DeviceAddress address = m.mapped(1);
  const AllocationHandle handle = must(m->mem_retain_allocation_handle(address));
  must(m.map(m.reserve(1), 1, handle));
  must(m->mem_release(handle));
}

TESSERA_BREAKS(release_too_often) {
  const AllocationHandle handle = m.create(1);
  must(m.map(m.reserve(1), 1, handle));
  must(m->mem_release(handle));
  static_cast<void>(m->mem_release(handle));
}
TESSERA_KEEPS(release_too_often) {
  const AllocationHandle handle = m.create(1);
  const DeviceAddress address = m.reserve(1);
  must(m.map(address, 1, handle));
  must(m->mem_retain_allocation_handle(address));
  must(m->mem_release(handle));
  must(m->mem_release(handle));
}
TEST(Validation, NamesADoubleReleaseOfWhatIsGone) {
  RuleMachine m(h200(), ValidationMode::report);
  const AllocationHandle handle = m.create(1);
  must(m->mem_release(handle));
  EXPECT_FALSE(m->mem_release(handle));
  EXPECT_EQ(m->findings().at(0).rule, RuleId::release_too_often);
  EXPECT_EQ(m->findings().at(0).object.call, Call::mem_release);
}

TESSERA_BREAKS(handle_is_multicast) {
  const AllocationHandle handle =
      must(m->multicast_create({.device_count = 2, .size = m.units(1)}));
  static_cast<void>(m->mem_get_allocation_properties_from_handle({.handle = handle}));
}
TESSERA_KEEPS(handle_is_multicast) {
  must(m->mem_get_allocation_properties_from_handle({.handle = m.create(1)}));
}

TESSERA_BREAKS(retain_not_mapped) {
  const DeviceAddress address = m.mapped(1);
  must(m.unmap(address, 1));
  static_cast<void>(m->mem_retain_allocation_handle(address));
}
TESSERA_KEEPS(retain_not_mapped) {
  const DeviceAddress address = m.mapped(2);
  must(m->mem_retain_allocation_handle(address + m.units(1)));
}

TESSERA_BREAKS(export_type_not_requested) {
  static_cast<void>(m->mem_export_to_shareable_handle({.handle = m.create(1)}));
}
TESSERA_KEEPS(export_type_not_requested) {
  const auto exported = must(m->mem_export_to_shareable_handle({.handle = m.exportable()}));
  ::close(exported.file_descriptor);
}

TESSERA_BREAKS(export_imported) {
  const auto exported = must(m->mem_export_to_shareable_handle({.handle = m.exportable()}));
  const AllocationHandle imported = must(m->mem_import_from_shareable_handle(exported));
  ::close(exported.file_descriptor);
  static_cast<void>(m->mem_export_to_shareable_handle({.handle = imported}));
}
TESSERA_KEEPS(export_imported) {
  const AllocationHandle handle = m.exportable();
  for (int i = 0; i < 2; ++i) {
    const auto exported = must(m->mem_export_to_shareable_handle({.handle = handle}));
    must(m->mem_import_from_shareable_handle(exported));
    ::close(exported.file_descriptor);
  }
}

TESSERA_BREAKS(export_not_one_type) {
  static_cast<void>(m->mem_export_to_shareable_handle(
      {.handle = m.exportable(),
       .type = HandleTypes::posix_file_descriptor | HandleTypes::fabric}));
}
TESSERA_KEEPS(export_not_one_type) {
  const auto exported = must(m->mem_export_to_shareable_handle(
      {.handle = m.exportable(), .type = HandleTypes::posix_file_descriptor}));
  ::close(exported.file_descriptor);
}

TESSERA_BREAKS(import_not_exported) {
  const auto exported = must(m->mem_export_to_shareable_handle({.handle = m.exportable()}));
  ::close(exported.file_descriptor);
  static_cast<void>(m->mem_import_from_shareable_handle(exported));
}
TESSERA_KEEPS(import_not_exported) {
  const auto exported = must(m->mem_export_to_shareable_handle({.handle = m.exportable()}));
  must(m->mem_import_from_shareable_handle(exported));
  ::close(exported.file_descriptor);
}

// By a duplicate, as from another process: the layer cannot know how large it is.
TEST(Validation, LearnsFromTheAnswerThatAnImportIsLarger) {
  RuleMachine m(h200(), ValidationMode::report);
  const AllocationHandle handle =
      m.create(2, {.requested_handle_types = HandleTypes::posix_file_descriptor});
  auto exported = must(m->mem_export_to_shareable_handle({.handle = handle}));
  const int duplicate = ::dup(exported.file_descriptor);
  ::close(std::exchange(exported.file_descriptor, duplicate));
  const AllocationHandle imported = must(m->mem_import_from_shareable_handle(exported));
  EXPECT_FALSE(m.map(m.reserve(1), 1, imported));
  EXPECT_EQ(m->findings().at(0).rule, RuleId::map_not_whole_handle);
  must(m.map(m.reserve(2), 2, imported));
  EXPECT_EQ(m->finding_count(), 1U);
  ::close(duplicate);
}

TESSERA_BREAKS_ON(with_fabric, fabric_export_unheld) {
  const AllocationHandle handle = m.create(1, {.requested_handle_types = HandleTypes::fabric});
  must(m->mem_export_to_shareable_handle({.handle = handle, .type = HandleTypes::fabric}));
  static_cast<void>(m->mem_release(handle));
}
TESSERA_KEEPS_ON(with_fabric, fabric_export_unheld) {
  const AllocationHandle handle = m.create(1, {.requested_handle_types = HandleTypes::fabric});
  must(m->mem_export_to_shareable_handle({.handle = handle, .type = HandleTypes::fabric}));
  must(m.map(m.reserve(1), 1, handle));
  must(m->mem_release(handle));  // the mapping holds it
}

}  // namespace
}  // namespace tessera::rules
