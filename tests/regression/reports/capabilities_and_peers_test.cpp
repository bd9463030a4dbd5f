// What a machine says it can and then cannot.
#include "report_machine.h"
#include "tessera/owners/capabilities.h"
#include "tessera/owners/peers.h"

namespace tessera::reports {
namespace {

sim::Profile without_peers() {
  sim::Profile profile = *sim::built_in_profile("h200");
  profile.peers = {{true, false}, {false, true}};
  return profile;
}

// cuda-api-wrappers 512: access is set for two devices that are no peers.
TEST(CudaApiWrappers512, BareCallsNameThePairThatCannot) {
  ReportMachine m({}, without_peers());
  const DeviceAddress address = m.mapped(1);
  EXPECT_FALSE(m.allow(address, 1, device_1));
  ASSERT_EQ(m.broken(), std::vector{RuleId::access_peer_unreachable});
  EXPECT_THAT(m.text(), HasSubstr("device 1"));
  EXPECT_THAT(m.text(), HasSubstr("device 0"));
}

TEST(CudaApiWrappers512, GrantNamesThePairBeforeItCalls) {
  ReportMachine m({}, without_peers());
  Mapping mapping = must(Mapping::map(must(Reservation::make(m.use(), {.size = unit})), Bytes(0),
                                      must(PhysicalAllocation::create(m.use(), {.size = unit}))));
  const std::array both = {device_0, device_1};
  const Status refused = grant(mapping, both);
  ASSERT_THAT(refused, fails_with(ErrorCode::peer_access_unsupported));
  EXPECT_THAT(to_string(refused.error()), HasSubstr("device 1 cannot reach memory of device 0"));
  must(mapping.close(Quiescence::promised()));
  EXPECT_THAT(m.end(), IsEmpty()) << m.text();
}

// moonep 28, Mooncake 965: the attribute says that fabric handles are supported; making memory with
// one is not permitted.
TEST(Moonep28, BareCallsAreToldWhy) {
  ReportMachine m;
  const auto refused =
      m->mem_create({.size = unit, .properties = {.requested_handle_types = HandleTypes::fabric}});
  ASSERT_THAT(refused, fails_with(ErrorCode::not_permitted));
  EXPECT_THAT(to_string(refused.error()), HasSubstr("IMEX"));
}

TEST(Moonep28, CapabilitiesAreFoundByTryingOnce) {
  ReportMachine m;
  CapabilityCache cache(m.driver());
  const Capabilities* found = must(cache.of(device_0));
  EXPECT_FALSE(found->export_fabric);
  EXPECT_THAT(found->export_fabric.why(), HasSubstr("NOT_PERMITTED"));
  EXPECT_TRUE(found->export_posix);
  const std::uint64_t calls = m.driver().call_count();
  EXPECT_EQ(must(cache.of(device_0)), found);
  EXPECT_EQ(m.driver().call_count(), calls);
  EXPECT_THAT(m.end(), IsEmpty()) << m.text();
}

// xgboost 12217: on a virtual GPU already the granularity query is NOT_SUPPORTED.
TEST(Xgboost12217, TheFirstCallIsTheProbe) {
  ReportMachine m(
      {.faults = {Fault::each_of(Call::mem_get_allocation_granularity, ErrorCode::not_supported)}});
  EXPECT_THAT(probe_capabilities(m.driver(), device_0), fails_with(ErrorCode::not_supported));
  EXPECT_THAT(m.end(), IsEmpty()) << m.text();
}

}  // namespace
}  // namespace tessera::reports
