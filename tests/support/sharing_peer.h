// Two processes that share memory. Each is a SharingSide: this one is called, the other one is this
// program again, which does what it is told over the socket that the memory travels by, too.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "child_process.h"
#include "tessera/owners/transaction.h"
#include "tessera/sharing/shared_memory.h"

namespace tessera::test {

// Memory that one process made or was given, of pieces of 1, 2, 3, ... granules. Only device 0.
class SharingSide {
 public:
  // Makes device 0's primary context current on this thread for as long as it lives.
  explicit SharingSide(Driver& driver);
  SharingSide(const SharingSide&) = delete;
  SharingSide& operator=(const SharingSide&) = delete;
  ~SharingSide();

  // Makes and exports memory in one range; sends it and waits for the receipt.
  Status make(std::uint8_t pieces);
  Status publish(HandleTypes type = HandleTypes::posix_file_descriptor);
  Status send(int socket);
  Status receive(int socket);
  // Puts other bytes, made of `value`, at both ends of each piece, or looks whether they are there.
  Status put(std::uint8_t value);
  Status expect(std::uint8_t value);
  // Closes the export; closes the mappings and with them the memory.
  Status withdraw();
  Status close();

  [[nodiscard]] const std::optional<ExportedMemory>& exported() const { return exported_; }
  [[nodiscard]] std::vector<AddressRange> pieces() const;
  [[nodiscard]] AddressRange range() const;

 private:
  Driver* driver_;
  ContextHandle context_before_;
  std::vector<Mapping> made_;
  std::optional<ExportedMemory> exported_;
  std::optional<SharedMemory> shared_;
};

enum class PeerTask : std::uint8_t { make, publish, send, receive, put, expect, withdraw, close };

// The other process. A program that starts one has a test SharingPeer.DISABLED_Serves that calls
// `serve_sharing_peer` with its driver.
class SharingPeer {
 public:
  SharingPeer();
  SharingPeer(const SharingPeer&) = delete;
  SharingPeer& operator=(const SharingPeer&) = delete;
  ~SharingPeer() = default;  // the process ends with its socket

  [[nodiscard]] int socket() const { return socket_.get(); }
  // Tells it what to do; then, once it has, how that went: tasks that send or receive memory need
  // this process's part in between.
  void tell(PeerTask task, std::uint8_t argument = 0);
  [[nodiscard]] bool has_done();
  [[nodiscard]] bool does(PeerTask task, std::uint8_t argument = 0) {
    tell(task, argument);
    return has_done();
  }
  // Ends it in the middle of whatever it does.
  void kill();
  // Lets it go; whether it ended well.
  [[nodiscard]] bool ends_well();

 private:
  FileDescriptor socket_;
  std::optional<tools::ChildProcess> process_;
};

// Does what it is told until the other end of its socket is closed. False if not started by one.
[[nodiscard]] bool serve_sharing_peer(Driver& driver);

// What two processes do with each other; each is run on the simulator and on a GPU.
struct SharingCase {
  const char* name;
  void (*run)(Driver& driver);
};
[[nodiscard]] const std::vector<SharingCase>& sharing_cases();

}  // namespace tessera::test
