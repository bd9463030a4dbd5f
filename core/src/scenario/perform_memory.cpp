#include <algorithm>
#include <array>
#include <limits>

#include "scenario/perform.h"

namespace tessera::scenario {
namespace {

// On Windows, security attributes that a driver may read; all that matters is that they are given.
constexpr std::array<std::byte, 64> some_win32_metadata = {};

AllocationProperties properties_of(const Properties& given) {
  AllocationProperties properties;
  properties.type = given.type.value_or(properties.type);
  properties.requested_handle_types = given.handle_types.value_or(HandleTypes::none);
  properties.location = {.type = given.location.value_or(LocationType::device),
                         .id = given.device.value_or(0)};
  properties.compression = static_cast<Compression>(given.compression.value_or(0));
  properties.gpu_direct_rdma_capable = given.gpu_direct_rdma.value_or(0);
  properties.usage = given.usage.value_or(0);
  return properties;
}

template <class Enum>
std::uint64_t number(Enum value) {
  return static_cast<std::uint64_t>(value);
}

}  // namespace

Answer perform(CaseState& state, const Granularity& operation) {
  const auto granularity = state.driver().mem_get_allocation_granularity(
      {.properties = properties_of(operation.properties),
       .option = operation.option.value_or(GranularityOption::minimum),
       .null_pointers = null_pointers(operation.out, operation.properties_pointer)});
  return granularity ? Answer().add("g", granularity->value()) : Answer(granularity.error());
}

Answer perform(CaseState& state, const Reserve& operation) {
  const Bytes size = state.bytes(operation.size);
  const DeviceAddress hint = state.address(operation.hint);
  const auto address =
      state.driver().mem_address_reserve({.size = size,
                                          .alignment = state.bytes(operation.alignment),
                                          .hint = hint,
                                          .flags = operation.flags.value_or(0),
                                          .null_pointers = null_pointers(operation.out)});
  state.symbols().set(operation.result, address ? address->value() : 0);
  if (!address) {
    return Answer(address.error());
  }
  state.ledger().reservations[address->value()] = size;
  Answer answer;
  answer.add("aligned",
             alignment_of(address->value(), operation.alignment.is_given() ? std::uint64_t{1} << 63U
                                                                           : shown_alignment_max));
  if (operation.hint.is_given()) {
    answer.add("at", *address == hint ? std::string_view("hint") : "other");
  }
  return answer;
}

Answer perform(CaseState& state, const AddressFree& operation) {
  const DeviceAddress address = state.address(operation.address);
  const Status status =
      state.driver().mem_address_free({.address = address, .size = state.bytes(operation.size)});
  if (status) {
    state.ledger().reservations.erase(address.value());
  }
  return answer_of(status);
}

Answer perform(CaseState& state, const Create& operation) {
  AllocationProperties properties = properties_of(operation.properties);
  properties.reserved[0] = operation.reserved.value_or(0);
  properties.win32_handle_metadata =
      operation.win32_metadata.value_or(0) != 0 ? some_win32_metadata.data() : nullptr;
  const auto handle = state.driver().mem_create(
      {.size = state.bytes(operation.size),
       .properties = properties,
       .flags = operation.flags.value_or(0),
       .null_pointers = null_pointers(operation.out, operation.properties_pointer)});
  state.symbols().set(operation.result, handle ? handle->value() : 0);
  if (!handle) {
    return Answer(handle.error());
  }
  ++state.ledger().references[handle->value()];
  state.name_handle(handle->value(), operation.result);
  return {};
}

Answer perform(CaseState& state, const Release& operation) {
  const AllocationHandle handle = state.handle(operation.handle);
  const Status status = state.driver().mem_release(handle);
  if (status) {
    // What others made may be released, too.
    if (std::uint64_t& held = state.ledger().references[handle.value()]; held != 0) {
      --held;
    }
  }
  return answer_of(status);
}

Answer perform(CaseState& state, const Props& operation) {
  const auto properties = state.driver().mem_get_allocation_properties_from_handle(
      {.handle = state.handle(operation.handle), .null_pointers = null_pointers(operation.out)});
  if (!properties) {
    return Answer(properties.error());
  }
  return Answer()
      .add("type", number(properties->type))
      .add("loc", number(properties->location.type))
      .add_signed("id", properties->location.id)
      .add("handle_types", number(properties->requested_handle_types))
      .add("comp", number(properties->compression))
      .add("rdma", properties->gpu_direct_rdma_capable)
      .add("usage", properties->usage);
}

Answer perform(CaseState& state, const Map& operation) {
  const DeviceAddress address = state.address(operation.address);
  const Bytes size = state.bytes(operation.size);
  const Status status = state.driver().mem_map({.address = address,
                                                .size = size,
                                                .offset = state.bytes(operation.offset),
                                                .handle = state.handle(operation.handle),
                                                .flags = operation.flags.value_or(0)});
  if (status) {
    state.ledger().mappings[address.value()] = size;
  }
  return answer_of(status);
}

Answer perform(CaseState& state, const Unmap& operation) {
  const DeviceAddress address = state.address(operation.address);
  const Bytes size = state.bytes(operation.size);
  const Status status = state.driver().mem_unmap({.address = address, .size = size});
  if (status) {
    auto& mappings = state.ledger().mappings;
    const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - address.value();
    const std::uint64_t end = address.value() + std::min(size.value(), room);
    mappings.erase(mappings.lower_bound(address.value()), mappings.lower_bound(end));
  }
  return answer_of(status);
}

Answer perform(CaseState& state, const SetAccess& operation) {
  std::vector<AccessDescriptor> several;
  const AccessDescriptor one = {
      .location = {.type = operation.location.value_or(LocationType::device),
                   .id = operation.device.value_or(0)},
      .flags = operation.protection.value_or(AccessFlags::read_write)};
  std::span<const AccessDescriptor> descriptors(&one, 1);
  if (!operation.descriptors.empty()) {
    descriptors = operation.descriptors;
  }
  if (operation.count) {
    // The call is told of so many: fewer of those there are, or the last one over and over.
    constexpr std::uint32_t count_max = 1U << 16U;
    several.assign(descriptors.begin(), descriptors.end());
    several.resize(std::min(*operation.count, count_max), descriptors.back());
    descriptors = several;
  }
  return answer_of(state.driver().mem_set_access({.address = state.address(operation.address),
                                                  .size = state.bytes(operation.size),
                                                  .descriptors = descriptors}));
}

Answer perform(CaseState& state, const GetAccess& operation) {
  const auto flags = state.driver().mem_get_access(
      {.address = state.address(operation.address),
       .location = {.type = operation.location.value_or(LocationType::device),
                    .id = operation.device.value_or(0)},
       .null_pointers = null_pointers(operation.out, operation.location_pointer)});
  return flags ? Answer().add("flags", number(*flags)) : Answer(flags.error());
}

Answer perform(CaseState& state, const Retain& operation) {
  const auto handle = state.driver().mem_retain_allocation_handle(state.address(operation.address));
  state.symbols().set(operation.result, handle ? handle->value() : 0);
  if (!handle) {
    return Answer(handle.error());
  }
  ++state.ledger().references[handle->value()];
  Answer answer;
  if (const auto name = state.name_of_handle(handle->value())) {
    answer.add("same", to_string(*name));
  } else {
    answer.add("same", "none");
    state.name_handle(handle->value(), operation.result);
  }
  return answer;
}

Answer perform(CaseState& state, const Same& operation) {
  const bool equal = state.value(operation.left) == state.value(operation.right);
  return Answer().add("equal", std::uint64_t{equal});
}

}  // namespace tessera::scenario
