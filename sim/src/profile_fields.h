// The table of a profile's fields: what reads, writes and checks profiles goes through it. A new
// field is one line here (comparing is the default operator==); one that is forgotten does not
// compile. A field of a type that no other has also needs a reader and a writer in
// profile_file.cpp.
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>

#include "tessera/sim/profile.h"

namespace tessera::sim::detail {

// What holds for a field on its own; profile_check.cpp has what holds between fields.
enum class Rule {
  any,
  positive,  // of a list: not empty
  power_of_two,
};

template <class Struct, class Type>
struct Field {
  std::string_view name;
  Type Struct::*member;
  Rule rule;
};

template <class Struct, class Type>
consteval Field<Struct, Type> field(std::string_view name, Type Struct::*member,
                                    Rule rule = Rule::any) {
  return {name, member, rule};
}

template <class Struct>
inline constexpr auto fields = std::tuple();

// One line a field.
// clang-format off
template <>
inline constexpr auto fields<Quirks> = std::tuple(
    field("unmap_accepts_holes", &Quirks::unmap_accepts_holes),
    field("set_access_stops_at_hole", &Quirks::set_access_stops_at_hole),
    field("map_may_leave_reservation", &Quirks::map_may_leave_reservation),
    field("partial_mapping", &Quirks::partial_mapping),
    field("address_free_refuses_mapped", &Quirks::address_free_refuses_mapped),
    field("reexport_imported", &Quirks::reexport_imported),
    field("ignores_unknown_handle_types", &Quirks::ignores_unknown_handle_types),
    field("copies_check_access", &Quirks::copies_check_access),
    field("cpu_copies_host_memory", &Quirks::cpu_copies_host_memory),
    field("rdma_needs_first_mapping", &Quirks::rdma_needs_first_mapping));

template <>
inline constexpr auto fields<CallCost> = std::tuple(
    field("base_ns", &CallCost::base_ns),
    field("per_unit_ns", &CallCost::per_unit_ns));

template <>
inline constexpr auto fields<Profile> = std::tuple(
    field("name", &Profile::name),
    field("device_name", &Profile::device_name),
    field("driver_version", &Profile::driver_version, Rule::positive),
    field("memory_total", &Profile::memory_total, Rule::positive),
    field("memory_reserved", &Profile::memory_reserved),
    field("device_attributes", &Profile::device_attributes),
    field("granularity_minimum", &Profile::granularity_minimum, Rule::power_of_two),
    field("granularity_recommended", &Profile::granularity_recommended, Rule::positive),
    field("reservation_granularity", &Profile::reservation_granularity, Rule::power_of_two),
    field("host_page", &Profile::host_page, Rule::power_of_two),
    field("address_windows", &Profile::address_windows, Rule::positive),
    field("reservation_block", &Profile::reservation_block, Rule::power_of_two),
    field("driver_addresses", &Profile::driver_addresses),
    field("driver_free", &Profile::driver_free),
    field("driver_mapped_single_device", &Profile::driver_mapped_single_device),
    field("accessible_mappings_max", &Profile::accessible_mappings_max, Rule::positive),
    field("context_static", &Profile::context_static),
    field("stack_size", &Profile::stack_size),
    field("malloc_heap_size", &Profile::malloc_heap_size),
    field("printf_fifo_size", &Profile::printf_fifo_size),
    field("resident_threads", &Profile::resident_threads),
    field("heap_block", &Profile::heap_block, Rule::positive),
    field("heap_alignment", &Profile::heap_alignment, Rule::power_of_two),
    field("pitch_alignment", &Profile::pitch_alignment, Rule::power_of_two),
    field("contiguous_memory", &Profile::contiguous_memory),
    field("pages_out", &Profile::pages_out),
    field("host_memory", &Profile::host_memory),
    field("host_numa_nodes", &Profile::host_numa_nodes, Rule::positive),
    field("export_types", &Profile::export_types),
    field("not_permitted_types", &Profile::not_permitted_types),
    field("host_locations", &Profile::host_locations),
    field("compression", &Profile::compression),
    field("managed_memory", &Profile::managed_memory),
    field("memory_pools", &Profile::memory_pools),
    field("multicast", &Profile::multicast),
    field("dma_buf", &Profile::dma_buf),
    field("peers", &Profile::peers),
    field("quirks", &Profile::quirks),
    field("costs", &Profile::costs),
    field("default_cost", &Profile::default_cost));
// clang-format on

// Calls visit(field) for each.
template <class Struct, class Visit>
void for_each_field(Visit&& visit) {
  std::apply([&visit](const auto&... field) { (visit(field), ...); }, fields<Struct>);
}

// --- That no field is forgotten: as many lines as the struct has members ---

// Initializes a member of any type; never made.
struct AnyMember {
  template <class T>
  operator T() const;
};

template <class Struct, class... Members>
consteval std::size_t member_count() {
  if constexpr (requires { Struct{Members{}..., AnyMember{}}; }) {
    return member_count<Struct, Members..., AnyMember>();
  } else {
    return sizeof...(Members);
  }
}

template <class Struct>
inline constexpr bool names_every_member = std::tuple_size_v<decltype(fields<Struct>)> ==
                                           member_count<Struct>();

static_assert(names_every_member<Quirks>, "a field of Quirks is missing from its table above");
static_assert(names_every_member<CallCost>, "a field of CallCost is missing from its table above");
static_assert(names_every_member<Profile>, "a field of Profile is missing from its table above");

}  // namespace tessera::sim::detail
