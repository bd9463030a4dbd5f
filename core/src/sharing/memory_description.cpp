#include "tessera/sharing/memory_description.h"

#include <algorithm>
#include <optional>

#include "tessera/check.h"

namespace tessera {
namespace {

Error refused(Reason reason, std::array<std::uint64_t, 3> values) noexcept {
  return {.code = ErrorCode::invalid_value, .reason = reason, .values = values};
}

Status check_type(HandleTypes type) {
  if (type != HandleTypes::posix_file_descriptor && type != HandleTypes::fabric) {
    return Error{.code = ErrorCode::not_supported,
                 .reason = Reason::handle_type_cannot_travel,
                 .values = {static_cast<std::uint64_t>(type)}};
  }
  return {};
}

Status check_count(std::size_t pieces) {
  if (pieces == 0 || pieces > message::pieces_max) {
    return refused(Reason::message_piece_count, {pieces, message::pieces_max});
  }
  return {};
}

// The sum of the sizes, each of which counts for something.
Result<Bytes> checked_total(std::span<const SharedPiece> pieces) {
  Bytes total;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].size.is_zero()) {
      return refused(Reason::piece_size_is_zero, {i, pieces.size()});
    }
    const std::optional<Bytes> sum = checked_add(total, pieces[i].size);
    if (!sum) {
      return refused(Reason::piece_sizes_overflow, {i});
    }
    total = *sum;
  }
  return total;
}

Status check_properties(const AllocationProperties& properties, std::size_t index) {
  if (properties.type != AllocationType::pinned) {
    return refused(Reason::piece_allocation_type,
                   {index, static_cast<std::uint64_t>(properties.type)});
  }
  const Location location = properties.location;
  if (location.type < LocationType::device || location.type > LocationType::host_numa_current ||
      location.id < 0) {
    return refused(Reason::piece_location, {index, static_cast<std::uint64_t>(location.type),
                                            static_cast<std::uint64_t>(std::int64_t{location.id})});
  }
  const auto compression = static_cast<std::uint8_t>(properties.compression);
  if (compression > 1 || properties.gpu_direct_rdma_capable > 1) {
    return refused(Reason::piece_flags, {index, compression, properties.gpu_direct_rdma_capable});
  }
  return {};
}

// Fields one after the other, little-endian, whatever this machine's order is.
class FieldWriter {
 public:
  explicit FieldWriter(std::span<std::byte> bytes) noexcept : bytes_(bytes) {}

  void put(std::uint64_t value, std::size_t size) noexcept {
    for (std::size_t i = 0; i < size; ++i) {
      bytes_[i] = static_cast<std::byte>(value >> (8 * i));
    }
    bytes_ = bytes_.subspan(size);
  }
  void put(std::span<const std::byte> bytes) noexcept {
    std::copy(bytes.begin(), bytes.end(), bytes_.begin());
    bytes_ = bytes_.subspan(bytes.size());
  }

 private:
  std::span<std::byte> bytes_;
};

class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  // `Value` may be narrower than 64 bits, or an enumeration; nothing is cut off.
  template <class Value>
  [[nodiscard]] Value get() noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Value); ++i) {
      value |= std::to_integer<std::uint64_t>(bytes_[i]) << (8 * i);
    }
    bytes_ = bytes_.subspan(sizeof(Value));
    return static_cast<Value>(value);
  }
  [[nodiscard]] std::span<const std::byte> rest() const noexcept { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

void put_record(FieldWriter& out, const SharedPiece& piece) noexcept {
  const AllocationProperties& properties = piece.properties;
  out.put(piece.size.value(), 8);
  out.put(static_cast<std::uint32_t>(properties.type), 4);
  out.put(static_cast<std::uint32_t>(properties.location.type), 4);
  out.put(static_cast<std::uint32_t>(properties.location.id), 4);
  out.put(static_cast<std::uint8_t>(properties.compression), 1);
  out.put(properties.gpu_direct_rdma_capable, 1);
  out.put(properties.usage, 2);
  out.put(0, 8);
  out.put(piece.fabric);
}

Result<SharedPiece> get_record(std::span<const std::byte> bytes, HandleTypes type,
                               std::size_t index) {
  FieldReader in(bytes);
  SharedPiece piece;
  piece.size = Bytes(in.get<std::uint64_t>());
  piece.properties.type = in.get<AllocationType>();
  piece.properties.location.type = in.get<LocationType>();
  piece.properties.location.id = in.get<std::int32_t>();
  piece.properties.compression = in.get<Compression>();
  piece.properties.gpu_direct_rdma_capable = in.get<std::uint8_t>();
  piece.properties.usage = in.get<std::uint16_t>();
  const auto reserved = in.get<std::uint64_t>();
  std::copy(in.rest().begin(), in.rest().end(), piece.fabric.begin());
  const bool has_fabric = piece.fabric != decltype(piece.fabric){};
  if (reserved != 0 || (has_fabric && type != HandleTypes::fabric)) {
    return refused(Reason::piece_reserved_not_zero, {index});
  }
  TESSERA_TRY(check_properties(piece.properties, index));
  return piece;
}

}  // namespace

