#include "rule_machine.h"

namespace tessera::rules {
namespace {

TESSERA_BREAKS(alloc_size_zero) { static_cast<void>(m->mem_alloc(Bytes())); }
TESSERA_KEEPS(alloc_size_zero) { must(m->mem_alloc(Bytes(1))); }

TESSERA_BREAKS(alloc_gives_null) { static_cast<void>(m->mem_alloc_async({.size = Bytes()})); }
TESSERA_KEEPS(alloc_gives_null) {
  must(m->mem_alloc_async({.size = Bytes(1)}));
  must(m->mem_host_alloc({.size = Bytes(1)}));
}

TESSERA_BREAKS(pitch_element_size) {
  static_cast<void>(m->mem_alloc_pitch({.width = Bytes(100), .height = 4, .element_size = 3}));
}
TESSERA_KEEPS(pitch_element_size) {
  must(m->mem_alloc_pitch({.width = Bytes(100), .height = 4, .element_size = 4}));
}

TESSERA_BREAKS(memory_freed_twice) {
  const DeviceAddress address = must(m->mem_alloc(Bytes(16)));
  must(m->mem_free(address));
  static_cast<void>(m->mem_free(address));
}
TESSERA_KEEPS(memory_freed_twice) {
  for (int i = 0; i < 2; ++i) {
    must(m->mem_free(must(m->mem_alloc(Bytes(16)))));
  }
  must(m->mem_free({}));
}

TESSERA_BREAKS(freed_after_free_async) {
  const DeviceAddress address = must(m->mem_alloc(Bytes(16)));
  must(m->mem_free_async({.address = address}));
  static_cast<void>(m->mem_free(address));
}
TESSERA_KEEPS(freed_after_free_async) {
  must(m->mem_free_async({.address = must(m->mem_alloc(Bytes(16)))}));
  must(m->ctx_synchronize());
  must(m->mem_free(must(m->mem_alloc(Bytes(16)))));
}

TESSERA_BREAKS(pitch_too_wide) {
  static_cast<void>(
      m->mem_alloc_pitch({.width = Bytes(~std::uint64_t{0}), .height = 1, .element_size = 4}));
}
TESSERA_KEEPS(pitch_too_wide) {
  must(m->mem_free(
      must(m->mem_alloc_pitch({.width = 1_KiB, .height = 2, .element_size = 4})).address));
}

TESSERA_BREAKS(free_async_managed) {
  const DeviceAddress address = must(m->mem_alloc_managed({.size = 4_KiB}));
  static_cast<void>(m->mem_free_async({.address = address}));
  must(m->mem_free(address));
}
TESSERA_KEEPS(free_async_managed) {
  must(m->mem_free(must(m->mem_alloc_managed({.size = 4_KiB}))));
}

TESSERA_BREAKS(free_inside_allocation) {
  static_cast<void>(m->mem_free(must(m->mem_alloc(1_MiB)) + 4_KiB));
}
TESSERA_KEEPS(free_inside_allocation) { must(m->mem_free(must(m->mem_alloc(1_MiB)))); }

TESSERA_BREAKS(free_mapped_memory) { static_cast<void>(m->mem_free(m.mapped(1))); }
TESSERA_KEEPS(free_mapped_memory) { m.undo(m.mapped(1), 1); }

TESSERA_BREAKS(free_unknown_memory) { static_cast<void>(m->mem_free(DeviceAddress(0x10000000))); }
// Memory that was allocated where the layer does not see it.
TESSERA_KEEPS(free_unknown_memory) { must(m->mem_free(must(m.simulator().mem_alloc(Bytes(16))))); }

}  // namespace
}  // namespace tessera::rules
