#include "tessera/check.h"
#include "validation/checks.h"

namespace tessera::validation {
namespace {

bool check_map_part(Inspection& look, const MapRequest& request, const LiveHandle& handle) {
  const LiveMemory& memory = look.objects.memory(handle.memory);
  if ((memory.properties.usage & usage_tile_pool) != 0) {
    return look.report(RuleId::map_tile_pool, {request.handle.value()}, handle.made);
  }
  // How large memory of another process is, only its first mapping tells.
  const bool is_size_known = !(memory.is_foreign && memory.size.is_zero());
  if (!request.offset.is_zero() || request.size.is_zero() ||
      (is_size_known && request.size != memory.size)) {
    return look.report(RuleId::map_not_whole_handle,
                       {request.size.value(), request.offset.value(), memory.size.value()},
                       handle.made);
  }
  return true;
}

bool check_map_place(Inspection& look, const MapRequest& request) {
  if (!look.is_aligned_to_granularity(request.address.value())) {
    return look.report(RuleId::map_unaligned,
                       {request.address.value(), look.facts.granularity().value()});
  }
  const LiveReservation* reservation =
      look.reservation_at(RuleId::map_not_reserved, request.address);
  const auto range = look.range_of(request.address, request.size);
  if (reservation == nullptr || !range) {
    return false;
  }
  const LiveMapping* there = look.objects.mapping_from(range->begin());
  if (there != nullptr && there->range.begin() < range->end()) {
    return look.report(RuleId::map_over_mapping,
                       {there->range.begin().value(), there->range.size().value()}, there->made);
  }
  const DeviceAddress end = reservation->range.end();
  if (end < range->end()) {
    const bool crosses = look.objects.reservation_at(end) != nullptr;
    return look.report(crosses ? RuleId::map_crosses_reservations : RuleId::map_leaves_reservation,
                       {request.address.value(), request.size.value(), end.value()},
                       reservation->made);
  }
  return true;
}

// What lies in a range: where its mappings leave the first hole, and whether an end cuts one.
struct Contents {
  std::uint64_t mappings = 0;
  const LiveMapping* cut = nullptr;
  std::optional<DeviceAddress> hole;
};

Contents contents_of(const LiveObjects& objects, AddressRange range) {
  Contents found;
  DeviceAddress next = range.begin();
  objects.for_each_mapping(range, [&](const LiveMapping& mapping) {
    ++found.mappings;
    if (!range.contains(mapping.range)) {
      found.cut = found.cut == nullptr ? &mapping : found.cut;
    }
    if (mapping.range.begin() > next && !found.hole) {
      found.hole = next;
    }
    next = mapping.range.end();
  });
  if (next < range.end() && !found.hole) {
    found.hole = next;
  }
  return found;
}

void check_unmapped(Inspection& look, AddressRange range, const Contents& found) {
  const std::uint64_t begin = range.begin().value();
  const std::uint64_t size = range.size().value();
  if (found.mappings == 0) {
    const DeadObject* gone = look.objects.dead(DeadKind::mapping, begin);
    look.report(gone != nullptr ? RuleId::unmap_twice : RuleId::unmap_nothing, {begin, size},
                gone != nullptr ? gone->ended : MadeBy());
    return;
  }
  if (const PendingWork* work = look.work.in_flight(range)) {
    look.report(RuleId::unmap_in_flight, {begin, size, work->queued.call_number}, work->queued);
  }
  if (found.hole) {
    const bool is_unaligned =
        !look.is_aligned_to_granularity(begin) || !look.is_aligned_to_granularity(size);
    look.report(is_unaligned ? RuleId::unmap_unaligned : RuleId::unmap_over_hole,
                {begin, size, found.hole->value()});
  } else if (found.mappings > 1) {
    look.report(RuleId::unmap_several_mappings, {begin, size, found.mappings});
  }
}

}  // namespace

TESSERA_CHECK_CALL(mem_map) {
  if (!look.flags_are(request.flags)) {
    return;
  }
  const LiveHandle* handle = look.usable(request.handle, Inspection::Wants::either);
  if (handle != nullptr && check_map_part(look, request, *handle) &&
      check_map_place(look, request) && handle->rdma && handle->rdma->refuses_mappings()) {
    // Forgotten when it is unmapped, so it is there.
    const LiveMapping* unnoted = look.objects.mapping_at(handle->rdma->unnoted());
    TESSERA_CHECK(unnoted != nullptr);
    look.report(RuleId::map_rdma_unregistered, {handle->rdma->unnoted().value()}, unnoted->made);
  }
}

// How large memory of another process is, the driver knows.
TESSERA_CHECK_ANSWER(mem_map) {
  if (answer.error().code == ErrorCode::not_supported) {
    look.report(RuleId::map_not_whole_handle, {request.size.value(), request.offset.value(), 0});
  }
}

TESSERA_CHECK_CALL(mem_unmap) {
  if (request.size.is_zero()) {
    look.report(RuleId::unmap_size_zero, {request.address.value()});
    return;
  }
  if (look.reservation_at(RuleId::unmap_not_reserved, request.address) == nullptr) {
    return;
  }
  const auto range = AddressRange::make(request.address, request.size);
  if (!range) {
    look.report(RuleId::unmap_wraps, {request.address.value(), request.size.value()});
    return;
  }
  const Contents found = contents_of(look.objects, *range);
  if (found.cut != nullptr) {
    look.report(RuleId::unmap_cuts_mapping,
                {request.address.value(), found.cut->range.begin().value(),
                 found.cut->range.size().value()},
                found.cut->made);
    return;
  }
  check_unmapped(look, *range, found);
}

}  // namespace tessera::validation
