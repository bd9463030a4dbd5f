#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/sharing_peer.h"

namespace tessera::test {
namespace {

constexpr std::uint8_t piece_count = 4;

// This process has made memory and the other one has it.
void share_with(SharingPeer& peer, SharingSide& here) {
  ASSERT_THAT(here.make(piece_count), is_ok());
  ASSERT_THAT(here.put(10), is_ok());
  ASSERT_THAT(here.publish(), is_ok());
  peer.tell(PeerTask::receive);
  ASSERT_THAT(here.send(peer.socket()), is_ok());
  ASSERT_TRUE(peer.has_done());
}

// The other way round.
void receive_from(SharingPeer& peer, SharingSide& here) {
  ASSERT_TRUE(peer.does(PeerTask::make, piece_count));
  ASSERT_TRUE(peer.does(PeerTask::put, 10));
  ASSERT_TRUE(peer.does(PeerTask::publish));
  peer.tell(PeerTask::send);
  ASSERT_THAT(here.receive(peer.socket()), is_ok());
  ASSERT_TRUE(peer.has_done());
}

void each_sees_what_the_other_writes(Driver& driver) {
  SharingPeer peer;
  SharingSide here(driver);
  ASSERT_NO_FATAL_FAILURE(share_with(peer, here));
  EXPECT_TRUE(peer.does(PeerTask::expect, 10));
  EXPECT_TRUE(peer.does(PeerTask::put, 20));
  EXPECT_THAT(here.expect(20), is_ok());
  EXPECT_THAT(here.put(30), is_ok());
  EXPECT_TRUE(peer.does(PeerTask::expect, 30));
  EXPECT_TRUE(peer.does(PeerTask::close));
  EXPECT_THAT(here.withdraw(), is_ok());
  EXPECT_THAT(here.close(), is_ok());
  EXPECT_TRUE(peer.ends_well());
}

void an_importer_sees_all_pieces(Driver& driver) {
  SharingPeer peer;
  SharingSide here(driver);
  ASSERT_NO_FATAL_FAILURE(receive_from(peer, here));
  ASSERT_EQ(here.pieces().size(), piece_count);
  for (std::size_t i = 0; i + 1 < piece_count; ++i) {
    EXPECT_EQ(here.pieces()[i].end(), here.pieces()[i + 1].begin());
  }
  EXPECT_THAT(here.expect(10), is_ok());
  EXPECT_THAT(here.close(), is_ok());
  EXPECT_TRUE(peer.does(PeerTask::withdraw));
  EXPECT_TRUE(peer.does(PeerTask::close));
  EXPECT_TRUE(peer.ends_well());
}

void the_exporter_closes_first(Driver& driver) {
  SharingPeer peer;
  SharingSide here(driver);
  ASSERT_NO_FATAL_FAILURE(share_with(peer, here));
  EXPECT_THAT(here.close(), is_ok());
  EXPECT_THAT(here.withdraw(), is_ok());
  EXPECT_TRUE(peer.does(PeerTask::expect, 10));
  EXPECT_TRUE(peer.does(PeerTask::put, 20));
  EXPECT_TRUE(peer.does(PeerTask::expect, 20));
  EXPECT_TRUE(peer.does(PeerTask::close));
  EXPECT_TRUE(peer.ends_well());
}

void the_importer_closes_first(Driver& driver) {
  SharingPeer peer;
  SharingSide here(driver);
  ASSERT_NO_FATAL_FAILURE(share_with(peer, here));
  EXPECT_TRUE(peer.does(PeerTask::put, 20));
  EXPECT_TRUE(peer.does(PeerTask::close));
  EXPECT_THAT(here.expect(20), is_ok());
  EXPECT_THAT(here.withdraw(), is_ok());
  EXPECT_THAT(here.put(30), is_ok());
  EXPECT_THAT(here.expect(30), is_ok());
  EXPECT_THAT(here.close(), is_ok());
  EXPECT_TRUE(peer.ends_well());
}

void the_exporter_dies(Driver& driver) {
  SharingPeer peer;
  SharingSide here(driver);
  ASSERT_NO_FATAL_FAILURE(receive_from(peer, here));
  peer.kill();
  EXPECT_THAT(here.expect(10), is_ok());
  EXPECT_THAT(here.put(40), is_ok());
  EXPECT_THAT(here.expect(40), is_ok());
  EXPECT_THAT(here.close(), is_ok());
}

void the_importer_dies(Driver& driver) {
  SharingPeer peer;
  SharingSide here(driver);
  ASSERT_NO_FATAL_FAILURE(share_with(peer, here));
  EXPECT_TRUE(peer.does(PeerTask::put, 20));
  peer.kill();
  EXPECT_THAT(here.expect(20), is_ok());
  EXPECT_THAT(here.close(), is_ok());
  EXPECT_THAT(here.withdraw(), is_ok());
}

void the_export_is_closed_while_on_its_way(Driver& driver) {
  SharingPeer peer;
  SharingSide here(driver);
  ASSERT_THAT(here.make(piece_count), is_ok());
  ASSERT_THAT(here.put(10), is_ok());
  ASSERT_THAT(here.publish(), is_ok());
  // It may lie in the socket all that time: the other process is told about it last. So the task,
  // which it reads first, goes out first.
  peer.tell(PeerTask::receive);
  ASSERT_THAT(send_memory(peer.socket(), *here.exported()), is_ok());
  EXPECT_THAT(here.withdraw(), is_ok());
  EXPECT_THAT(here.close(), is_ok());
  EXPECT_THAT(receive_receipt(peer.socket()), is_ok());
  EXPECT_TRUE(peer.has_done());
  EXPECT_TRUE(peer.does(PeerTask::expect, 10));
  EXPECT_TRUE(peer.does(PeerTask::close));
  EXPECT_TRUE(peer.ends_well());
}

void one_export_serves_several_importers(Driver& driver) {
  SharingPeer first;
  SharingPeer second;
  SharingSide here(driver);
  ASSERT_NO_FATAL_FAILURE(share_with(first, here));
  second.tell(PeerTask::receive);
  ASSERT_THAT(here.send(second.socket()), is_ok());
  ASSERT_TRUE(second.has_done());
  EXPECT_TRUE(first.does(PeerTask::put, 50));
  EXPECT_TRUE(second.does(PeerTask::expect, 50));
  EXPECT_TRUE(first.ends_well());
  EXPECT_TRUE(second.does(PeerTask::put, 60));
  EXPECT_THAT(here.expect(60), is_ok());
  EXPECT_TRUE(second.ends_well());
  EXPECT_THAT(here.withdraw(), is_ok());
  EXPECT_THAT(here.close(), is_ok());
}

}  // namespace

const std::vector<SharingCase>& sharing_cases() {
  static const std::vector<SharingCase> cases = {
      {"EachSeesWhatTheOtherWrites", each_sees_what_the_other_writes},
      {"AnImporterSeesAllPieces", an_importer_sees_all_pieces},
      {"TheExporterClosesFirst", the_exporter_closes_first},
      {"TheImporterClosesFirst", the_importer_closes_first},
      {"TheExporterDies", the_exporter_dies},
      {"TheImporterDies", the_importer_dies},
      {"TheExportIsClosedWhileOnItsWay", the_export_is_closed_while_on_its_way},
      {"OneExportServesSeveralImporters", one_export_serves_several_importers},
  };
  return cases;
}

}  // namespace tessera::test
