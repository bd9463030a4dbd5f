// RepeatedByte: as many equal bytes as one wants, to be read, in little memory: the same pages,
// over and over. What a copy of any size takes as its source, so that it is one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tessera/bytes.h"

namespace tessera::scenario {

class RepeatedByte {
 public:
  // More than any device has: more is not to be had at once, nor where the system gives no
  // addresses for it.
  static constexpr Bytes size_max = 512_GiB;

  RepeatedByte(Bytes size, std::byte value);
  RepeatedByte(const RepeatedByte&) = delete;
  RepeatedByte& operator=(const RepeatedByte&) = delete;
  ~RepeatedByte();

  // As many as asked for, or as there are: never none where some were asked for.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {begin_, size_}; }

 private:
  void map(std::size_t size, std::byte value);

  std::byte* begin_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tessera::scenario
