// ExportedMemory: memory published for other processes: a descriptor, or a fabric handle, for each
// handle's worth of it. It keeps the memory while it is open, for every kind: a descriptor holds
// the memory by itself, a fabric handle does not (its importers find nothing once the exporter has
// released the memory).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tessera/address.h"
#include "tessera/call_site.h"
#include "tessera/owners/physical_allocation.h"
#include "tessera/sharing/file_descriptor.h"
#include "tessera/sharing/memory_description.h"

namespace tessera {

class ExportedMemory {
 public:
  // The memories, in this order, as one export. The owners may be closed at once; they are of one
  // driver (checked). `type` is posix_file_descriptor or fabric.
  // ERRORS: not_supported (another type: nobody here could close it); invalid_value (no memory);
  // those of mem_export_to_shareable_handle. Nothing is left then.
  [[nodiscard]] static Result<ExportedMemory> of(
      std::span<const PhysicalAllocation* const> memories,
      HandleTypes type = HandleTypes::posix_file_descriptor, CallSite site = CallSite::here());
  [[nodiscard]] static Result<ExportedMemory> of(
      const PhysicalAllocation& memory, HandleTypes type = HandleTypes::posix_file_descriptor,
      CallSite site = CallSite::here());
  // What is mapped in a range, whoever mapped it: a buffer of several handles is one export.
  // Mappings go whole, so that more may be exported than was asked for: `mapped_range` says what.
  // ERRORS: also invalid_value (Reason::hole_in_range names the hole; the range is empty).
  [[nodiscard]] static Result<ExportedMemory> of_range(
      DriverUse use, AddressRange range, HandleTypes type = HandleTypes::posix_file_descriptor,
      CallSite site = CallSite::here());

  ExportedMemory(ExportedMemory&&) noexcept;
  // Closes what it held; a failure to release the memory goes to the sink.
  ExportedMemory& operator=(ExportedMemory&&) noexcept;
  ExportedMemory(const ExportedMemory&) = delete;
  ExportedMemory& operator=(const ExportedMemory&) = delete;
  ~ExportedMemory();

  // False once closed or moved from.
  [[nodiscard]] bool is_open() const noexcept { return !memories_.empty(); }
  [[nodiscard]] HandleTypes type() const noexcept { return description_.type; }
  [[nodiscard]] const MemoryDescription& description() const noexcept { return description_; }
  [[nodiscard]] Bytes size() const noexcept { return description_.total(); }
  // A descriptor for each piece; none for fabric handles.
  [[nodiscard]] std::span<const FileDescriptor> descriptors() const noexcept {
    return descriptors_;
  }
  // Of `of_range`: the whole mappings that were exported.
  [[nodiscard]] std::optional<AddressRange> mapped_range() const noexcept { return mapped_range_; }

  // Withdraws it: closes the descriptors and gives up the memory. Who has received it keeps it, but
  // a fabric handle that was not imported yet is of no more use. Again is harmless. ERRORS: the
  // first; after one of the driver it is still open, and close may be tried again.
  Status close();

 private:
  explicit ExportedMemory(HandleTypes type) noexcept { description_.type = type; }

  // Exports one memory more, and keeps it.
  Status add(const PhysicalAllocation& memory);

  MemoryDescription description_;
  std::vector<FileDescriptor> descriptors_;
  std::vector<std::shared_ptr<detail::PhysicalState>> memories_;
  std::optional<AddressRange> mapped_range_;
};

}  // namespace tessera
