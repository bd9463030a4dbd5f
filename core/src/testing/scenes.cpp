// Scenes: short sequences that lead to where chance seldom goes.
#include <algorithm>
#include <array>
#include <numeric>

#include "tessera/requests.h"
#include "testing/maker.h"

namespace tessera::testing {
namespace {

constexpr std::uint8_t as_fd = 1;

Place inside(std::uint8_t reservation, int granules) noexcept {
  return {.base = SlotKind::reservation,
          .slot = reservation,
          .granules = static_cast<std::int8_t>(granules)};
}

}  // namespace

std::uint8_t ProgramGenerator::Maker::reserve(std::int16_t count) {
  const std::uint8_t slot = vacant(SlotKind::reservation);
  add({.kind = OpKind::reserve,
       .result = slot,
       .size = granules(rounded(count)),
       .extra = plain_bytes(0)});
  return slot;
}

std::uint8_t ProgramGenerator::Maker::create(std::int16_t count, std::uint8_t types,
                                             std::int8_t device) {
  const std::uint8_t slot = vacant(SlotKind::handle);
  add({.kind = OpKind::create,
       .result = slot,
       .size = granules(count),
       .device = device,
       .choice = 1,
       .value = types});
  return slot;
}

void ProgramGenerator::Maker::map(std::uint8_t reservation, int at, std::int16_t count,
                                  std::uint8_t handle) {
  add({.kind = OpKind::map,
       .object = handle,
       .place = inside(reservation, at),
       .size = granules(count),
       .extra = plain_bytes(0)});
}

void ProgramGenerator::Maker::unmap(std::uint8_t reservation, int at, std::int16_t count) {
  add({.kind = OpKind::unmap, .place = inside(reservation, at), .size = granules(count)});
}

void ProgramGenerator::Maker::grant(std::uint8_t reservation, int at, std::int16_t count,
                                    std::int8_t device, std::uint8_t flags) {
  add({.kind = OpKind::set_access,
       .place = inside(reservation, at),
       .size = granules(count),
       .device = device,
       .choice = 1,
       .value = flags});
}

void ProgramGenerator::Maker::release(std::uint8_t handle) {
  add({.kind = OpKind::release, .object = handle});
}

void ProgramGenerator::Maker::touch(OpKind kind, std::uint8_t reservation, int at,
                                    std::uint8_t value) {
  add({.kind = kind, .place = inside(reservation, at), .size = plain_bytes(4), .value = value});
}

void ProgramGenerator::Maker::fill_memory() {
  const int all = options_.memory_granules;
  if (all == 0) {
    // So much at once that only two or three fit.
    for (int i = 0; i < 3; ++i) {
      add({.kind = OpKind::create,
           .result = vacant(SlotKind::handle),
           .size = {.unit = SizeUnit::granules, .bytes = 0, .count = 30'000},
           .choice = 1});
    }
    return;
  }
  const auto size = static_cast<std::int16_t>(std::max(all / choices_.between(2, 5), 1));
  for (int taken = 0; taken <= all && vacant(SlotKind::handle) != no_slot; taken += size) {
    create(size);
  }
}

void ProgramGenerator::Maker::fill_addresses() {
  const int all = options_.address_granules;
  for (int i = 0; i < 4 && vacant(SlotKind::reservation) != no_slot; ++i) {
    add({.kind = OpKind::reserve,
         .result = vacant(SlotKind::reservation),
         .size = all == 0 ? Size{.unit = SizeUnit::tebibytes, .bytes = 0, .count = 40}
                          : granules(rounded(all / 3)),
         .extra = plain_bytes(0)});
  }
}

void ProgramGenerator::Maker::fill_page_tables() {
  const int all = options_.mappings;
  if (all == 0 || all >= Sketch::reservation_max) {
    return;
  }
  const std::uint8_t addresses = reserve(static_cast<std::int16_t>(all + 1));
  const std::uint8_t memory = create(1);
  for (int i = 0; i <= all; ++i) {
    map(addresses, i, 1, memory);
  }
  grant(addresses, 0, static_cast<std::int16_t>(all));
  grant(addresses, all, 1);
}

void ProgramGenerator::Maker::fragment() {
  const auto part = static_cast<std::int16_t>(std::max<int>(options_.memory_granules / 5, 2));
  std::array<std::uint8_t, 4> handles = {};
  for (std::uint8_t& handle : handles) {
    handle = create(part);
  }
  release(handles[0]);
  release(handles[2]);
  create(static_cast<std::int16_t>(part * 2));
}

void ProgramGenerator::Maker::unmap_several() {
  const std::uint8_t addresses = reserve(6);
  const std::uint8_t first = create(2);
  const std::uint8_t second = create(1);
  map(addresses, 0, 2, first);
  map(addresses, 2, 1, second);
  if (choices_.chance(50)) {
    grant(addresses, 0, 3);
    Place border = inside(addresses, 2);
    border.bytes = -2;
    add({.kind = OpKind::htod, .place = border, .size = plain_bytes(4), .value = 1});
  }
  unmap(addresses, 0, 3);
}

void ProgramGenerator::Maker::grant_over_hole() {
  const std::uint8_t addresses = reserve(4);
  const std::uint8_t memory = create(1);
  map(addresses, 0, 1, memory);
  map(addresses, 2, 1, memory);
  grant(addresses, 0, 3);
  touch(OpKind::htod, addresses, choices_.chance(50) ? 0 : 2, 1);
  unmap(addresses, 0, 4);
}

void ProgramGenerator::Maker::remap() {
  const std::uint8_t addresses = reserve(4);
  const std::uint8_t memory = create(1);
  map(addresses, 0, 1, memory);
  grant(addresses, 0, 1);
  touch(OpKind::htod, addresses, 0, 3);
  unmap(addresses, 0, 1);
  map(addresses, 3, 1, memory);
  grant(addresses, 3, 1);
  touch(OpKind::expect, addresses, 3, 3);
}

void ProgramGenerator::Maker::alias() {
  const std::uint8_t addresses = reserve(4);
  const std::uint8_t memory = create(2);
  map(addresses, 0, 2, memory);
  map(addresses, 2, 2, memory);
  if (choices_.chance(50)) {
    release(memory);
  }
  grant(addresses, 0, 4);
  touch(OpKind::htod, addresses, 1, 2);
  touch(OpKind::expect, addresses, 3, 2);
}

void ProgramGenerator::Maker::share() {
  if (!options_.descriptors) {
    return;
  }
  const std::uint8_t memory = create(1, as_fd);
  const std::uint8_t descriptor = vacant(SlotKind::descriptor);
  add({.kind = OpKind::export_fd, .result = descriptor, .object = memory, .value = as_fd});
  if (choices_.chance(70)) {
    release(memory);
  }
  add({.kind = OpKind::mem_info});
  if (choices_.chance(70)) {
    const std::uint8_t imported = vacant(SlotKind::handle);
    add({.kind = OpKind::import_fd, .result = imported, .object = descriptor});
    const std::uint8_t addresses = reserve(2);
    map(addresses, 0, 1, imported);
    add({.kind = OpKind::properties, .object = imported});
  }
  add({.kind = OpKind::close_fd, .object = descriptor});
  add({.kind = OpKind::mem_info});
}

void ProgramGenerator::Maker::fault() {
  const std::uint8_t addresses = reserve(2);
  if (choices_.chance(50)) {
    map(addresses, 0, 1, create(1));
  }
  add({.kind = OpKind::launch,
       .place = inside(addresses, 0),
       .extra = plain_bytes(static_cast<std::int16_t>(choices_.between(0, 3))),
       .choice = static_cast<std::uint8_t>(choices_.below(2)),
       .value = 1});
  add({.kind = OpKind::ctx_sync});
  if (choices_.chance(50)) {
    add({.kind = OpKind::ctx_reset});
    add({.kind = OpKind::ctx_retain});
  }
}

void ProgramGenerator::Maker::unmap_under_work() {
  const std::uint8_t addresses = reserve(2);
  const std::uint8_t memory = create(1);
  map(addresses, 0, 1, memory);
  grant(addresses, 0, 1);
  add({.kind = OpKind::launch,
       .place = inside(addresses, 0),
       .extra = plain_bytes(40),
       .choice = 1,
       .value = 2});
  if (choices_.chance(50)) {
    add({.kind = OpKind::launch,
         .place = inside(addresses, 0),
         .extra = plain_bytes(20),
         .value = 3});
  }
  if (choices_.chance(50)) {
    add({.kind = OpKind::ctx_sync});
  }
  unmap(addresses, 0, 1);
  add({.kind = OpKind::ctx_sync});
}

void ProgramGenerator::Maker::reach_peer() {
  if (options_.devices < 2) {
    return;
  }
  const std::uint8_t addresses = reserve(2);
  const std::uint8_t memory = create(1, 0, 1);
  map(addresses, 0, 1, memory);
  grant(addresses, 0, 1, 0);
  touch(OpKind::htod, addresses, 0, 2);
  add({.kind = OpKind::ctx_retain, .device = 1});
  const std::uint8_t pointer = vacant(SlotKind::pointer);
  add({.kind = OpKind::alloc, .result = pointer, .size = plain_bytes(256)});
  add({.kind = OpKind::ctx_set});
  if (choices_.chance(50)) {
    add({.kind = OpKind::peer_enable, .device = 1});
  }
  add({.kind = OpKind::memset,
       .place = {.base = SlotKind::pointer, .slot = pointer},
       .size = plain_bytes(4),
       .value = 1});
}

void ProgramGenerator::Maker::multicast() {
  if (!options_.multicast) {
    return;
  }
  const std::uint8_t object = vacant(SlotKind::handle);
  const auto devices = static_cast<std::int8_t>(options_.devices);
  add({.kind = OpKind::mc_create, .result = object, .size = granules(1), .device = devices});
  for (std::int8_t device = 0; device < devices; ++device) {
    add({.kind = OpKind::mc_add, .object = object, .device = device});
  }
  const std::uint8_t addresses = reserve(4);
  for (std::int8_t device = 0; device < devices; ++device) {
    const std::uint8_t memory = create(1, 0, device);
    add({.kind = OpKind::mc_bind,
         .object = object,
         .other = memory,
         .size = granules(1),
         .extra = plain_bytes(0)});
    map(addresses, device + 1, 1, memory);
  }
  map(addresses, 0, 1, object);
  grant(addresses, 0, static_cast<std::int16_t>(devices + 1));
  touch(OpKind::htod, addresses, 0, 3);
  touch(OpKind::expect, addresses, 1, 3);
}

void ProgramGenerator::Maker::leave_reservation() {
  const std::uint8_t addresses = reserve(2);
  const std::uint8_t memory = create(static_cast<std::int16_t>(rounded(2) + 1));
  map(addresses, 0, static_cast<std::int16_t>(rounded(2) + 1), memory);
  add({.kind = OpKind::retain,
       .result = vacant(SlotKind::handle),
       .place = inside(addresses, rounded(2))});
}

// Memory for GPU-direct RDMA whose first mapping goes before access is set for the others.
void ProgramGenerator::Maker::lose_rdma_mapping() {
  const std::uint8_t addresses = reserve(4);
  const std::uint8_t memory = vacant(SlotKind::handle);
  add({.kind = OpKind::create,
       .result = memory,
       .other = create_rdma,
       .size = granules(1),
       .choice = 1});
  for (int at = 0; at < 3; ++at) {
    map(addresses, at, 1, memory);
  }
  unmap(addresses, 0, 1);
  grant(addresses, 1, 1,
        static_cast<std::int8_t>(choices_.below(static_cast<std::uint32_t>(options_.devices))));
  if (choices_.chance(50)) {
    grant(addresses, 1, 1, 0, static_cast<std::uint8_t>(choices_.below(2)));
  }
  grant(addresses, 2, 1);
  map(addresses, 3, 1, memory);
}

std::uint8_t ProgramGenerator::Maker::reserve_accessible() {
  const std::uint8_t addresses = reserve(1);
  map(addresses, 0, 1, create(1));
  grant(addresses, 0, 1);
  return addresses;
}

std::uint8_t ProgramGenerator::Maker::create_stream() {
  const std::uint8_t stream = vacant(SlotKind::stream);
  add({.kind = OpKind::stream_create,
       .result = stream,
       .choice = static_cast<std::uint8_t>(choices_.below(2))});
  return stream;
}

std::uint8_t ProgramGenerator::Maker::reserve_with_host_memory(bool may_write) {
  constexpr auto host_numa = static_cast<std::uint8_t>(LocationType::host_numa);
  constexpr auto host = static_cast<std::uint8_t>(LocationType::host);
  const std::uint8_t memory = vacant(SlotKind::handle);
  add({.kind = OpKind::create, .result = memory, .size = granules(1), .choice = host_numa});
  const std::uint8_t addresses = reserve(2);
  map(addresses, 0, 1, memory);
  add({.kind = OpKind::set_access,
       .place = inside(addresses, 0),
       .size = granules(1),
       .choice = host,
       .value = static_cast<std::uint8_t>(may_write ? 3 : 1)});
  map(addresses, 1, 1, create(1));
  grant(addresses, 1, 1);
  return addresses;
}

// Memory on the host to which only the host has access.
void ProgramGenerator::Maker::copy_by_cpu() {
  const std::uint8_t addresses = reserve_with_host_memory(choices_.chance(80));
  touch(OpKind::htod, addresses, 0, 5);
  add({.kind = OpKind::launch,
       .place = inside(addresses, 1),
       .extra = plain_bytes(20),
       .choice = 1,
       .value = 2});
  const bool reads = choices_.chance(50);
  add({.kind = OpKind::dtod,
       .place = inside(addresses, reads ? 1 : 0),
       .source = inside(addresses, reads ? 0 : 1),
       .size = plain_bytes(4),
       .flags = 1});
  touch(OpKind::expect, addresses, 0, 5);
}

// Memory that host and device share: the CPU reads a little of it for a stream that is idle, and
// must not before work that writes there.
void ProgramGenerator::Maker::copy_shared() {
  const std::uint8_t addresses = reserve_with_host_memory(true);
  grant(addresses, 0, 1);
  touch(OpKind::htod, addresses, 0, 5);
  const bool is_busy = choices_.chance(50);
  if (is_busy) {
    add({.kind = OpKind::launch,
         .place = inside(addresses, 0),
         .extra = plain_bytes(20),
         .choice = 1,
         .value = 6});
  }
  Place source = inside(addresses, 0);
  if (choices_.chance(30)) {
    // The rest is in memory of the device.
    source.granules = 1;
    source.bytes = -2;
  }
  Place destination = inside(addresses, 1);
  destination.bytes = 8;
  add({.kind = OpKind::dtod,
       .place = destination,
       .source = source,
       .size = plain_bytes(4),
       .flags = 1});
  add({.kind = OpKind::expect,
       .place = destination,
       .size = plain_bytes(4),
       .value = static_cast<std::uint8_t>(is_busy ? 6 : 5)});
}

void ProgramGenerator::Maker::end_contexts() {
  const std::uint8_t context = vacant(SlotKind::context);
  add({.kind = OpKind::ctx_create, .result = context});
  const std::uint8_t pointer = vacant(SlotKind::pointer);
  add({.kind = OpKind::alloc, .result = pointer, .size = plain_bytes(1000)});
  add({.kind = OpKind::stream_create, .result = vacant(SlotKind::stream)});
  if (choices_.chance(50)) {
    add({.kind = OpKind::ctx_set});
  }
  add({.kind = OpKind::ctx_destroy, .object = context});
  add({.kind = OpKind::attribute,
       .place = {.base = SlotKind::pointer, .slot = pointer},
       .choice = 13});
}

// A pool's memory outlives its device's contexts.
void ProgramGenerator::Maker::end_contexts_of_pool() {
  const std::uint8_t stream = create_stream();
  const std::uint8_t pointer = vacant(SlotKind::pointer);
  const Place memory = {.base = SlotKind::pointer, .slot = pointer};
  add({.kind = OpKind::alloc_async,
       .result = pointer,
       .other = choices_.chance(50) ? stream : no_slot,
       .size = plain_bytes(256)});
  add({.kind = OpKind::memset, .place = memory, .size = plain_bytes(4), .value = 5});
  if (choices_.chance(20)) {
    add({.kind = OpKind::free_async, .other = stream, .place = memory});
  }
  add({.kind = choices_.chance(50) ? OpKind::ctx_reset : OpKind::ctx_release});
  if (choices_.chance(80)) {
    add({.kind = OpKind::ctx_retain});
    add({.kind = OpKind::ctx_set});
  }
  add({.kind = OpKind::expect, .place = memory, .size = plain_bytes(4), .value = 5});
  add({.kind = OpKind::attribute, .place = memory, .choice = 13});
}

// A context that ends waits for all work of the process.
void ProgramGenerator::Maker::end_context_under_work() {
  const std::uint8_t addresses = reserve_accessible();
  const std::uint8_t context = vacant(SlotKind::context);
  add({.kind = OpKind::ctx_create, .result = context});
  const bool is_others_work = choices_.chance(50);
  if (is_others_work) {
    add({.kind = OpKind::ctx_set});
  }
  const std::uint8_t event = vacant(SlotKind::event);
  add({.kind = OpKind::event_create, .result = event});
  add({.kind = OpKind::launch,
       .place = inside(addresses, 0),
       .extra = plain_bytes(static_cast<std::int16_t>(choices_.between(10, 40))),
       .choice = 1,
       .value = 4});
  add({.kind = OpKind::event_record, .object = event});
  if (is_others_work || choices_.chance(50)) {
    add({.kind = OpKind::ctx_destroy, .object = context});
  } else {
    add({.kind = OpKind::ctx_reset});
  }
  add({.kind = OpKind::event_query, .object = event});
  touch(OpKind::expect, addresses, 0, 4);
}

void ProgramGenerator::Maker::order_streams() {
  const std::uint8_t addresses = reserve_accessible();
  const std::uint8_t stream = create_stream();
  const std::uint8_t event = vacant(SlotKind::event);
  add({.kind = OpKind::event_create, .result = event});
  add({.kind = OpKind::launch,
       .other = stream,
       .place = inside(addresses, 0),
       .extra = plain_bytes(static_cast<std::int16_t>(choices_.between(1, 30))),
       .choice = 1,
       .value = 1});
  if (choices_.chance(50)) {
    add({.kind = OpKind::launch,
         .other = stream,
         .place = inside(addresses, 0),
         .extra = plain_bytes(10)});
  }
  add({.kind = OpKind::event_record, .object = event, .other = stream});
  add({.kind = OpKind::event_query, .object = event});
  touch(OpKind::expect, addresses, 0, 1);
  add({.kind = OpKind::event_sync, .object = event});
}

// Work in a stream while another context is current, or none.
void ProgramGenerator::Maker::leave_stream_behind() {
  const std::uint8_t addresses = reserve_accessible();
  const std::uint8_t stream = create_stream();
  if (choices_.chance(50)) {
    add({.kind = OpKind::ctx_none});
  } else {
    add({.kind = OpKind::ctx_create,
         .result = vacant(SlotKind::context),
         .device = static_cast<std::int8_t>(
             choices_.below(static_cast<std::uint32_t>(options_.devices)))});
  }
  const std::uint8_t pointer = vacant(SlotKind::pointer);
  const Place memory = {.base = SlotKind::pointer, .slot = pointer};
  const Size few = plain_bytes(4);
  const std::array<Op, 6> work = {{
      {.kind = OpKind::alloc_async, .result = pointer, .other = stream, .size = plain_bytes(256)},
      {.kind = OpKind::memset,
       .other = stream,
       .place = inside(addresses, 0),
       .size = few,
       .value = 2,
       .flags = 1},
      {.kind = OpKind::dtod,
       .other = stream,
       .place = memory,
       .source = inside(addresses, 0),
       .size = few,
       .flags = 1},
      {.kind = OpKind::launch,
       .other = stream,
       .place = inside(addresses, 0),
       .choice = 1,
       .value = 3},
      {.kind = OpKind::attribute,
       .place = inside(addresses, 0),
       .choice = static_cast<std::uint8_t>(choices_.between(1, 21))},
      {.kind = OpKind::free_async, .other = stream, .place = memory},
  }};
  for (const Op& op : work) {
    if (choices_.chance(60)) {
      add(op);
    }
  }
  add({.kind = OpKind::stream_sync, .object = stream});
  if (choices_.chance(50)) {
    add({.kind = OpKind::ctx_set});
    touch(OpKind::expect, addresses, 0, 2);
  }
}

void ProgramGenerator::Maker::play_scene() {
  // The first ones more often: what they reach, nothing else does.
  constexpr std::array scenes = {
      &Maker::fill_memory,
      &Maker::fill_addresses,
      &Maker::fragment,
      &Maker::unmap_several,
      &Maker::grant_over_hole,
      &Maker::remap,
      &Maker::alias,
      &Maker::leave_reservation,
      &Maker::unmap_under_work,
      &Maker::fault,
      &Maker::order_streams,
      &Maker::reach_peer,
      &Maker::end_contexts,
      &Maker::multicast,
      &Maker::share,
      &Maker::fill_page_tables,
      &Maker::lose_rdma_mapping,
      &Maker::copy_by_cpu,
      &Maker::copy_shared,
      &Maker::end_context_under_work,
      &Maker::leave_stream_behind,
      &Maker::end_contexts_of_pool,
  };
  // Faults cost a machine, and descriptors files: one share each; page tables two; others more.
  constexpr std::array<std::uint8_t, scenes.size()> shares = {5, 5, 5, 4, 5, 5, 4, 5, 5, 2, 4,
                                                              3, 3, 2, 1, 2, 2, 2, 4, 2, 7, 1};
  constexpr std::uint32_t all = std::accumulate(shares.begin(), shares.end(), 0U);
  const std::uint32_t drawn = choices_.below(all);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < scenes.size(); ++i) {
    sum += shares[i];
    if (drawn < sum) {
      (this->*scenes[i])();
      return;
    }
  }
}

}  // namespace tessera::testing
