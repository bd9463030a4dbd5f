#include "scenario/repeated_byte.h"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "tessera/check.h"

namespace tessera::scenario {
namespace {

constexpr std::size_t piece = std::size_t{64} << 20U;

}  // namespace

RepeatedByte::RepeatedByte(Bytes size, std::byte value) {
  map(std::min(size, size_max).value(), value);
  if (begin_ == nullptr && !size.is_zero()) {
    map(std::min<std::size_t>(size.value(), piece), value);
    TESSERA_CHECK(begin_ != nullptr);
  }
}

RepeatedByte::~RepeatedByte() {
  if (begin_ != nullptr) {
    ::munmap(begin_, size_);
  }
}

// Sets nothing where the system refuses.
void RepeatedByte::map(std::size_t size, std::byte value) {
  if (size == 0) {
    return;
  }
  const std::size_t first = std::min(size, piece);
  void* all = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) {
    return;
  }
  auto* begin = static_cast<std::byte*>(all);
  bool is_mapped = true;
  if (size > first) {
    const int file = ::memfd_create("tessera", MFD_CLOEXEC);
    is_mapped = file >= 0 && ::ftruncate(file, static_cast<off_t>(piece)) == 0;
    for (std::size_t at = 0; is_mapped && at < size; at += piece) {
      is_mapped = ::mmap(begin + at, std::min(piece, size - at), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
    }
    if (file >= 0) {
      ::close(file);
    }
  }
  if (!is_mapped) {
    ::munmap(all, size);
    return;
  }
  std::memset(begin, std::to_integer<int>(value), first);
  begin_ = begin;
  size_ = size;
}

}  // namespace tessera::scenario
