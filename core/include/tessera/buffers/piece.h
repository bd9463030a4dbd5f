// Piece: memory and where it is mapped, the smallest unit of a buffer: a piece is made, unmapped
// and exported whole. PieceRow: pieces side by side, as buffers hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tessera/owners/mapping.h"
#include "tessera/owners/physical_allocation.h"

namespace tessera {

struct Piece {
  Piece(PhysicalAllocation&& the_memory, Mapping&& the_mapping) noexcept
      : memory(std::move(the_memory)), mapping(std::move(the_mapping)) {}

  PhysicalAllocation memory;
  Mapping mapping;

  [[nodiscard]] AddressRange range() const noexcept { return mapping.range(); }
};

class PieceRow {
 public:
  PieceRow() noexcept = default;
  PieceRow(PieceRow&&) noexcept = default;
  // Closes what it held as the destructor does.
  PieceRow& operator=(PieceRow&& other) noexcept;
  PieceRow(const PieceRow&) = delete;
  PieceRow& operator=(const PieceRow&) = delete;
  // Waits once for all devices with access, then unmaps. Failures go to the sinks of the owners.
  ~PieceRow();

  // In address order, without a hole.
  [[nodiscard]] std::span<const Piece> pieces() const noexcept { return pieces_; }
  [[nodiscard]] std::size_t count() const noexcept { return pieces_.size(); }
  [[nodiscard]] Bytes size() const noexcept {
    return pieces_.empty() ? Bytes()
                           : pieces_.back().range().end() - pieces_.front().range().begin();
  }
  // The devices that have access to any piece, as a bit each.
  [[nodiscard]] std::uint64_t device_bits() const noexcept;

  void append(PhysicalAllocation&& memory, Mapping&& mapping);
  // Access was set over all pieces.
  void note_access(const AccessSet& access) noexcept;
  // Puts other mappings of the same memories in the place of those there are, which it returns.
  std::vector<Mapping> exchange_mappings(std::vector<Mapping> mappings);

  // Takes all pieces out.
  [[nodiscard]] std::vector<Piece> take() noexcept { return std::exchange(pieces_, {}); }
  // Memory that is to be released, and is held until that works.
  void release_later(PhysicalAllocation memory) { unreleased_.push_back(std::move(memory)); }

  // Unmaps pieces, last first, until `count` are left, one call a mapping. VALID: no work uses
  // them. ERRORS: the first; a piece whose unmapping failed, and those before it, are as they were.
  // Memory that was unmapped and could not be released is kept, and tried again by later calls.
  Status shorten_to(std::size_t count);

 private:
  Status release_unreleased();
  void abandon() noexcept;

  std::vector<Piece> pieces_;
  std::vector<PhysicalAllocation> unreleased_;
};

}  // namespace tessera
