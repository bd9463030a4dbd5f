// What makes a profile unusable: fields that are out of range, and fields that contradict others.
// Each fault names the values, and what would work.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "profile_fields.h"
#include "profile_text.h"
#include "tessera/sim/profile.h"

namespace tessera::sim {
namespace {

using detail::Rule;

// So that sums and products of a few sizes, and times, stay within 64 bits.
constexpr Bytes largest_size = 1_TiB * 1024 * 1024;
constexpr DeviceAddress address_end(1ULL << 62U);
constexpr std::uint64_t largest_base_ns = 1'000'000'000'000;
constexpr std::uint64_t largest_per_unit_ns = 10'000'000;
constexpr std::size_t most_peers = 64;
constexpr std::int32_t most_numa_nodes = 1024;
// A block is searched gap by gap: few granules, few gaps.
constexpr std::uint64_t most_granules_in_block = 64;

class Checker {
 public:
  explicit Checker(const Profile& profile) : profile_(profile) {}

  [[nodiscard]] std::string check() && {
    detail::for_each_field<Profile>(
        [this](const auto& field) { check_field(field.name, profile_.*field.member, field.rule); });
    // What follows computes with the fields, so each is sound on its own.
    if (faults_.empty()) {
      check_sizes();
      check_windows();
      check_driver_addresses();
      check_memory();
      check_paging();
      check_capabilities();
      check_peers();
    }
    return std::move(faults_);
  }

 private:
  void fault(std::string_view text) {
    if (!faults_.empty()) {
      faults_ += '\n';
    }
    faults_ += text;
  }
  void fault(std::string_view field, std::string_view value, std::string_view wanted) {
    fault(std::string(field) + " is " + std::string(value) + ": " + std::string(wanted));
  }

  // --- Each field on its own ---

  void check_field(std::string_view name, const std::string& text, Rule /*rule*/) {
    const bool is_printable = std::all_of(text.begin(), text.end(), [](char character) {
      return character >= ' ' && character <= '~';
    });
    if (text.empty() || text.size() > 255 || !is_printable) {
      fault(name, in_quotes(text), "it must be 1 to 255 printable ASCII characters");
    }
  }
  void check_field(std::string_view name, Bytes size, Rule rule) {
    if (rule != Rule::any && size.is_zero()) {
      fault(name, "0", "it must not be zero");
    } else if (size > largest_size) {
      fault(name, size_text(size), "the largest size is " + size_text(largest_size));
    } else if (rule == Rule::power_of_two && !is_power_of_two(size)) {
      const Bytes below = Bytes(std::bit_floor(size.value()));
      fault(
          name, size_text(size),
          "it must be a power of two, such as " + size_text(below) + " or " + size_text(below * 2));
    }
  }
  template <std::integral Number>
  void check_field(std::string_view name, Number number, Rule rule) {
    if (rule == Rule::positive && number <= 0) {
      fault(name, std::to_string(number), "it must be 1 or more");
    }
  }
  void check_field(std::string_view /*name*/, bool /*flag*/, Rule /*rule*/) {}
  void check_field(std::string_view name, HandleTypes types, Rule /*rule*/) {
    if (!has_all(known_handle_types(), types)) {
      fault(name, std::to_string(static_cast<std::uint32_t>(types)),
            "it has bits of no handle type; known are posix_file_descriptor 1, win32 2, win32_kmt "
            "4, fabric 8");
    }
  }
  void check_field(std::string_view name, const std::map<std::int32_t, std::int32_t>& attributes,
                   Rule /*rule*/) {
    if (!attributes.empty() && attributes.begin()->first < 1) {
      fault(name, "given for number " + std::to_string(attributes.begin()->first),
            "CUdevice_attribute's numbers begin at 1");
    }
  }
  void check_field(std::string_view name, const CallCost& cost, Rule /*rule*/) {
    if (cost.base_ns > largest_base_ns) {
      fault(std::string(name) + ".base_ns", std::to_string(cost.base_ns),
            "the largest is " + std::to_string(largest_base_ns));
    }
    if (cost.per_unit_ns > largest_per_unit_ns) {
      fault(std::string(name) + ".per_unit_ns", std::to_string(cost.per_unit_ns),
            "the largest is " + std::to_string(largest_per_unit_ns));
    }
  }
  void check_field(std::string_view name, const std::map<Call, CallCost>& costs, Rule rule) {
    for (const auto& [call, cost] : costs) {
      if (!is_call(call)) {
        fault(name, "given for number " + std::to_string(static_cast<unsigned>(call)),
              "that is no driver call");
      } else {
        check_field(std::string(name) + "." + std::string(method_name(call)), cost, rule);
      }
    }
  }
  void check_field(std::string_view name, const std::vector<AddressRange>& ranges, Rule rule) {
    if (rule == Rule::positive && ranges.empty()) {
      fault(name, "empty", "it must hold at least one range");
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const std::string indexed = std::string(name) + "[" + std::to_string(i) + "]";
      if (ranges[i].is_empty() || ranges[i].end() > address_end) {
        fault(indexed, range_text(ranges[i]),
              "it must hold at least one address, all below " + address_text(address_end));
      }
      if (i > 0 && ranges[i].begin() < ranges[i - 1].end()) {
        fault(indexed, range_text(ranges[i]),
              "it must begin at or after the end of the one before, " +
                  address_text(ranges[i - 1].end()));
      }
    }
  }
  void check_field(std::string_view name, const std::vector<std::vector<bool>>& peers,
                   Rule /*rule*/) {
    if (peers.size() > most_peers) {
      fault(name, std::to_string(peers.size()) + " rows",
            "the most is " + std::to_string(most_peers));
    }
  }
  void check_field(std::string_view /*name*/, const Quirks& /*quirks*/, Rule /*rule*/) {}

