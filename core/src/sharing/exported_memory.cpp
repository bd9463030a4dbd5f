#include "tessera/sharing/exported_memory.h"

#include <utility>

#include "owners/states.h"
#include "owners/with_reason.h"
#include "tessera/owners/mapping_walk.h"

namespace tessera {
namespace {

// A Windows handle would leak: nothing in this library closes one.
Status check_type(HandleTypes type) {
  if (type != HandleTypes::posix_file_descriptor && type != HandleTypes::fabric) {
    return Error{.code = ErrorCode::not_supported,
                 .reason = Reason::handle_type_cannot_travel,
                 .values = {static_cast<std::uint64_t>(type)}};
  }
  return {};
}

Error nothing_to_share() noexcept {
  return {.code = ErrorCode::invalid_value, .reason = Reason::nothing_to_share};
}

Error hole(DeviceAddress address, AddressRange range) noexcept {
  return {.code = ErrorCode::invalid_value,
          .reason = Reason::hole_in_range,
          .values = {address.value(), range.begin().value(), range.size().value()}};
}

}  // namespace

ExportedMemory::ExportedMemory(ExportedMemory&&) noexcept = default;
ExportedMemory& ExportedMemory::operator=(ExportedMemory&&) noexcept = default;
ExportedMemory::~ExportedMemory() = default;

Result<ExportedMemory> ExportedMemory::of(std::span<const PhysicalAllocation* const> memories,
                                          HandleTypes type, CallSite site) {
  const CallSiteScope scope(site);
  TESSERA_TRY(check_type(type));
  if (memories.empty()) {
    return nothing_to_share();
  }
  ExportedMemory exported(type);
  for (const PhysicalAllocation* memory : memories) {
    TESSERA_CHECK(memory->is_open() && &memory->driver() == &memories.front()->driver());
    TESSERA_TRY(exported.add(*memory));
  }
  TESSERA_TRY(check(exported.description_));
  return exported;
}

Result<ExportedMemory> ExportedMemory::of(const PhysicalAllocation& memory, HandleTypes type,
                                          CallSite site) {
  const PhysicalAllocation* const pointer = &memory;
  return of(std::span(&pointer, 1), type, site);
}

Result<ExportedMemory> ExportedMemory::of_range(DriverUse use, AddressRange range, HandleTypes type,
                                                CallSite site) {
  const CallSiteScope scope(site);
  TESSERA_TRY(check_type(type));
  if (range.is_empty()) {
    return nothing_to_share();
  }
  ExportedMemory exported(type);
  DeviceAddress begin = range.begin();
  DeviceAddress end = range.begin();
  bool visited = false;
  const Status walked = for_each_mapping(*use.driver, range, [&](AddressRange mapping) -> Status {
    visited = true;
    if (mapping.begin() > end) {
      return hole(end, range);
    }
    if (mapping.begin() < begin) {
      begin = mapping.begin();
    }
    end = mapping.end();
    TESSERA_TRY_ASSIGN(const PhysicalAllocation memory,
                       PhysicalAllocation::retain(use, mapping.begin(), site));
    return exported.add(memory);
  });
  // A walk does not begin where a driver knows nothing.
  const bool begins_with_hole =
      !walked && !visited && walked.error().code == ErrorCode::invalid_value;
  if (!begins_with_hole) {
    TESSERA_TRY(walked);
  }
  if (end < range.end()) {
    return hole(end, range);
  }
  TESSERA_TRY(check(exported.description_));
  exported.mapped_range_ = AddressRange(begin, end - begin);
  return exported;
}

Status ExportedMemory::add(const PhysicalAllocation& memory) {
  TESSERA_TRY_ASSIGN(const AllocationProperties properties, memory.granted());
  const auto shareable = memory.export_to(description_.type);
  if (!shareable) {
    return detail::with_reason(
        shareable.error(), Reason::piece_not_exported,
        {memories_.size(), memory.size().value(), static_cast<std::uint64_t>(description_.type)});
  }
  if (description_.type == HandleTypes::posix_file_descriptor) {
    FileDescriptor owned(shareable->file_descriptor);
    descriptors_.push_back(std::move(owned));
  }
  SharedPiece piece = {
      .size = memory.size(), .properties = properties, .fabric = shareable->fabric};
  // Neither of the two means anything in another process.
  piece.properties.requested_handle_types = HandleTypes::none;
  piece.properties.win32_handle_metadata = nullptr;
  description_.pieces.push_back(piece);
  memories_.push_back(memory.state_);
  return {};
}

Status ExportedMemory::close() {
  Status first;
  const auto note = [&first](const Status& status) {
    if (first) {
      first = status;
    }
  };
  for (FileDescriptor& descriptor : descriptors_) {
    note(descriptor.close());
  }
  descriptors_.clear();
  while (!memories_.empty()) {
    const Status given_up = detail::give_up(memories_.back());
    note(given_up);
    if (!given_up) {
      return first;
    }
    memories_.pop_back();
  }
  description_.pieces.clear();
  mapped_range_.reset();
  return first;
}

}  // namespace tessera
