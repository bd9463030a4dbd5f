// MemoryDescription: what an importer has to know of shared memory, and how it is written for the
// way through a socket. Pure functions on bytes: what comes from another process is not trusted,
// and each field of it is looked at here.
//
// The message, little-endian, is a header and a record a piece; descriptors follow (transport.h):
//
//   header, 32 bytes          record, 96 bytes
//    0 u64 magic               0 u64 size, not zero
//    8 u32 version             8 u32 allocation type     12 u32 location type
//   12 u32 handle type        16 i32 location id         20 u8 compression  21 u8 GPU-direct RDMA
//   16 u32 pieces             22 u16 usage               24 u64 zero
//   20 u32 record size        32 fabric handle; zero for descriptors
//   24 u64 total size
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/requests.h"
#include "tessera/result.h"

namespace tessera {

// One handle's worth of memory.
struct SharedPiece {
  Bytes size;  // rounded, as it was made: what the importer maps
  // What the exporter's driver said of it: type, location (by the exporter's count of devices),
  // compression, GPU-direct RDMA, usage. Handle types do not travel: imported memory has none.
  AllocationProperties properties = {};
  std::array<std::byte, 64> fabric = {};  // for fabric handles only

  friend bool operator==(const SharedPiece&, const SharedPiece&) = default;
};

struct MemoryDescription {
  HandleTypes type = HandleTypes::posix_file_descriptor;  // or fabric
  std::vector<SharedPiece> pieces;                        // in the order of their addresses

  // VALID: as `check` says.
  [[nodiscard]] Bytes total() const noexcept;

  friend bool operator==(const MemoryDescription&, const MemoryDescription&) = default;
};

// What of a description can be sent. ERRORS: not_supported (a handle type that cannot travel here:
// Windows handles); invalid_value (no piece, too many, sizes of zero or beyond 64 bits together).
[[nodiscard]] Status check(const MemoryDescription& description);

namespace message {

inline constexpr std::size_t header_size = 32;
inline constexpr std::size_t record_size = 96;
inline constexpr std::uint32_t pieces_max = 65536;
inline constexpr std::uint64_t magic = 0x4d454d4152535354;  // "TSSRAMEM" as bytes
inline constexpr std::uint32_t version = 1;

struct Header {
  HandleTypes type;
  std::uint32_t pieces;
  Bytes total;

  [[nodiscard]] std::size_t records_size() const noexcept { return pieces * record_size; }
};

// VALID: `check` accepts the description (checked).
[[nodiscard]] std::vector<std::byte> encode(const MemoryDescription& description);

// ERRORS of all: invalid_value, not_supported; the reason names the field, what was found and what
// is allowed.
[[nodiscard]] Result<Header> decode_header(std::span<const std::byte> bytes);
[[nodiscard]] Result<MemoryDescription> decode_records(const Header& header,
                                                       std::span<const std::byte> bytes);
// Both, from exactly one message.
[[nodiscard]] Result<MemoryDescription> decode(std::span<const std::byte> bytes);

// What an importer answers: whether it could take the memory over, by the error's number.
inline constexpr std::size_t receipt_size = 12;
inline constexpr std::uint64_t receipt_magic = 0x5450434552535354;  // "TSSRECPT" as bytes

[[nodiscard]] std::array<std::byte, receipt_size> encode_receipt(const Status& imported);
// ERRORS: invalid_value (no receipt). A receipt that says "failed" is Reason::peer_did_not_import
// with the peer's code.
[[nodiscard]] Status decode_receipt(std::span<const std::byte> bytes);

}  // namespace message
}  // namespace tessera
