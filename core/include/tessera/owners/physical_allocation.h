// PhysicalAllocation: owns a reference to physical memory. The memory lives until the owner and all
// its mappings are gone; exports and handles elsewhere hold it too, as the driver counts them.
#pragma once

#include <cstddef>
#include <memory>

#include "tessera/call_site.h"
#include "tessera/owners/memory_options.h"
#include "tessera/owners/undo_failure.h"

namespace tessera {

namespace detail {
class PhysicalState;
}

// How this process came by its reference.
enum class MemoryOrigin : std::uint8_t { created, imported, retained };

struct PhysicalAllocationOptions {
  Bytes size;  // rounded up, once
  MemoryOptions memory = {};
  // The granularity of such memory where it is known already: saves asking.
  Bytes granularity = {};
};

class PhysicalAllocation {
 public:
  // ERRORS: those of mem_create, with out_of_memory (of memory; Reason::out_of_device_memory).
  [[nodiscard]] static Result<PhysicalAllocation> create(DriverUse use,
                                                         const PhysicalAllocationOptions& options,
                                                         CallSite site = CallSite::here());
  // What another export gives. The size travels with the export: a driver does not tell it, and
  // what the exporter's user asked for is not what was made. The descriptor stays the caller's.
  // ERRORS: those of mem_import_from_shareable_handle; invalid_value (size zero).
  [[nodiscard]] static Result<PhysicalAllocation> import(DriverUse use,
                                                         const ShareableHandle& shareable,
                                                         Bytes size,
                                                         CallSite site = CallSite::here());
  // One more reference to the memory mapped at `address`, whoever mapped it.
  // ERRORS: invalid_value (nothing is mapped there by mem_map).
  [[nodiscard]] static Result<PhysicalAllocation> retain(DriverUse use, DeviceAddress address,
                                                         CallSite site = CallSite::here());

  PhysicalAllocation(PhysicalAllocation&&) noexcept = default;
  PhysicalAllocation& operator=(PhysicalAllocation&&) noexcept = default;
  PhysicalAllocation(const PhysicalAllocation&) = delete;
  PhysicalAllocation& operator=(const PhysicalAllocation&) = delete;
  ~PhysicalAllocation() = default;

  // False once closed or moved from; nothing below is to be asked then (checked).
  [[nodiscard]] bool is_open() const noexcept { return state_ != nullptr; }
  [[nodiscard]] AllocationHandle handle() const noexcept;
  [[nodiscard]] Bytes size() const noexcept;  // rounded
  [[nodiscard]] MemoryOrigin origin() const noexcept;
  [[nodiscard]] Driver& driver() const noexcept;
  // How many Mappings of it this owner's program has; an open ExportedMemory counts as one.
  [[nodiscard]] std::size_t mapping_count() const noexcept;

  // What was asked for (for imported and retained memory: what the driver said of it then).
  [[nodiscard]] const AllocationProperties& asked() const noexcept;
  // What the driver says of it now. Imported memory reports no export types [h200].
  [[nodiscard]] Result<AllocationProperties> granted() const;

  // A descriptor or handle for another process; for posix, the caller closes it, and it holds the
  // memory while it is open. ExportedMemory does that.
  // ERRORS: those of mem_export_to_shareable_handle.
  [[nodiscard]] Result<ShareableHandle> export_to(HandleTypes type) const;

  // Gives the reference back, unless mappings or exports are left: then the last of those does.
  // Again is harmless. After an error it is still open, and close may be tried again.
  Status close();

 private:
  friend class ExportedMemory;
  friend class Mapping;
  friend class MulticastBinding;
  friend class MulticastObject;
  explicit PhysicalAllocation(std::shared_ptr<detail::PhysicalState> state) noexcept;

  std::shared_ptr<detail::PhysicalState> state_;
};

}  // namespace tessera
