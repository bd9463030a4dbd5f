#include "rule_machine.h"

namespace tessera::rules {
namespace {

TESSERA_BREAKS(reserve_size) { static_cast<void>(m->mem_address_reserve({.size = 1_MiB})); }
TESSERA_KEEPS(reserve_size) { must(m->mem_address_reserve({.size = 2_MiB})); }

TESSERA_BREAKS(reserve_alignment) {
  static_cast<void>(m->mem_address_reserve({.size = 2_MiB, .alignment = 6_MiB}));
}
TESSERA_KEEPS(reserve_alignment) {
  must(m->mem_address_reserve({.size = 2_MiB, .alignment = 8_MiB}));
}

TESSERA_BREAKS(reserve_hint_unaligned) {
  static_cast<void>(m->mem_address_reserve({.size = 2_MiB, .hint = DeviceAddress(0x10001000)}));
}
TESSERA_KEEPS(reserve_hint_unaligned) {
  must(m->mem_address_reserve({.size = 2_MiB, .hint = DeviceAddress(0x10000000)}));
}

TESSERA_BREAKS(free_not_reserved) { static_cast<void>(m.free(DeviceAddress(0x10000000), 1)); }
TESSERA_KEEPS(free_not_reserved) { must(m.free(m.reserve(1), 1)); }

TESSERA_BREAKS(free_twice) {
  const DeviceAddress address = m.reserve(1);
  must(m.free(address, 1));
  static_cast<void>(m.free(address, 1));
}
TESSERA_KEEPS(free_twice) {
  const DeviceAddress first = m.reserve(1);
  must(m.free(first, 1));
  must(m.free(m.reserve(1), 1));  // at the same place
}

TESSERA_BREAKS(free_not_whole) { static_cast<void>(m.free(m.reserve(2), 1)); }
TESSERA_KEEPS(free_not_whole) { must(m.free(m.reserve(2), 2)); }
TEST(Validation, NamesTheBaseThatIsNone) {
  RuleMachine m(h200(), ValidationMode::report);
  EXPECT_FALSE(m.free(m.reserve(2) + m.units(1), 1));
  EXPECT_EQ(m->findings().at(0).rule, RuleId::free_not_whole);
}

TESSERA_BREAKS(free_while_mapped) { static_cast<void>(m.free(m.mapped(2), 2)); }
TESSERA_KEEPS(free_while_mapped) { m.undo(m.mapped(2), 2); }

}  // namespace
}  // namespace tessera::rules
