// LeakReport: what is still live, who holds it, where it was made, and what to do about it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/live_objects.h"

namespace tessera {

enum class LeakKind : std::uint8_t {
  create_reference,  // mem_create's or multicast_create's, never released
  retain_reference,  // mem_retain_allocation_handle's
  import_reference,  // mem_import_from_shareable_handle's
  mapping,           // never unmapped
  binding,           // memory bound to a multicast object, never unbound
  descriptor,        // exported and still open in this process
  reservation,       // addresses never freed
  allocation,        // mem_alloc's and its like
  stream,
  event,
  context,
};

struct LeakEntry {
  LeakKind kind;
  std::uint64_t value = 0;  // the address, handle or descriptor
  Bytes size;               // zero where it has none
  std::uint32_t count = 1;  // of references
  MadeBy made;

  friend bool operator==(const LeakEntry&, const LeakEntry&) = default;
};

struct LeakReport {
  std::vector<LeakEntry> entries;  // by kind, then in the order in which they were made

  [[nodiscard]] bool is_empty() const noexcept { return entries.empty(); }
};

// "by call 3 (mem_create, pool.cpp:12)"
[[nodiscard]] std::string to_string(const MadeBy& made);
// "memory 0x7f.., 2 MiB (2097152): create reference never released; made by call 3 (mem_create,
// pool.cpp:12); call mem_release once for each mem_create"
[[nodiscard]] std::string to_string(const LeakEntry& entry);
// One line an entry; "nothing is left" if there is none.
[[nodiscard]] std::string to_string(const LeakReport& report);

// A descriptor counts while the file that was exported is open under its number in this process.
// Once a fault has lost the contexts, what can still be given back is left: no allocations, streams
// and events, which went with them.
[[nodiscard]] LeakReport leak_report_of(const LiveObjects& objects);

}  // namespace tessera
