// SharedMemory: memory of another process, mapped here. Either side may close first, and either
// process may die first: whoever is left keeps the memory until it closes its own.
//
//   exporter                                    importer
//   auto exported = ExportedMemory::of_range(   auto shared = SharedMemory::receive(
//       driver, buffer_range);                      driver, socket, AccessSet::of_device(device));
//   share(socket, *exported);
#pragma once

#include <span>
#include <vector>

#include "tessera/owners/mapping.h"
#include "tessera/sharing/transport.h"

namespace tessera {

class SharedMemory {
 public:
  // Imports each piece, closes its descriptor, reserves what the pieces need and no more, maps them
  // in their order without gaps, and gives access. All or nothing: after an error all descriptors
  // are closed and nothing is held. ERRORS: invalid_value (not a descriptor a piece); those of
  // import, reserve, map and set access.
  [[nodiscard]] static Result<SharedMemory> import(DriverUse use, ReceivedMemory received,
                                                   const AccessSet& access,
                                                   CallSite site = CallSite::here());
  // receive_memory, import, and a receipt that tells the exporter how it went. ERRORS: of these,
  // the first; memory whose receipt could not be sent is given back: the exporter doubts it.
  [[nodiscard]] static Result<SharedMemory> receive(DriverUse use, int socket,
                                                    const AccessSet& access,
                                                    CallSite site = CallSite::here());

  SharedMemory(SharedMemory&&) noexcept = default;
  // Closes what it held as the destructor does.
  SharedMemory& operator=(SharedMemory&&) noexcept = default;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  // As ~Mapping: waits for the devices with access first. Failures to undo go to the sink.
  ~SharedMemory() = default;

  // Whether a piece is still mapped, or left to be given back.
  [[nodiscard]] bool is_open() const noexcept;
  // Where it is, all pieces; stays the same after close.
  [[nodiscard]] AddressRange range() const noexcept { return range_; }
  // In the order of their addresses; after a close that failed, those with is_open() are left.
  [[nodiscard]] std::span<const Mapping> pieces() const noexcept { return pieces_; }
  [[nodiscard]] const MemoryDescription& description() const noexcept { return description_; }

  // Unmaps all and gives all back. `proof` covers the devices with access, for every piece: or
  // nothing is done (not_permitted). ERRORS: the first; the other pieces are closed all the same,
  // and close may be tried again. Again is harmless.
  Status close(Quiescence proof);

 private:
  SharedMemory(AddressRange range, std::vector<Mapping> pieces,
               MemoryDescription description) noexcept;

  AddressRange range_;
  std::vector<Mapping> pieces_;
  MemoryDescription description_;
};

// Sends the memory and waits until the peer has imported it. The export may be closed afterwards.
// ERRORS: those of send_memory and receive_receipt.
Status share(int socket, const ExportedMemory& memory);

}  // namespace tessera
