// Rules that several calls have.
#include "rule_machine.h"

namespace tessera::rules {
namespace {

TESSERA_KEEPS(not_initialized) { must(m->device_get_count()); }
// TESSERA_BREAKS(not_initialized): before any machine is up
std::vector<Finding> before_init(const std::vector<RuleId>& ignored) {
  sim::SimDriver simulator(h200());
  ValidatingDriver driver(&simulator, {.ignored = ignored});
  EXPECT_FALSE(driver.mem_create({.size = 2_MiB, .properties = {}}));
  return driver.findings();
}
const bool is_listed = add_breaking({RuleId::not_initialized, before_init});
TEST(RuleFires, not_initialized) {
  const std::vector<Finding> findings = before_init({});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, RuleId::not_initialized);
}

TESSERA_BREAKS(null_pointer) {
  static_cast<void>(
      m->mem_address_reserve({.size = m.units(1), .null_pointers = NullPointers::output}));
}
TESSERA_KEEPS(null_pointer) { m.reserve(1); }

TESSERA_BREAKS(flags_unknown) {
  static_cast<void>(m->mem_create({.size = m.units(1), .properties = {}, .flags = 1}));
}
TESSERA_KEEPS(flags_unknown) {
  m.create(1);
  must(m->stream_create(StreamFlags::non_blocking));
}

TESSERA_BREAKS(range_wraps) {
  const std::array access = {
      AccessDescriptor{.location = on_device(device_0), .flags = AccessFlags::read_write}};
  static_cast<void>(m->mem_set_access(
      {.address = m.mapped(1), .size = Bytes(~std::uint64_t{0} << 21U), .descriptors = access}));
}
TESSERA_KEEPS(range_wraps) { must(m.allow(m.mapped(1), 1)); }

TESSERA_BREAKS(device_unknown) { static_cast<void>(m->device_total_mem(DeviceOrdinal(2))); }
TESSERA_KEEPS(device_unknown) { must(m->device_total_mem(device_1)); }

// The hint lies in a reservation, which is gone when its place is freed as if the hint had held.
TESSERA_BREAKS(uses_refused_hint) {
  const DeviceAddress taken = m.reserve(4);
  const DeviceAddress moved = m.reserve(1, taken + m.units(1));
  ASSERT_NE(moved, taken + m.units(1));
  must(m.free(taken, 4));
  static_cast<void>(m.free(taken + m.units(1), 1));
}
TESSERA_KEEPS(uses_refused_hint) {
  const DeviceAddress taken = m.reserve(4);
  const DeviceAddress moved = m.reserve(1, taken + m.units(1));
  must(m.free(taken, 4));
  must(m.free(moved, 1));
}

TESSERA_BREAKS(no_current_context) {
  must(m->ctx_set_current({}));
  static_cast<void>(m->mem_alloc(Bytes(16)));
}
TESSERA_KEEPS(no_current_context) {
  must(m->ctx_set_current({}));
  m.create(1);  // needs none
  must(m->ctx_set_current(m.primary()));
  must(m->mem_alloc(Bytes(16)));
}

TESSERA_BREAKS(current_context_destroyed) {
  must(m->device_primary_ctx_reset(device_0));
  static_cast<void>(m->mem_alloc(Bytes(16)));
}
TESSERA_KEEPS(current_context_destroyed) {
  must(m->device_primary_ctx_reset(device_0));
  must(m->ctx_set_current(must(m->device_primary_ctx_retain(device_0))));
  must(m->mem_alloc(Bytes(16)));
}

// A program may make a context current where the layer does not see it.
TEST(Validation, AsksForTheContextThatOthersMadeCurrent) {
  RuleMachine m(h200(), ValidationMode::refuse);
  must(m->ctx_set_current({}));
  must(m.simulator().ctx_set_current(m.primary()));
  must(m->mem_alloc(Bytes(16)));
  EXPECT_TRUE(m->findings().empty());
}

}  // namespace
}  // namespace tessera::rules
