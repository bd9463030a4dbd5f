#include "tessera/buffers/piece.h"

#include <algorithm>
#include <utility>

#include "owners/primary_context.h"

namespace tessera {

PieceRow& PieceRow::operator=(PieceRow&& other) noexcept {
  if (this != &other) {
    abandon();
    pieces_ = std::move(other.pieces_);
    unreleased_ = std::move(other.unreleased_);
  }
  return *this;
}

PieceRow::~PieceRow() { abandon(); }

void PieceRow::abandon() noexcept {
  const bool is_idle =
      !pieces_.empty() && detail::wait_for_devices(pieces_.front().memory.driver(), device_bits());
  // What fails is tried again, and reported, by the owners' destructors.
  while (!pieces_.empty()) {
    if (is_idle) {
      static_cast<void>(pieces_.back().mapping.close(Quiescence::promised()));
    }
    pieces_.pop_back();
  }
  unreleased_.clear();
}

std::uint64_t PieceRow::device_bits() const noexcept {
  std::uint64_t bits = 0;
  for (const Piece& piece : pieces_) {
    bits |= piece.mapping.access().device_bits();
  }
  return bits;
}

void PieceRow::append(PhysicalAllocation&& memory, Mapping&& mapping) {
  pieces_.emplace_back(std::move(memory), std::move(mapping));
}

void PieceRow::note_access(const AccessSet& access) noexcept {
  for (Piece& piece : pieces_) {
    piece.mapping.note_access(access);
  }
}

std::vector<Mapping> PieceRow::exchange_mappings(std::vector<Mapping> mappings) {
  TESSERA_CHECK(mappings.size() == pieces_.size());
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    std::swap(pieces_[i].mapping, mappings[i]);
  }
  return mappings;
}

Status PieceRow::release_unreleased() {
  Status first;
  const auto is_released = [&](PhysicalAllocation& memory) {
    const Status released = memory.close();
    if (first) {
      first = released;
    }
    return released.has_value();
  };
  unreleased_.erase(std::remove_if(unreleased_.begin(), unreleased_.end(), is_released),
                    unreleased_.end());
  return first;
}

Status PieceRow::shorten_to(std::size_t count) {
  Status first = release_unreleased();
  while (pieces_.size() > count) {
    Piece& last = pieces_.back();
    // The piece still holds the memory, so this unmaps and does nothing else that could fail.
    const Status unmapped = last.mapping.close(Quiescence::promised());
    if (!unmapped) {
      return first ? unmapped : first;
    }
    const Status released = last.memory.close();
    if (!released) {
      release_later(std::move(last.memory));
    }
    pieces_.pop_back();
    if (first) {
      first = released;
    }
  }
  return first;
}

}  // namespace tessera
