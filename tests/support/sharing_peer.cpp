#include "support/sharing_peer.h"

#include <cstdlib>
#include <stdexcept>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/must.h"

namespace tessera::test {
namespace {

constexpr int peer_descriptor = 3;
constexpr const char* peer_variable = "TESSERA_TEST_SHARING_PEER";
constexpr DeviceOrdinal device{0};

Error not_as_expected() { return {.code = ErrorCode::unknown}; }

Status run_task(SharingSide& side, PeerTask task, std::uint8_t argument) {
  switch (task) {
    case PeerTask::make:
      return side.make(argument);
    case PeerTask::publish:
      return side.publish();
    case PeerTask::send:
      return side.send(peer_descriptor);
    case PeerTask::receive:
      return side.receive(peer_descriptor);
    case PeerTask::put:
      return side.put(argument);
    case PeerTask::expect:
      return side.expect(argument);
    case PeerTask::withdraw:
      return side.withdraw();
    case PeerTask::close:
      return side.close();
  }
  return not_as_expected();
}

}  // namespace

SharingSide::SharingSide(Driver& driver)
    : driver_(&driver), context_before_(must(driver.ctx_get_current())) {
  must(driver.ctx_set_current(must(driver.device_primary_ctx_retain(device))));
}

SharingSide::~SharingSide() {
  made_.clear();
  shared_.reset();
  exported_.reset();
  must(driver_->ctx_set_current(context_before_));
  must(driver_->device_primary_ctx_release(device));
}

Status SharingSide::make(std::uint8_t pieces) {
  const MemoryOptions memory = {.location = on_device(device),
                                .exports = HandleTypes::posix_file_descriptor};
  TESSERA_TRY_ASSIGN(const Bytes granule, granularity_of(*driver_, memory));
  const std::uint64_t granules = pieces * (pieces + 1U) / 2;
  Transaction transaction(*driver_);
  TESSERA_TRY_ASSIGN(const Reservation* reservation,
                     transaction.reserve({.size = granule * granules, .memory = memory}));
  Bytes offset;
  for (std::uint8_t i = 1; i <= pieces; ++i) {
    TESSERA_TRY_ASSIGN(const PhysicalAllocation* piece,
                       transaction.create({.size = granule * i, .memory = memory}));
    TESSERA_TRY(transaction.map(*reservation, offset, *piece));
    offset += piece->size();
  }
  TESSERA_TRY(transaction.grant(reservation->range(), AccessSet::of_device(device)));
  made_ = transaction.commit().mappings;
  return {};
}

Status SharingSide::publish(HandleTypes type) {
  TESSERA_TRY_ASSIGN(ExportedMemory exported, ExportedMemory::of_range(*driver_, range(), type));
  exported_.emplace(std::move(exported));
  return {};
}

Status SharingSide::send(int socket) { return share(socket, *exported_); }

Status SharingSide::receive(int socket) {
  TESSERA_TRY_ASSIGN(SharedMemory shared,
                     SharedMemory::receive(*driver_, socket, AccessSet::of_device(device)));
  shared_.emplace(std::move(shared));
  return {};
}

Status SharingSide::put(std::uint8_t value) {
  for (const AddressRange piece : pieces()) {
    const std::array byte = {std::byte{value}};
    TESSERA_TRY(driver_->memcpy_htod({.destination = piece.begin(), .source = byte}));
    TESSERA_TRY(driver_->memcpy_htod({.destination = piece.end() - Bytes(1), .source = byte}));
    ++value;
  }
  return {};
}

Status SharingSide::expect(std::uint8_t value) {
  for (const AddressRange piece : pieces()) {
    std::array<std::byte, 1> first = {};
    std::array<std::byte, 1> last = {};
    TESSERA_TRY(driver_->memcpy_dtoh({.destination = first, .source = piece.begin()}));
    TESSERA_TRY(driver_->memcpy_dtoh({.destination = last, .source = piece.end() - Bytes(1)}));
    if (first[0] != std::byte{value} || last[0] != std::byte{value}) {
      return not_as_expected();
    }
    ++value;
  }
  return {};
}

Status SharingSide::withdraw() {
  const Status closed = exported_->close();
  exported_.reset();
  return closed;
}

Status SharingSide::close() {
  for (Mapping& mapping : made_) {
    TESSERA_TRY_ASSIGN(Quiescence done, Quiescence::after_current_context(*driver_, device));
    TESSERA_TRY(mapping.close(std::move(done)));
  }
  made_.clear();
  if (shared_) {
    TESSERA_TRY_ASSIGN(Quiescence done, Quiescence::after_current_context(*driver_, device));
    TESSERA_TRY(shared_->close(std::move(done)));
    shared_.reset();
  }
  return {};
}

std::vector<AddressRange> SharingSide::pieces() const {
  std::vector<AddressRange> ranges;
  for (const Mapping& mapping : made_) {
    ranges.push_back(mapping.range());
  }
  if (shared_) {
    for (const Mapping& mapping : shared_->pieces()) {
      ranges.push_back(mapping.range());
    }
  }
  return ranges;
}

AddressRange SharingSide::range() const {
  const std::vector<AddressRange> ranges = pieces();
  const DeviceAddress begin = ranges.front().begin();
  return {begin, ranges.back().end() - begin};
}

SharingPeer::SharingPeer() {
  std::array<int, 2> ends = {};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::runtime_error("no socket pair");
  }
  socket_ = FileDescriptor(ends[0]);
  const FileDescriptor theirs(ends[1]);
  // A test that has gone wrong ends, rather than waits.
  const struct timeval limit = {.tv_sec = 60, .tv_usec = 0};
  ::setsockopt(socket(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  auto process = tools::ChildProcess::start(
      {.arguments = {"--gtest_filter=SharingPeer.DISABLED_Serves",
                     "--gtest_also_run_disabled_tests", "--gtest_output=", "--gtest_brief=1"},
       .environment = {std::string(peer_variable) + "=1"},
       .inherit = {{theirs.get(), peer_descriptor}}});
  if (!process) {
    throw std::runtime_error("the other process cannot be started");
  }
  process_.emplace(std::move(*process));
}

void SharingPeer::tell(PeerTask task, std::uint8_t argument) {
  const std::array<std::uint8_t, 2> message = {static_cast<std::uint8_t>(task), argument};
  if (::send(socket(), message.data(), message.size(), MSG_NOSIGNAL) != 2) {
    throw std::runtime_error("the other process does not listen");
  }
}

bool SharingPeer::has_done() {
  std::uint8_t answer = 0;
  return ::recv(socket(), &answer, 1, 0) == 1 && answer == 1;
}

void SharingPeer::kill() {
  process_->kill();
  static_cast<void>(process_->wait());
  process_.reset();
}

bool SharingPeer::ends_well() {
  must(socket_.close());
  const tools::ChildEnd end = process_->wait();
  process_.reset();
  return end.signal == 0 && end.exit_status == 0;
}

bool serve_sharing_peer(Driver& driver) {
  if (std::getenv(peer_variable) == nullptr) {
    return false;
  }
  SharingSide side(driver);
  std::array<std::uint8_t, 2> message = {};
  while (::recv(peer_descriptor, message.data(), message.size(), MSG_WAITALL) == 2) {
    const Status done = run_task(side, static_cast<PeerTask>(message[0]), message[1]);
    if (!done) {
      ADD_FAILURE() << "task " << int{message[0]} << ": " << to_string(done.error());
    }
    const std::uint8_t answer = done ? 1 : 0;
    ::send(peer_descriptor, &answer, 1, MSG_NOSIGNAL);
  }
  return true;
}

}  // namespace tessera::test
