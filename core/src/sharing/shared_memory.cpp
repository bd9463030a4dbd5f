#include "tessera/sharing/shared_memory.h"

#include <algorithm>
#include <utility>

#include "owners/with_reason.h"
#include "tessera/owners/peers.h"
#include "tessera/owners/transaction.h"

namespace tessera {
namespace {

Status check_descriptors(const ReceivedMemory& received) {
  const std::size_t pieces = received.description.pieces.size();
  const bool by_descriptor = received.description.type == HandleTypes::posix_file_descriptor;
  if (received.descriptors.size() != (by_descriptor ? pieces : 0)) {
    return Error{.code = ErrorCode::invalid_value,
                 .reason = Reason::pieces_and_descriptors_differ,
                 .values = {pieces, received.descriptors.size()}};
  }
  return {};
}

// Imports a piece and closes its descriptor, which the import does not need any longer.
Result<const PhysicalAllocation*> import_piece(Transaction& transaction, ReceivedMemory& received,
                                               std::size_t index) {
  const SharedPiece& piece = received.description.pieces[index];
  ShareableHandle shareable = {.type = received.description.type, .fabric = piece.fabric};
  FileDescriptor descriptor;
  if (shareable.type == HandleTypes::posix_file_descriptor) {
    descriptor = std::move(received.descriptors[index]);
    shareable.file_descriptor = descriptor.get();
  }
  const auto imported = transaction.import(shareable, piece.size);
  if (!imported) {
    return detail::with_reason(
        imported.error(), Reason::piece_not_imported,
        {index, piece.size.value(), static_cast<std::uint64_t>(shareable.type)});
  }
  TESSERA_TRY(descriptor.close());
  return *imported;
}

// Whether the devices that are to have access can reach the memory: asked before anything is done,
// so that a refusal names the pair.
Status check_access(Driver& driver, const std::vector<const PhysicalAllocation*>& memories,
                    const AccessSet& access) {
  const std::vector<DeviceOrdinal> devices = access.devices();
  std::int32_t checked = -1;
  for (const PhysicalAllocation* memory : memories) {
    const Location location = memory->asked().location;
    if (location.type == LocationType::device && location.id != checked) {
      TESSERA_TRY(check_reach(driver, DeviceOrdinal(location.id), devices));
      checked = location.id;
    }
  }
  return {};
}

}  // namespace

SharedMemory::SharedMemory(AddressRange range, std::vector<Mapping> pieces,
                           MemoryDescription description) noexcept
    : range_(range), pieces_(std::move(pieces)), description_(std::move(description)) {}

Result<SharedMemory> SharedMemory::import(DriverUse use, ReceivedMemory received,
                                          const AccessSet& access, CallSite site) {
  const CallSiteScope scope(site);
  TESSERA_TRY(check(received.description));
  TESSERA_TRY(check_descriptors(received));
  Transaction transaction(use, site);
  std::vector<const PhysicalAllocation*> memories;
  for (std::size_t i = 0; i < received.description.pieces.size(); ++i) {
    TESSERA_TRY_ASSIGN(const PhysicalAllocation* memory, import_piece(transaction, received, i));
    memories.push_back(memory);
  }
  TESSERA_TRY(check_access(*use.driver, memories, access));
  const Bytes total = received.description.total();
  TESSERA_TRY_ASSIGN(
      const Reservation* reservation,
      transaction.reserve(
          {.size = total, .memory = {.location = memories.front()->asked().location}}));
  Bytes offset;
  for (const PhysicalAllocation* memory : memories) {
    TESSERA_TRY(transaction.map(*reservation, offset, *memory));
    offset += memory->size();
  }
  const AddressRange range(reservation->base(), total);
  TESSERA_TRY(transaction.grant(range, access));
  // The mappings keep the memories and the reservation.
  return SharedMemory(range, transaction.commit().mappings, std::move(received.description));
}

Result<SharedMemory> SharedMemory::receive(DriverUse use, int socket, const AccessSet& access,
                                           CallSite site) {
  const CallSiteScope scope(site);
  auto received = receive_memory(socket);
  auto shared = received ? import(use, std::move(received).value(), access, site)
                         : Result<SharedMemory>(received.error());
  if (!shared) {
    // The exporter waits for word. This error is the one to report, whether it hears of it or not.
    static_cast<void>(send_receipt(socket, shared.error()));
    return shared;
  }
  if (const Status sent = send_receipt(socket, {}); !sent) {
    // Nobody has used it yet. What cannot be given back is heard of from its destructor.
    static_cast<void>(shared->close(Quiescence::promised()));
    return sent.error();
  }
  return shared;
}

bool SharedMemory::is_open() const noexcept {
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [](const Mapping& piece) { return piece.is_open(); });
}

Status SharedMemory::close(Quiescence proof) {
  for (const Mapping& piece : pieces_) {
    if (piece.is_open()) {
      TESSERA_TRY(proof.check_covers(piece.access().device_bits()));
    }
  }
  Status first;
  for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
    // Covered by the one proof for all.
    const Status closed = piece->close(Quiescence::promised());
    if (first) {
      first = closed;
    }
  }
  return first;
}

Status share(int socket, const ExportedMemory& memory) {
  TESSERA_TRY(send_memory(socket, memory));
  return receive_receipt(socket);
}

}  // namespace tessera
