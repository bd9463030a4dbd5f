#include "tessera/owners/capabilities.h"

#include "owners_machine.h"
#include "support/mock_driver.h"

namespace tessera {
namespace {

TEST(ProbeCapabilities, TriesInsteadOfTrustingAttributes) {
  OwnersMachine machine("h200", 2);
  const Capabilities found = must(probe_capabilities(machine.driver(), device_0));
  EXPECT_EQ(found.granularity_minimum, 2_MiB);
  EXPECT_TRUE(found.device_memory);
  EXPECT_TRUE(found.export_posix);
  EXPECT_TRUE(found.host_memory);
  EXPECT_TRUE(found.host_numa_memory);
  // The attribute says that fabric handles are supported; making one is not permitted [h200].
  ASSERT_FALSE(found.export_fabric);
  EXPECT_EQ(found.export_fabric.error().code, ErrorCode::not_permitted);
  EXPECT_FALSE(found.export_win32);
  EXPECT_EQ(found.peers, std::vector{device_1});
  EXPECT_NE(to_string(found).find("fabric handle: mem_create: NOT_PERMITTED"), std::string::npos)
      << to_string(found);
}

TEST(ProbeCapabilities, SaysWhatAnOldDriverLacks) {
  OwnersMachine machine("v100_cuda102");
  const Capabilities found = must(probe_capabilities(machine.driver(), device_0));
  EXPECT_TRUE(found.device_memory);
  EXPECT_FALSE(found.host_memory);
  EXPECT_FALSE(found.compression);
}

TEST(ProbeCapabilities, BelievesAnAttributeThatSaysNo) {
  OwnersMachine machine("h200");
  testing::NiceMock<test::MockDriver> driver;
  driver.delegate_to(machine.driver());
  EXPECT_CALL(driver, device_get_attribute).WillRepeatedly(testing::Return(0));
  const Capabilities found = must(probe_capabilities(driver, device_0));
  for (const Capability& capability : {found.export_posix, found.compression}) {
    ASSERT_FALSE(capability);
    EXPECT_EQ(capability.error().reason, Reason::attribute_denies);
  }
}

TEST(ProbeCapabilities, DoesNotTakeLessThanWasAskedFor) {
  OwnersMachine machine("h200");
  testing::NiceMock<test::MockDriver> driver;
  driver.delegate_to(machine.driver());
  EXPECT_CALL(driver, mem_get_allocation_properties_from_handle)
      .WillRepeatedly(testing::Return(AllocationProperties()));
  const Capabilities found = must(probe_capabilities(driver, device_0));
  EXPECT_TRUE(found.device_memory);
  for (const Capability& capability : {found.export_posix, found.compression}) {
    ASSERT_FALSE(capability);
    EXPECT_EQ(capability.error().reason, Reason::asked_and_not_granted);
  }
}

TEST(ProbeCapabilities, OfAMissingDeviceIsRefused) {
  OwnersMachine machine;
  EXPECT_THAT(probe_capabilities(machine.driver(), DeviceOrdinal(3)),
              fails_with(ErrorCode::invalid_device));
}

TEST(ProbeCapabilities, SaysSoWhereThereIsNoVirtualMemoryManagement) {
  testing::NiceMock<test::MockDriver> driver;
  ON_CALL(driver, device_get_name).WillByDefault(testing::Return(std::string("virtual GPU")));
  EXPECT_THAT(probe_capabilities(driver, device_0), fails_with(ErrorCode::not_supported));
}

TEST(CapabilityCache, ProbesOnce) {
  OwnersMachine machine;
  testing::NiceMock<test::MockDriver> driver;
  driver.delegate_to(machine.driver());
  EXPECT_CALL(driver, device_get_name(device_0)).Times(1);
  CapabilityCache cache(driver);
  const Capabilities* first = must(cache.of(device_0));
  EXPECT_EQ(must(cache.of(device_0)), first);
}

TEST(MemoryOptions, HaveNoGranularityOfZero) {
  testing::NiceMock<test::MockDriver> driver;
  EXPECT_CALL(driver, mem_get_allocation_granularity).WillOnce(testing::Return(Bytes()));
  const auto granularity = granularity_of(driver, {});
  ASSERT_FALSE(granularity);
  EXPECT_EQ(granularity.error().reason, Reason::granularity_is_zero);
}

TEST(MemoryOptions, BecomeTheDriversProperties) {
  const AllocationProperties properties =
      properties_of({.location = on_host_numa_node(1),
                     .exports = HandleTypes::posix_file_descriptor | HandleTypes::fabric,
                     .gpu_direct_rdma = true,
                     .compression = true});
  EXPECT_EQ(properties,
            (AllocationProperties{
                .requested_handle_types = HandleTypes::posix_file_descriptor | HandleTypes::fabric,
                .location = {.type = LocationType::host_numa, .id = 1},
                .compression = Compression::generic,
                .gpu_direct_rdma_capable = 1}));
}

TEST(AccessSet, JoinsAndTakesAway) {
  AccessSet set = AccessSet::of_devices({device_0, device_1}, AccessFlags::read);
  set.set(on_host(), AccessFlags::read_write);
  const AccessSet joined = set.joined_with(AccessSet::of_device(device_1));
  EXPECT_EQ(joined.of(on_device(device_0)), AccessFlags::read);
  EXPECT_EQ(joined.of(on_device(device_1)), AccessFlags::read_write);
  EXPECT_EQ(joined.without(set), AccessSet());
  EXPECT_EQ(joined.descriptors(),
            (std::vector<AccessDescriptor>{
                {.location = on_device(device_0), .flags = AccessFlags::read},
                {.location = on_device(device_1), .flags = AccessFlags::read_write},
                {.location = on_host(), .flags = AccessFlags::read_write}}));
  EXPECT_EQ(set.set(on_host(), AccessFlags::none).device_bits(), 3U);
  EXPECT_EQ(set.of(on_host()), AccessFlags::none);
}

TEST(AccessSet, JoinsRightsOfTheHost) {
  constexpr Location host = {.type = LocationType::host};
  AccessSet of_host;
  of_host.set(host, AccessFlags::read);
  const AccessSet joined = AccessSet::of_device(device_0).joined_with(of_host);
  EXPECT_EQ(joined.of(host), AccessFlags::read);
  EXPECT_EQ(joined.of(on_device(device_0)), AccessFlags::read_write);
  EXPECT_EQ(joined.count(), 2U);
}

TEST(AccessSet, IsForNodesOfTheHostToo) {
  AccessSet set;
  set.set(on_host_numa_node(1), AccessFlags::read);
  EXPECT_EQ(set.of(on_host_numa_node(1)), AccessFlags::read);
  EXPECT_EQ(set.of(on_host_numa_node(0)), AccessFlags::none);
  EXPECT_EQ(set.of(on_device(device_1)), AccessFlags::none);
  ASSERT_EQ(set.descriptors().size(), 1U);
  EXPECT_EQ(set.descriptors()[0].location, on_host_numa_node(1));
}

TEST(ProbeCapabilities, NamesThePeersThatADeviceReaches) {
  sim::Profile profile = sim::profile_named("h200");
  profile.peers = {{true, true, false}, {true, true, false}, {false, false, true}};
  sim::SimMachine machine(profile, {.devices = 3});
  const Capabilities first = must(probe_capabilities(machine.driver(), device_0));
  EXPECT_EQ(first.peers, std::vector{device_1});
  EXPECT_THAT(to_string(first), testing::EndsWith("peers: 1\n"));
  const Capabilities island = must(probe_capabilities(machine.driver(), DeviceOrdinal(2)));
  EXPECT_THAT(to_string(island), testing::EndsWith("peers: none\n"));
}

TEST(CapabilityCache, KeepsNoError) {
  OwnersMachine machine;
  CapabilityCache cache(machine.driver());
  EXPECT_THAT(cache.of(DeviceOrdinal(3)), fails_with(ErrorCode::invalid_device));
  EXPECT_THAT(cache.of(device_0), is_ok());
}

}  // namespace
}  // namespace tessera
