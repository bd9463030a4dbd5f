#include "backing.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tessera/check.h"

namespace tessera::sim {
namespace {

// What copies and fills of files move at once; lies on the stack.
constexpr std::size_t chunk_bytes = 16384;

// `bytes` is not empty.
bool are_zero(std::span<const std::byte> bytes) noexcept {
  // Each byte is the next one's equal, and the first is zero.
  return bytes[0] == std::byte{} &&
         std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

int make_file() noexcept {
  // Newer kernels want to be told that the file is not to be executed, and some are set to refuse
  // a call that doesn't say so; older ones refuse a flag that they don't know.
  constexpr unsigned noexec_seal = 8;  // MFD_NOEXEC_SEAL, which older headers lack
  constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int made = ::memfd_create("tessera", flags | noexec_seal);
  return made < 0 && errno == EINVAL ? ::memfd_create("tessera", flags) : made;
}

// Reads until `destination` is full; what lies beyond the end of the file is zero.
bool read_file(int file_descriptor, std::uint64_t offset,
               std::span<std::byte> destination) noexcept {
  while (!destination.empty()) {
    const ssize_t done = ::pread(file_descriptor, destination.data(), destination.size(),
                                 static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) {
      continue;
    }
    if (done <= 0) {
      std::memset(destination.data(), 0, destination.size());
      return done == 0;
    }
    offset += static_cast<std::uint64_t>(done);
    destination = destination.subspan(static_cast<std::size_t>(done));
  }
  return true;
}

bool write_file(int file_descriptor, std::uint64_t offset,
                std::span<const std::byte> source) noexcept {
  while (!source.empty()) {
    const ssize_t done =
        ::pwrite(file_descriptor, source.data(), source.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) {
      continue;
    }
    if (done <= 0) {
      return false;
    }
    offset += static_cast<std::uint64_t>(done);
    source = source.subspan(static_cast<std::size_t>(done));
  }
  return true;
}

bool write_value(int file_descriptor, std::uint64_t offset, std::uint8_t value,
                 std::uint64_t size) noexcept {
  std::array<std::byte, chunk_bytes> chunk;
  chunk.fill(static_cast<std::byte>(value));
  for (std::uint64_t done = 0; done < size;) {
    const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(size - done, chunk.size()));
    if (!write_file(file_descriptor, offset + done, std::span(chunk).first(step))) {
      return false;
    }
    done += step;
  }
  return true;
}

}  // namespace

Backing::Backing(Kind kind, Bytes size) noexcept : kind_(kind), size_(size) {}

Backing::Backing(int file_descriptor, Bytes offset, Bytes size) noexcept
    : kind_(Kind::shared), file_descriptor_(file_descriptor), size_(size), file_offset_(offset) {
  TESSERA_CHECK(file_descriptor >= 0);
}

Backing::Backing(Backing&& other) noexcept
    : kind_(std::exchange(other.kind_, Kind::none)),
      file_descriptor_(std::exchange(other.file_descriptor_, -1)),
      size_(std::exchange(other.size_, Bytes())),
      file_offset_(std::exchange(other.file_offset_, file_offset())),
      pages_(std::exchange(other.pages_, {})),
      fills_(std::exchange(other.fills_, {})) {}

Backing& Backing::operator=(Backing&& other) noexcept {
  if (this != &other) {
    close_file();
    kind_ = std::exchange(other.kind_, Kind::none);
    file_descriptor_ = std::exchange(other.file_descriptor_, -1);
    size_ = std::exchange(other.size_, Bytes());
    file_offset_ = std::exchange(other.file_offset_, file_offset());
    pages_ = std::exchange(other.pages_, {});
    fills_ = std::exchange(other.fills_, {});
  }
  return *this;
}

Backing::~Backing() { close_file(); }

void Backing::close_file() noexcept {
  if (file_descriptor_ >= 0) {
    ::close(file_descriptor_);
    file_descriptor_ = -1;
  }
}

void Backing::check_range(Bytes offset, Bytes size) const noexcept {
  TESSERA_CHECK_LE(offset.value(), size_.value());
  TESSERA_CHECK_LE(size.value(), (size_ - offset).value());
}

Backing::Piece Backing::first_piece(std::uint64_t offset, std::uint64_t size) noexcept {
  const std::uint64_t begin = offset % page_bytes;
  return {.page = offset / page_bytes,
          .begin = static_cast<std::size_t>(begin),
          .size = static_cast<std::size_t>(std::min(size, page_bytes - begin))};
}

// Calls `change(bytes of the page, position in the range, size)` for each page of the range, and
// makes those that don't exist.
template <class Change>
void Backing::change_pages(Bytes offset, std::size_t size, Change change) {
  std::size_t done = 0;
  while (done < size) {
    const Piece piece = first_piece(offset.value() + done, size - done);
    auto found = pages_.lower_bound(piece.page);
    if (found == pages_.end() || found->first != piece.page) {
      found = pages_.try_emplace(found, piece.page);
      if (piece.size < page_bytes) {
        found->second.bytes.fill(static_cast<std::byte>(fills_.value_at(piece.page)));
      }
    }
    change(found->second.bytes.data() + piece.begin, done, piece.size);
    done += piece.size;
  }
}

// Only pages that exist are looked at: the range may be far larger than what was written.
void Backing::fill_pages(std::uint64_t begin, std::uint64_t end, std::uint8_t value) {
  if (begin < end) {
    pages_.erase(pages_.lower_bound(begin), pages_.lower_bound(end));
    fills_.set(begin, end, value);
  }
}

void Backing::fill_part(Bytes offset, std::uint8_t value, std::uint64_t size) {
  const std::uint64_t page = offset.value() / page_bytes;
  if (fills_.value_at(page) == value && !pages_.contains(page)) {
    return;
  }
  change_pages(offset, static_cast<std::size_t>(size),
               [value](std::byte* bytes, std::size_t, std::size_t piece_size) {
                 std::memset(bytes, value, piece_size);
               });
}

void Backing::read(Bytes offset, std::span<std::byte> destination) const noexcept {
  check_range(offset, Bytes(destination.size()));
  if (file_descriptor_ >= 0) {
    // Fails only if the program closed a descriptor that isn't its own.
    TESSERA_CHECK(read_file(file_descriptor_, file_offset_.value() + offset.value(), destination));
    return;
  }
  std::size_t done = 0;
  while (done < destination.size()) {
    const Piece piece = first_piece(offset.value() + done, destination.size() - done);
    const auto found = pages_.find(piece.page);
    if (found == pages_.end()) {
      std::memset(destination.data() + done, fills_.value_at(piece.page), piece.size);
    } else {
      std::memcpy(destination.data() + done, found->second.bytes.data() + piece.begin, piece.size);
    }
    done += piece.size;
  }
}

void Backing::write(Bytes offset, std::span<const std::byte> source) {
  check_range(offset, Bytes(source.size()));
  if (kind_ == Kind::none) {
    return;
  }
  if (file_descriptor_ >= 0) {
    TESSERA_CHECK(write_file(file_descriptor_, file_offset_.value() + offset.value(), source));
    return;
  }
  change_pages(offset, source.size(), [&](std::byte* bytes, std::size_t done, std::size_t size) {
    std::memcpy(bytes, source.data() + done, size);
  });
}

void Backing::fill(Bytes offset, std::uint8_t value, Bytes size) {
  check_range(offset, size);
  if (kind_ == Kind::none || size.is_zero()) {
    return;
  }
  if (file_descriptor_ >= 0) {
    fill_file(offset, value, size.value());
    return;
  }
  const std::uint64_t begin = offset.value();
  const std::uint64_t end = begin + size.value();
  const bool begins_page = begin % page_bytes == 0;
  const bool ends_page = end % page_bytes == 0 || end == size_.value();  // the last may be shorter
  const std::uint64_t first = begin / page_bytes + (begins_page ? 0U : 1U);
  const std::uint64_t last = end / page_bytes + (ends_page && end % page_bytes != 0 ? 1U : 0U);
  fill_pages(first, last, value);
  if (!begins_page) {
    fill_part(offset, value, first_piece(begin, size.value()).size);
  }
  if (!ends_page && first <= last) {
    fill_part(Bytes(last * page_bytes), value, end % page_bytes);
  }
}

void Backing::fill_file(Bytes offset, std::uint8_t value, std::uint64_t size) noexcept {
  const std::uint64_t begin = file_offset_.value() + offset.value();
  if (value == 0) {
    int result = 0;
    do {
      result = ::fallocate(file_descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                           static_cast<off_t>(begin), static_cast<off_t>(size));
    } while (result != 0 && errno == EINTR);
    TESSERA_CHECK(result == 0);
    return;
  }
  TESSERA_CHECK(write_value(file_descriptor_, begin, value, size));
}

bool Backing::may_hold_data(Bytes offset, std::uint64_t size) const noexcept {
  if (file_descriptor_ >= 0) {
    return true;
  }
  const std::uint64_t last = (offset.value() + size - 1) / page_bytes;
  const auto page = pages_.lower_bound(offset.value() / page_bytes);
  return (page != pages_.end() && page->first <= last) ||
         fills_.any_in(offset.value() / page_bytes, last + 1);
}

void Backing::copy_from(const Backing& source, Bytes source_offset, Bytes offset, Bytes size) {
  source.check_range(source_offset, size);
  check_range(offset, size);
  if (kind_ == Kind::none || size.is_zero()) {
    return;
  }
  // Towards where the bytes come from, so that none is overwritten before it was read.
  const bool backwards = this == &source && offset > source_offset;
  std::array<std::byte, chunk_bytes> buffer;
  for (std::uint64_t done = 0; done < size.value();) {
    const std::uint64_t step = std::min<std::uint64_t>(size.value() - done, buffer.size());
    const Bytes at(backwards ? size.value() - done - step : done);
    done += step;
    if (!source.may_hold_data(source_offset + at, step)) {
      fill(offset + at, 0, Bytes(step));
      continue;
    }
    const auto bytes = std::span(buffer).first(static_cast<std::size_t>(step));
    source.read(source_offset + at, bytes);
    // A file doesn't say cheaply where its holes are: what reads as zero is taken for one.
    if (are_zero(bytes)) {
      fill(offset + at, 0, Bytes(step));
    } else {
      write(offset + at, bytes);
    }
  }
}

int Backing::file_descriptor() noexcept {
  TESSERA_CHECK(kind_ == Kind::shared);
  if (file_descriptor_ < 0) {
    const int made = make_file();
    if (made < 0) {
      return -1;
    }
    if (!move_to(made)) {
      ::close(made);
      return -1;
    }
    file_descriptor_ = made;
    pages_.clear();
    fills_.clear();
  }
  return file_descriptor_;
}

bool Backing::move_to(int file_descriptor) noexcept {
  const auto largest = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
  if (size_.value() > largest - file_offset_.value()) {
    return false;
  }
  if (::ftruncate(file_descriptor, static_cast<off_t>(file_offset_.value() + size_.value())) != 0) {
    return false;
  }
  for (const auto& [page, run] : fills_.runs()) {
    const std::uint64_t begin = page * page_bytes;
    const std::uint64_t size = std::min(run.end * page_bytes, size_.value()) - begin;
    if (!write_value(file_descriptor, file_offset_.value() + begin, run.value, size)) {
      return false;
    }
  }
  for (const auto& [number, page] : pages_) {
    const std::uint64_t begin = number * page_bytes;
    const std::uint64_t size = std::min(page_bytes, size_.value() - begin);
    if (!write_file(file_descriptor, file_offset_.value() + begin,
                    std::span(page.bytes).first(static_cast<std::size_t>(size)))) {
      return false;
    }
  }
  // Nobody who gets a descriptor can take bytes away, or seal the file against being written.
  return ::fcntl(file_descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

}  // namespace tessera::sim
