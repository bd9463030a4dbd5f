#include <utility>

#include "support/sharing_peer.h"
#include "support/sharing_support.h"
#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

using test::SharingSide;

// Exporter and importer in one process, with a driver each. What goes wrong between them leaves
// both as they were.
class SharedMemoryTest : public testing::Test {
 protected:
  ~SharedMemoryTest() override {
    EXPECT_EQ(exporter_->books(), exporter_before_);
    EXPECT_EQ(importer_->books(), importer_before_);
  }

  // What a peer gets of `side`'s memory.
  [[nodiscard]] ReceivedMemory sent_by(const SharingSide& side) {
    must(send_memory(pair_.here.get(), *side.exported()));
    return must(receive_memory(pair_.there.get()));
  }
  Result<SharedMemory> import(ReceivedMemory received) {
    return SharedMemory::import(importer_.driver(), std::move(received),
                                AccessSet::of_device(device_0));
  }

  test::NoDescriptorIsLeft no_descriptor_is_left_;
  SimMachine exporter_{"h200", {.devices = 2}};
  SimMachine importer_{"h200", {.devices = 2}};
  Books exporter_before_ = exporter_->books();
  Books importer_before_ = importer_->books();
  test::SocketPair pair_ = test::socket_pair();
};

TEST_F(SharedMemoryTest, HasTheSameBytesOnBothSides) {
  SharingSide side(exporter_.driver());
  must(side.make(3));
  must(side.publish());
  SharedMemory shared = must(import(sent_by(side)));
  must(exporter_.put(side.range().begin() + 5_B, 42));
  EXPECT_THAT(importer_.get(shared.range().begin() + 5_B), is_ok_and_holds(42));
  must(importer_.put(shared.range().end() - 1_B, 43));
  EXPECT_THAT(exporter_.get(side.range().end() - 1_B), is_ok_and_holds(43));
  EXPECT_EQ(shared.range().size(), side.range().size());
  EXPECT_EQ(shared.description(), side.exported()->description());
  must(shared.close(Quiescence::promised()));
}

TEST_F(SharedMemoryTest, ReservesWhatItMapsAndKeepsNoDescriptor) {
  SharingSide side(exporter_.driver());
  must(side.make(3));
  must(side.publish());
  ReceivedMemory received = sent_by(side);
  const std::size_t before = test::open_descriptors();
  // The simulator keeps a descriptor of each memory that it imported, as its bytes.
  SharedMemory shared = must(import(std::move(received)));
  EXPECT_EQ(test::open_descriptors(), before);
  EXPECT_EQ(importer_->books().reserved, side.range().size());
  EXPECT_EQ(importer_->books().mappings, 3U);
  must(shared.close(Quiescence::promised()));
}

