#include "tessera/owners/peers.h"

#include "owners_machine.h"
#include "tessera/owners/mapping_walk.h"

namespace tessera {
namespace {

// Three devices of which the last reaches nobody and is reached by nobody.
sim::Profile profile_with_an_island() {
  sim::Profile profile = sim::profile_named("h200");
  profile.peers = {{true, true, false}, {true, true, false}, {false, false, true}};
  return profile;
}

constexpr std::array all_three = {device_0, device_1, DeviceOrdinal(2)};

TEST(Grant, NamesThePairThatCannotReachEachOther) {
  sim::SimMachine machine(profile_with_an_island(), {.devices = 3});
  CollectingSink sink;
  const DriverUse use(machine.driver(), sink);
  Mapping mapping = must(Mapping::map(must(Reservation::make(use, {.size = 2_MiB})), Bytes(0),
                                      must(PhysicalAllocation::create(use, {.size = 2_MiB}))));
  const Status refused = grant(mapping, all_three);
  ASSERT_THAT(refused, fails_with(ErrorCode::peer_access_unsupported));
  EXPECT_NE(to_string(refused.error()).find("device 2 cannot reach memory of device 0"),
            std::string::npos)
      << to_string(refused.error());
  EXPECT_TRUE(mapping.access().is_empty());
  EXPECT_THAT(grant(mapping, std::span(all_three).first(2)), is_ok());
  EXPECT_EQ(mapping.access().devices(), (std::vector{device_0, device_1}));
}

TEST(Grant, GoesOverEachMappingOfARange) {
  OwnersMachine machine("h200", 2);
  const Reservation reservation = machine.reserve(5);
  const Mapping left = must(Mapping::map(reservation, Bytes(0), machine.create(1)));
  const Mapping right = must(Mapping::map(reservation, machine.unit() * 3, machine.create(2)));
  const std::array devices = {device_0, device_1};
  ASSERT_THAT(grant(machine.driver(), reservation.range(), devices), is_ok());
  for (const Mapping* mapping : {&left, &right}) {
    EXPECT_EQ(must(machine.driver().mem_get_access(
                  {.address = mapping->begin(), .location = on_device(device_1)})),
              AccessFlags::read_write);
  }
}

TEST(Grant, PutsBackWhatWasThereWhenACallFails) {
  OwnersMachine machine("h200", 2);
  const Reservation reservation = machine.reserve(2);
  const Mapping left = must(Mapping::map(reservation, Bytes(0), machine.create(1)));
  const Mapping right = must(Mapping::map(reservation, machine.unit(), machine.create(1)));
  class FailsAtRight final : public DriverWrapper {
   public:
    FailsAtRight(Driver& target, DeviceAddress at) : DriverWrapper(&target), at_(at) {}
    Status mem_set_access(const SetAccessRequest& request) override {
      if (request.address == at_) {
        return Error{.code = ErrorCode::out_of_memory};
      }
      return DriverWrapper::mem_set_access(request);
    }

   private:
    DeviceAddress at_;
  };
  FailsAtRight layer(machine.driver(), right.begin());
  const std::array devices = {device_0, device_1};
  EXPECT_THAT(grant(layer, reservation.range(), devices), fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(must(machine.driver().mem_get_access(
                {.address = left.begin(), .location = on_device(device_0)})),
            AccessFlags::none);
}

TEST(ForEachMapping, VisitsWhatIsMappedInOrderAndPassesOverHoles) {
  OwnersMachine machine;
  const Reservation reservation = machine.reserve(8);
  const Mapping second = must(Mapping::map(reservation, machine.unit() * 5, machine.create(2)));
  const Mapping first = must(Mapping::map(reservation, machine.unit(), machine.create(3)));
  EXPECT_EQ(must(mappings_in(machine.driver(), reservation.range())),
            (std::vector{first.range(), second.range()}));
  // A mapping that the range cuts is visited whole.
  const AddressRange inside(first.begin() + machine.unit(), Bytes(1));
  EXPECT_EQ(must(mappings_in(machine.driver(), inside)), std::vector{first.range()});
}

TEST(ForEachMapping, StopsAtTheFirstError) {
  OwnersMachine machine;
  const Reservation reservation = machine.reserve(2);
  const Mapping left = must(Mapping::map(reservation, Bytes(0), machine.create(1)));
  const Mapping right = must(Mapping::map(reservation, machine.unit(), machine.create(1)));
  int visits = 0;
  EXPECT_THAT(for_each_mapping(machine.driver(), reservation.range(),
                               [&](AddressRange) -> Status {
                                 ++visits;
                                 return Error{.code = ErrorCode::unknown};
                               }),
              fails_with(ErrorCode::unknown));
  EXPECT_EQ(visits, 1);
}

TEST(ForEachMapping, VisitsNothingWhereNothingIsMapped) {
  OwnersMachine machine;
  EXPECT_TRUE(must(mappings_in(machine.driver(), machine.reserve(3).range())).empty());
}

TEST(ForEachMapping, ReturnsWhatTheDriverSaysOfItself) {
  sim::SimDriver driver(sim::profile_named("h200"));  // not initialized
  EXPECT_THAT(mappings_in(driver, AddressRange(DeviceAddress(0x1000), 2_MiB)),
              fails_with(ErrorCode::not_initialized));
}

// Memory on the host is reached by all.
TEST(Grant, AsksNobodyWhoReachesTheHost) {
  sim::SimMachine machine(profile_with_an_island(), {.devices = 3});
  CollectingSink sink;
  const DriverUse use(machine.driver(), sink);
  Mapping mapping =
      must(Mapping::map(must(Reservation::make(use, {.size = 2_MiB})), Bytes(0),
                        must(PhysicalAllocation::create(
                            use, {.size = 2_MiB, .memory = {.location = on_host_numa_node(0)}}))));
  EXPECT_THAT(grant(machine.driver(), mapping.range(), all_three), is_ok());
  EXPECT_THAT(grant(mapping, all_three), is_ok());
  EXPECT_EQ(mapping.access().devices().size(), 3U);
}

TEST(Grant, IsForSomebody) {
  OwnersMachine machine;
  const Mapping mapping = machine.mapped(1, {});
  EXPECT_THAT(grant(machine.driver(), mapping.range(), {}), is_ok());
  EXPECT_EQ(must(machine.driver().mem_get_access(
                {.address = mapping.begin(), .location = on_device(device_0)})),
            AccessFlags::none);
}

}  // namespace
}  // namespace tessera