  // --- Fields together ---

  void must_be_multiple(std::string_view name, Bytes size, std::string_view of_name, Bytes of) {
    if (is_aligned(size, of)) {
      return;
    }
    const Bytes below = align_down(size, of);
    fault(name, size_text(size),
          "it must be a multiple of " + std::string(of_name) + ", " + size_text(of) + ", such as " +
              (below.is_zero() ? "" : size_text(below) + " or ") + size_text(below + of));
  }

  void check_sizes() {
    const Profile& p = profile_;
    must_be_multiple("granularity_recommended", p.granularity_recommended, "granularity_minimum",
                     p.granularity_minimum);
    must_be_multiple("reservation_granularity", p.reservation_granularity, "host_page",
                     p.host_page);
    must_be_multiple("reservation_block", p.reservation_block, "reservation_granularity",
                     p.reservation_granularity);
    must_be_multiple("heap_block", p.heap_block, "heap_alignment", p.heap_alignment);
    must_be_multiple("heap_block", p.heap_block, "reservation_granularity",
                     p.reservation_granularity);
    const Bytes largest_block = p.reservation_granularity * most_granules_in_block;
    if (p.reservation_block > largest_block) {
      fault("reservation_block", size_text(p.reservation_block),
            "it must be at most 64 times reservation_granularity: " + size_text(largest_block));
    }
  }

  void check_windows() {
    const auto& windows = profile_.address_windows;
    const Bytes block = profile_.reservation_block;
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const std::string name = "address_windows[" + std::to_string(i) + "]";
      const DeviceAddress begin = windows[i].begin();
      if (begin.is_null()) {
        fault(name, range_text(windows[i]), "it must not contain address 0, which is null");
      }
      const auto first_block = checked_align_up(Bytes(begin.value()), block);
      const bool has_block =
          first_block &&
          windows[i].contains(AddressRange::make(DeviceAddress(first_block->value()), block)
                                  .value_or(AddressRange()));
      if (!has_block) {
        fault(name, range_text(windows[i]),
              "it must hold at least one aligned reservation_block, " + size_text(block));
      }
    }
  }

  // What is free or mapped there lies inside; what is free is whole granules.
  void check_driver_addresses() {
    const AddressRange all(DeviceAddress(0), profile_.driver_addresses);
    const auto check_inside = [&](std::string_view name, const std::vector<AddressRange>& ranges) {
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (!all.contains(ranges[i])) {
          fault(std::string(name) + "[" + std::to_string(i) + "]", range_text(ranges[i]),
                "it must lie inside driver_addresses, " + size_text(all.size()));
        }
      }
    };
    check_inside("driver_free", profile_.driver_free);
    check_inside("driver_mapped_single_device", profile_.driver_mapped_single_device);
    const Bytes granularity = profile_.reservation_granularity;
    for (std::size_t i = 0; i < profile_.driver_free.size(); ++i) {
      const AddressRange& free = profile_.driver_free[i];
      if (!is_aligned(free.begin(), granularity) || !is_aligned(free.size(), granularity)) {
        fault("driver_free[" + std::to_string(i) + "]", range_text(free),
              "it must be whole granules of " + size_text(granularity));
      }
    }
  }

