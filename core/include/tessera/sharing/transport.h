// How exported memory gets into another process: over a connected Unix stream socket, with its
// description (memory_description.h) and its descriptors (SCM_RIGHTS).
//
// The message is a header, a record a piece, then one byte for every 253 descriptors, which come
// with that byte. The receiver answers with a receipt once it has imported the memory, or could
// not. Descriptors that are on their way are duplicates that the kernel holds: the exporter may
// close its own as soon as `send_memory` returns. Fabric handles hold nothing: with those, keep the
// ExportedMemory until the receipt is there.
//
// What comes from the peer is not trusted: each field is checked, descriptors are counted, and all
// that arrived are closed when anything is wrong. The sockets are to block; SO_RCVTIMEO and
// SO_SNDTIMEO bound the wait. After an error the stream may be in the middle of a message: close
// the socket. One thread at a time for a direction of a socket. No call raises SIGPIPE.
//
// ERRORS of all: invalid_value (no connected Unix stream socket; for receivers also a malformed
// message); operating_system: Reason::socket_failed names errno, peer_closed how far it came.
#pragma once

#include <span>
#include <vector>

#include "tessera/sharing/exported_memory.h"

namespace tessera {

// What a peer sent, not imported yet. Owns the descriptors.
struct ReceivedMemory {
  MemoryDescription description;
  std::vector<FileDescriptor> descriptors;  // one a piece; none for fabric handles
};

// Sends a copy of the description and of the descriptors; the export stays open.
Status send_memory(int socket, const ExportedMemory& memory);
// The same from its parts, for whoever passes on what it received. ERRORS: also those of `check`;
// invalid_value (not a descriptor a piece).
Status send_memory(int socket, const MemoryDescription& description,
                   std::span<const FileDescriptor> descriptors);
// ERRORS: also not_supported (a handle type that cannot be used here); operating_system
// (Reason::descriptors_cut: this process may have no more descriptors).
[[nodiscard]] Result<ReceivedMemory> receive_memory(int socket);

// What became of the import.
Status send_receipt(int socket, const Status& imported);
// Waits for it. ERRORS: also the peer's own code, with Reason::peer_did_not_import.
Status receive_receipt(int socket);

}  // namespace tessera
