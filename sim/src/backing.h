// Backing: the bytes of one piece of physical memory. Pages exist from their first write on; what
// was never written reads as zero, and a fill of whole pages is kept as its value. With bytes off
// it keeps nothing and reads zeros.
//
// Bytes lie in pages on the heap: most memories of a test are small, hardly written and
// short-lived, and a mapping for each would cost more than all else that happens to it. Only once a
// descriptor is asked for do they move to a file in memory, so that shareable memory which nobody
// exports costs no descriptor however much of it there is. The file is read and written by calls,
// never mapped: a page fault on a hole would allocate the page, a call does not.
//
// When the host has no memory left for a page the program ends: a write that vanished would make
// every later read a lie.
//
// Not thread-safe: the machine's lock guards it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "page_fills.h"
#include "tessera/bytes.h"

namespace tessera::sim {

class Backing {
 public:
  enum class Kind : std::uint8_t {
    none,       // no bytes: writes vanish, reads are zeros
    anonymous,  // private to this process
    shared,     // can become a file in memory that descriptors carry to other processes
  };

  Backing() noexcept = default;  // Kind::none, size zero
  Backing(Kind kind, Bytes size) noexcept;
  // Memory that came through a descriptor, which the Backing owns from now on.
  // `offset`: where in the file the bytes begin.
  Backing(int file_descriptor, Bytes offset, Bytes size) noexcept;
  Backing(Backing&& other) noexcept;             // leaves `other` as the default constructor does
  Backing& operator=(Backing&& other) noexcept;  // the same
  ~Backing();

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] Bytes size() const noexcept { return size_; }

  // The ranges lie inside size().
  void read(Bytes offset, std::span<std::byte> destination) const noexcept;
  void write(Bytes offset, std::span<const std::byte> source);
  // Gives back whole pages.
  void fill(Bytes offset, std::uint8_t value, Bytes size);
  // May overlap when `source` is *this. Pages that the source lacks are not made here.
  void copy_from(const Backing& source, Bytes source_offset, Bytes offset, Bytes size);

  // Kind::shared: the file (owned by the Backing; made on first need, sealed against a change of
  // its size), and where the bytes begin in it. -1 if the system has no descriptor or no room for
  // the file: then nothing has changed, and it can be tried again.
  [[nodiscard]] int file_descriptor() noexcept;
  [[nodiscard]] static Bytes file_offset() noexcept { return Bytes(4096); }

 private:
  static constexpr std::uint64_t page_bytes = 4096;
  // A page and its place in the map are one allocation of the heap.
  struct Page {
    Page() noexcept {}  // leaves the bytes as they are: most are written at once
    std::array<std::byte, page_bytes> bytes;
  };
  // The part of a range that lies in one page.
  struct Piece {
    std::uint64_t page;  // its number from zero
    std::size_t begin;   // in the page
    std::size_t size;
  };

  void check_range(Bytes offset, Bytes size) const noexcept;
  // `size` is not zero.
  [[nodiscard]] static Piece first_piece(std::uint64_t offset, std::uint64_t size) noexcept;
  template <class Change>
  void change_pages(Bytes offset, std::size_t size, Change change);
  void fill_pages(std::uint64_t begin, std::uint64_t end, std::uint8_t value);
  // `size` is not zero, and the range lies in one page.
  void fill_part(Bytes offset, std::uint8_t value, std::uint64_t size);
  void fill_file(Bytes offset, std::uint8_t value, std::uint64_t size) noexcept;
  // Whether the range may hold anything but zeros.
  [[nodiscard]] bool may_hold_data(Bytes offset, std::uint64_t size) const noexcept;
  [[nodiscard]] bool move_to(int file_descriptor) noexcept;
  void close_file() noexcept;

  Kind kind_ = Kind::none;
  int file_descriptor_ = -1;
  Bytes size_;
  Bytes file_offset_ = file_offset();
  // Both empty once there is a file. A page of `pages_` hides what `fills_` says of it.
  std::map<std::uint64_t, Page> pages_;
  PageFills fills_;
};

}  // namespace tessera::sim