  void check_memory() {
    const Profile& p = profile_;
    const Bytes least =
        p.memory_reserved + p.context_static + std::max(p.heap_block, p.granularity_recommended);
    if (least > p.memory_total) {
      fault("memory_total", size_text(p.memory_total),
            "memory_reserved (" + size_text(p.memory_reserved) + "), context_static (" +
                size_text(p.context_static) + "), and one heap_block (" + size_text(p.heap_block) +
                ") or granularity_recommended (" + size_text(p.granularity_recommended) +
                ") need " + size_text(least));
    }
    const auto stacks = checked_multiply(p.stack_size, p.resident_threads);
    if (!stacks || *stacks > p.context_static) {
      fault("stack_size", size_text(p.stack_size),
            "for resident_threads (" + std::to_string(p.resident_threads) +
                ") threads it takes more than context_static, " + size_text(p.context_static));
    }
    if (p.host_numa_nodes > most_numa_nodes) {
      fault("host_numa_nodes", std::to_string(p.host_numa_nodes),
            "the most is " + std::to_string(most_numa_nodes));
    }
  }

  void check_paging() {
    const Profile& p = profile_;
    if (p.pages_out && p.host_memory.is_zero()) {
      fault("host_memory", "0", "with pages_out it must say how much may page out");
    }
    if (p.pages_out && p.contiguous_memory) {
      fault("contiguous_memory", "true",
            "memory that pages out needs no one piece: with "
            "pages_out it must be false");
    }
  }

  // An attribute that is listed says what the capability says.
  void must_agree(std::int32_t attribute, std::string_view capability, bool has) {
    const auto listed = profile_.device_attributes.find(attribute);
    if (listed == profile_.device_attributes.end() || (listed->second != 0) == has) {
      return;
    }
    fault("device_attributes." + std::to_string(attribute), std::to_string(listed->second),
          std::string(capability) + " says " + (has ? "1" : "0"));
  }

  void check_capabilities() {
    const Profile& p = profile_;
    const auto both = static_cast<std::uint32_t>(p.export_types) &
                      static_cast<std::uint32_t>(p.not_permitted_types);
    if (both != 0) {
      fault("not_permitted_types", std::to_string(both) + " in common with export_types",
            "a handle type is either permitted or not");
    }
    const HandleTypes known = p.export_types | p.not_permitted_types;
    must_agree(83, "managed_memory", p.managed_memory);
    must_agree(102, "having these calls at all", true);
    must_agree(103, "posix_file_descriptor in export_types or not_permitted_types",
               has_all(known, HandleTypes::posix_file_descriptor));
    must_agree(104, "win32 in export_types or not_permitted_types",
               has_all(known, HandleTypes::win32));
    must_agree(105, "win32_kmt in export_types or not_permitted_types",
               has_all(known, HandleTypes::win32_kmt));
    must_agree(107, "compression", p.compression);
    must_agree(115, "memory_pools", p.memory_pools);
    must_agree(124, "dma_buf", p.dma_buf);
    must_agree(128, "fabric in export_types or not_permitted_types",
               has_all(known, HandleTypes::fabric));
    must_agree(132, "multicast", p.multicast);
    must_agree(141, "host_locations", p.host_locations);
    must_agree(145, "host_locations", p.host_locations);
  }

  void check_peers() {
    const auto& peers = profile_.peers;
    for (std::size_t row = 0; row < peers.size(); ++row) {
      const std::string name = "peers[" + std::to_string(row) + "]";
      if (peers[row].size() != peers.size()) {
        fault(name, std::to_string(peers[row].size()) + " long",
              "there are " + std::to_string(peers.size()) + " rows, so each must have as many");
      } else if (!peers[row][row]) {
        fault(name + "[" + std::to_string(row) + "]", "false", "a device can map its own memory");
      }
    }
  }

  const Profile& profile_;
  std::string faults_;
};

}  // namespace

std::string check_profile(const Profile& profile) { return Checker(profile).check(); }

}  // namespace tessera::sim
