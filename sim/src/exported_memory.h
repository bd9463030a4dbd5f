// Exported memory: how physical memory leaves a process as a real file descriptor and comes into
// another. Each export is an open file description of its own on the memory's file, and holds a
// lock on it; the lock goes when the last duplicate of that descriptor, in any process or on its
// way through a socket, is closed. So the exporter can ask at any time which of its exports are
// still open, and an importer that keeps a duplicate keeps the memory alive.
//
// The file begins with a header that says what the memory is; its bytes follow at
// Backing::file_offset(). Opening a description again needs /proc.
#pragma once

#include <cstdint>
#include <optional>

#include "backing.h"
#include "tessera/requests.h"

namespace tessera::sim {

// What travels with a descriptor.
struct ExportedProperties {
  Bytes size;
  // Of win32_handle_metadata only whether it is null: the importer must not follow it.
  AllocationProperties properties;
  // The same for every export of one memory, different for every memory of this machine.
  std::uint64_t memory_id = 0;
};

// A new descriptor, which the caller owns; -1 when the system has none left. `backing` is shared.
// `export_number` counts the exports of this memory from 0 (it names the lock).
[[nodiscard]] int export_memory(Backing& backing, const ExportedProperties& properties,
                                std::uint32_t export_number);

// Whether any duplicate of that export's descriptor is still open, anywhere. Importers that export
// the memory again under the same number count too. For a Backing made of an imported descriptor
// the export that it came by doesn't count: a description doesn't see its own locks.
[[nodiscard]] bool is_export_open(Backing& backing, std::uint32_t export_number);

struct ImportedMemory {
  ExportedProperties properties;
  int file_descriptor;  // a duplicate of what was given; the caller owns it
};
// Nothing when the descriptor is not of exported memory, or the system has none left for the
// duplicate. Never changes `file_descriptor`.
[[nodiscard]] std::optional<ImportedMemory> import_memory(int file_descriptor);

}  // namespace tessera::sim