Bytes MemoryDescription::total() const noexcept {
  Bytes total;
  for (const SharedPiece& piece : pieces) {
    total += piece.size;
  }
  return total;
}

Status check(const MemoryDescription& description) {
  TESSERA_TRY(check_type(description.type));
  TESSERA_TRY(check_count(description.pieces.size()));
  for (std::size_t i = 0; i < description.pieces.size(); ++i) {
    TESSERA_TRY(check_properties(description.pieces[i].properties, i));
  }
  TESSERA_TRY(checked_total(description.pieces));
  return {};
}

namespace message {

std::vector<std::byte> encode(const MemoryDescription& description) {
  TESSERA_CHECK(check(description).has_value());
  std::vector<std::byte> bytes(header_size + description.pieces.size() * record_size);
  FieldWriter out(bytes);
  out.put(magic, 8);
  out.put(version, 4);
  out.put(static_cast<std::uint32_t>(description.type), 4);
  out.put(description.pieces.size(), 4);
  out.put(record_size, 4);
  out.put(description.total().value(), 8);
  for (const SharedPiece& piece : description.pieces) {
    put_record(out, piece);
  }
  return bytes;
}

Result<Header> decode_header(std::span<const std::byte> bytes) {
  if (bytes.size() != header_size) {
    return refused(Reason::message_size_wrong, {bytes.size(), header_size});
  }
  FieldReader in(bytes);
  if (const auto found = in.get<std::uint64_t>(); found != magic) {
    return refused(Reason::message_magic_wrong, {found, magic});
  }
  if (const auto found = in.get<std::uint32_t>(); found != version) {
    return refused(Reason::message_version_unknown, {found, version});
  }
  Header header = {};
  header.type = in.get<HandleTypes>();
  TESSERA_TRY(check_type(header.type));
  header.pieces = in.get<std::uint32_t>();
  TESSERA_TRY(check_count(header.pieces));
  if (const auto found = in.get<std::uint32_t>(); found != record_size) {
    return refused(Reason::message_record_size_wrong, {found, record_size});
  }
  header.total = Bytes(in.get<std::uint64_t>());
  return header;
}

Result<MemoryDescription> decode_records(const Header& header, std::span<const std::byte> bytes) {
  if (bytes.size() != header.records_size()) {
    return refused(Reason::message_size_wrong, {bytes.size(), header.records_size()});
  }
  MemoryDescription description = {.type = header.type,
                                   .pieces = std::vector<SharedPiece>(header.pieces)};
  for (std::size_t i = 0; i < header.pieces; ++i) {
    TESSERA_TRY_ASSIGN(description.pieces[i],
                       get_record(bytes.subspan(i * record_size, record_size), header.type, i));
  }
  TESSERA_TRY_ASSIGN(const Bytes total, checked_total(description.pieces));
  if (total != header.total) {
    return refused(Reason::message_total_differs, {header.total.value(), total.value()});
  }
  return description;
}

Result<MemoryDescription> decode(std::span<const std::byte> bytes) {
  const std::size_t header_end = std::min(bytes.size(), header_size);
  TESSERA_TRY_ASSIGN(const Header header, decode_header(bytes.first(header_end)));
  return decode_records(header, bytes.subspan(header_end));
}

std::array<std::byte, receipt_size> encode_receipt(const Status& imported) {
  std::array<std::byte, receipt_size> bytes = {};
  FieldWriter out(bytes);
  const std::int32_t code = imported ? 0 : static_cast<std::int32_t>(imported.error().code);
  out.put(receipt_magic, 8);
  out.put(static_cast<std::uint32_t>(code), 4);
  return bytes;
}

Status decode_receipt(std::span<const std::byte> bytes) {
  if (bytes.size() != receipt_size) {
    return refused(Reason::message_size_wrong, {bytes.size(), receipt_size});
  }
  FieldReader in(bytes);
  if (const auto found = in.get<std::uint64_t>(); found != receipt_magic) {
    return refused(Reason::message_magic_wrong, {found, receipt_magic});
  }
  const auto code = in.get<std::int32_t>();
  if (code != 0) {
    return Error{.code = ErrorCode{code}, .reason = Reason::peer_did_not_import};
  }
  return {};
}

}  // namespace message
}  // namespace tessera