TEST_F(SharedMemoryTest, ClosesInAnyOrder) {
  enum class Holder { memory, exported, shared };
  std::array order = {Holder::memory, Holder::exported, Holder::shared};
  do {
    SharingSide side(exporter_.driver());
    must(side.make(2));
    must(side.publish());
    must(side.put(1));
    SharedMemory shared = must(import(sent_by(side)));
    for (const Holder holder : order) {
      switch (holder) {
        case Holder::memory:
          EXPECT_THAT(side.expect(1), is_ok());
          EXPECT_THAT(side.close(), is_ok());
          break;
        case Holder::exported:
          EXPECT_THAT(side.withdraw(), is_ok());
          break;
        case Holder::shared:
          EXPECT_THAT(importer_.get(shared.range().begin()), is_ok_and_holds(1));
          EXPECT_THAT(shared.close(Quiescence::promised()), is_ok());
          break;
      }
    }
    EXPECT_EQ(exporter_->books().allocations, 0U);
    EXPECT_EQ(importer_->books().allocations, 0U);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(SharedMemoryTest, ClosesOnlyWithProof) {
  SharingSide side(exporter_.driver());
  must(side.make(2));
  must(side.publish());
  SharedMemory shared = must(import(sent_by(side)));
  EXPECT_THAT(shared.close(Quiescence::none()), fails_with(ErrorCode::not_permitted));
  EXPECT_TRUE(shared.is_open());
  for (const Mapping& piece : shared.pieces()) {
    EXPECT_TRUE(piece.is_open());
  }
  EXPECT_THAT(shared.close(must(Quiescence::after_device(importer_.driver(), device_0))), is_ok());
  EXPECT_FALSE(shared.is_open());
  EXPECT_THAT(shared.close(Quiescence::none()), is_ok());
}

TEST_F(SharedMemoryTest, GivesAccessToDevicesThatReachIt) {
  SharingSide side(exporter_.driver());
  must(side.make(2));
  must(side.publish());
  const AccessSet both = AccessSet::of_devices({device_0, device_1});
  SharedMemory shared = must(SharedMemory::import(importer_.driver(), sent_by(side), both));
  for (const Mapping& piece : shared.pieces()) {
    EXPECT_EQ(piece.access(), both);
    EXPECT_THAT(
        importer_->mem_get_access({.address = piece.begin(), .location = on_device(device_1)}),
        is_ok_and_holds(AccessFlags::read_write));
  }
  EXPECT_THAT(shared.close(must(Quiescence::after_device(importer_.driver(), device_0))),
              fails_with(ErrorCode::not_permitted));
  const std::array devices = {device_0, device_1};
  EXPECT_THAT(shared.close(must(Quiescence::after_devices(importer_.driver(), devices))), is_ok());
  const auto nobody = SharedMemory::import(importer_.driver(), sent_by(side),
                                           AccessSet::of_devices({device_0, DeviceOrdinal(7)}));
  EXPECT_THAT(nobody, fails_with(ErrorCode::invalid_device));
}

// No device needs to reach the host's memory over others.
TEST_F(SharedMemoryTest, MayLieOnTheHost) {
  PhysicalAllocation memory = must(PhysicalAllocation::create(
      exporter_.driver(), {.size = exporter_.unit(),
                           .memory = {.location = on_host_numa_node(0),
                                      .exports = HandleTypes::posix_file_descriptor}}));
  ExportedMemory exported = must(ExportedMemory::of(memory));
  must(send_memory(pair_.here.get(), exported));
  SharedMemory shared = must(import(must(receive_memory(pair_.there.get()))));
  EXPECT_THAT(importer_.put(shared.range().begin(), 9), is_ok());
  must(shared.close(Quiescence::promised()));
  must(exported.close());
  must(memory.close());
}

TEST_F(SharedMemoryTest, IsSentOverASocket) {
  SharingSide side(exporter_.driver());
  must(side.make(1));
  must(side.publish());
  EXPECT_THAT(share(-1, *side.exported()), fails_with(ErrorCode::operating_system));
}

TEST_F(SharedMemoryTest, RefusesASizeThatIsNotTheMemorys) {
  SharingSide side(exporter_.driver());
  must(side.make(2));
  must(side.publish());
  for (const Bytes wrong : {exporter_.unit(), exporter_.unit() * 3, 6912_B}) {
    ReceivedMemory received = sent_by(side);
    received.description.pieces[1].size = wrong;
    const auto imported = import(std::move(received));
    ASSERT_FALSE(imported) << wrong.value();
    EXPECT_NE(imported.error().call, Call::none);
  }
}

TEST_F(SharedMemoryTest, RefusesWhatIsNoMemory) {
  const std::size_t before = test::open_descriptors();
  ReceivedMemory received;
  received.description.pieces.push_back({.size = importer_.unit()});
  EXPECT_THAT(SharedMemory::import(importer_.driver(), std::move(received), AccessSet()),
              fails_with(ErrorCode::invalid_value));  // a descriptor is missing
  received = ReceivedMemory();
  received.description.pieces.push_back({.size = importer_.unit()});
  received.descriptors.push_back(must(pair_.here.duplicate()));
  const auto imported = import(std::move(received));
  ASSERT_THAT(imported, fails_with(ErrorCode::unknown));
  EXPECT_NE(explain(imported.error()), "");
  received = ReceivedMemory();
  EXPECT_THAT(import(std::move(received)), fails_with(ErrorCode::invalid_value));
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST_F(SharedMemoryTest, TellsTheExporterHowItWent) {
  SharingSide side(exporter_.driver());
  must(side.make(2));
  must(side.publish());
  const auto receive = [&] {
    return SharedMemory::receive(importer_.driver(), pair_.there.get(),
                                 AccessSet::of_device(device_0));
  };
  must(send_memory(pair_.here.get(), *side.exported()));
  SharedMemory shared = must(receive());
  EXPECT_THAT(receive_receipt(pair_.here.get()), is_ok());
  must(shared.close(Quiescence::promised()));

  MemoryDescription wrong = side.exported()->description();
  wrong.pieces[0].size = importer_.unit() * 7;
  must(send_memory(pair_.here.get(), wrong, side.exported()->descriptors()));
  const auto refused = receive();
  ASSERT_FALSE(refused);
  const Status receipt = receive_receipt(pair_.here.get());
  ASSERT_FALSE(receipt);
  EXPECT_EQ(receipt.error().code, refused.error().code);
  EXPECT_EQ(receipt.error().reason, Reason::peer_did_not_import);
}

TEST_F(SharedMemoryTest, IsGivenBackWhenTheExporterIsGone) {
  SharingSide side(exporter_.driver());
  must(side.make(2));
  must(side.publish());
  must(send_memory(pair_.here.get(), *side.exported()));
  pair_.here = FileDescriptor();
  EXPECT_THAT(
      SharedMemory::receive(importer_.driver(), pair_.there.get(), AccessSet::of_device(device_0)),
      fails_with(ErrorCode::operating_system));
}

TEST_F(SharedMemoryTest, IsClosedByItsDestructor) {
  SharingSide side(exporter_.driver());
  must(side.make(3));
  must(side.publish());
  {
    SharedMemory first = must(import(sent_by(side)));
    SharedMemory second = must(import(sent_by(side)));
    EXPECT_EQ(importer_->books().mappings, 6U);
    first = std::move(second);
    EXPECT_EQ(importer_->books().mappings, 3U);
  }
  EXPECT_EQ(importer_->books().mappings, 0U);
}

// One memory mapped twice, side by side, is two pieces, which are one memory over there too.
TEST_F(SharedMemoryTest, KeepsAliasesAliases) {
  Transaction transaction(exporter_.driver());
  const Bytes unit = exporter_.unit();
  const Reservation* reservation = must(transaction.reserve({.size = unit * 2}));
  const PhysicalAllocation* memory = must(transaction.create(
      {.size = unit, .memory = {.exports = HandleTypes::posix_file_descriptor}}));
  must(transaction.map(*reservation, 0_B, *memory));
  must(transaction.map(*reservation, unit, *memory));
  ExportedMemory exported =
      must(ExportedMemory::of_range(exporter_.driver(), reservation->range()));
  must(send_memory(pair_.here.get(), exported));
  SharedMemory shared = must(import(must(receive_memory(pair_.there.get()))));
  must(importer_.put(shared.range().begin() + 9_B, 77));
  EXPECT_THAT(importer_.get(shared.range().begin() + unit + 9_B), is_ok_and_holds(77));
  must(shared.close(Quiescence::promised()));
  must(exported.close());
  must(transaction.rollback());
}

}  // namespace
}  // namespace tessera::sim
