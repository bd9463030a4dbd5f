// Memory that leaves its driver: descriptors, other processes, Windows handles.
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

constexpr AllocationProperties exportable = {.requested_handle_types =
                                                 HandleTypes::posix_file_descriptor};

// A child process and a socket to it. The child runs `body` and exits with what it returns.
class Child {
 public:
  explicit Child(const std::function<int(int socket)>& body) {
    std::array<int, 2> ends = {};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) {
      throw std::runtime_error("no socket pair");
    }
    process_ = ::fork();
    if (process_ == 0) {
      ::close(ends[0]);
      int status = 99;
      try {
        status = body(ends[1]);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "child: %s\n", error.what());
      }
      ::_exit(status);
    }
    ::close(ends[1]);
    socket_ = ends[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { ::close(socket_); }

  [[nodiscard]] int socket() const { return socket_; }
  [[nodiscard]] int wait() const {
    int status = 0;
    ::waitpid(process_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t process_ = -1;
  int socket_ = -1;
};

void send_byte(int socket, char byte) {
  if (::write(socket, &byte, 1) != 1) {
    throw std::runtime_error("the other process is gone");
  }
}
char receive_byte(int socket) {
  char byte = 0;
  if (::read(socket, &byte, 1) != 1) {
    throw std::runtime_error("the other process is gone");
  }
  return byte;
}

union Control {
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
  cmsghdr align;
};

void send_descriptor(int socket, int descriptor) {
  char byte = 'd';
  iovec data = {.iov_base = &byte, .iov_len = 1};
  Control control = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof(descriptor));
  if (::sendmsg(socket, &message, 0) != 1) {
    throw std::runtime_error("no descriptor sent");
  }
}

int receive_descriptor(int socket) {
  char byte = 0;
  iovec data = {.iov_base = &byte, .iov_len = 1};
  Control control = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  if (::recvmsg(socket, &message, 0) != 1 || CMSG_FIRSTHDR(&message) == nullptr) {
    throw std::runtime_error("no descriptor came");
  }
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(descriptor));
  return descriptor;
}

DeviceAddress map_handle(SimMachine& machine, AllocationHandle handle, std::uint64_t units) {
  const DeviceAddress address = machine.reserve(units);
  machine.map(address, units, handle);
  must(machine.allow(address, units));
  return address;
}

// In the child: imports what comes, adds one to its first byte, and puts 9 at its end.
int change_imported(int socket) {
  SimMachine machine("h200");
  const Bytes before = machine.free_memory();
  const int descriptor = receive_descriptor(socket);
  const AllocationHandle handle =
      must(machine->mem_import_from_shareable_handle({.file_descriptor = descriptor}));
  ::close(descriptor);
  if (machine.free_memory() != before - machine.unit() * 2) {
    return 1;
  }
  const auto properties = machine->mem_get_allocation_properties_from_handle({.handle = handle});
  if (!(must(properties) == AllocationProperties())) {
    return 2;
  }
  if (machine->mem_export_to_shareable_handle({.handle = handle})) {
    return 3;
  }
  const DeviceAddress address = map_handle(machine, handle, 2);
  const std::uint8_t first = must(machine.get(address));
  must(machine.put(address, static_cast<std::uint8_t>(first + 1)));
  must(machine.put(address + machine.unit() * 2 - 1_B, 9));
  send_byte(socket, 'k');
  // The parent writes while the child has it mapped.
  receive_byte(socket);
  return must(machine.get(address)) == 77 ? 0 : 4;
}

TEST(SimDriverSharing, AnotherProcessSharesTheBytes) {
  // Before there is a driver here: a child of a process with one could not use any made before.
  const Child child(change_imported);
  SimMachine machine("h200");
  const AllocationHandle handle = machine.create(2, exportable);
  const DeviceAddress address = map_handle(machine, handle, 2);
  must(machine.put(address, 41));
  const ShareableHandle exported =
      must(machine->mem_export_to_shareable_handle({.handle = handle}));
  send_descriptor(child.socket(), exported.file_descriptor);
  ::close(exported.file_descriptor);
  receive_byte(child.socket());
  EXPECT_THAT(machine.get(address), is_ok_and_holds(42));
  EXPECT_THAT(machine.get(address + machine.unit() * 2 - 1_B), is_ok_and_holds(9));
  must(machine.put(address, 77));
  send_byte(child.socket(), 'g');
  EXPECT_EQ(child.wait(), 0);
}

TEST(SimDriverSharing, ADescriptorPinsMemoryUntilClosed) {
  SimMachine machine("h200");
  const Bytes before = machine.free_memory();
  const AllocationHandle handle = machine.create(4, exportable);
  const ShareableHandle exported =
      must(machine->mem_export_to_shareable_handle({.handle = handle}));
  must(machine->mem_release(handle));
  EXPECT_EQ(machine.free_memory(), before - machine.unit() * 4);
  EXPECT_EQ(machine->books().allocations, 1U);
  EXPECT_EQ(machine->books().handles, 0U);
  ::close(exported.file_descriptor);
  EXPECT_EQ(must(machine->mem_get_info()).free, before);
  EXPECT_EQ(machine->books().allocations, 0U);
  EXPECT_EQ(machine->check_invariants(), "");
}

TEST(SimDriverSharing, AnotherProcesssDescriptorPinsItToo) {
  SimMachine machine("h200");
  const Bytes before = machine.free_memory();
  const AllocationHandle handle = machine.create(1, exportable);
  const ShareableHandle exported =
      must(machine->mem_export_to_shareable_handle({.handle = handle}));
  // The child only has the descriptor, inherited, until it is told to go.
  const Child child([](int socket) { return receive_byte(socket) == 'g' ? 0 : 1; });
  ::close(exported.file_descriptor);
  must(machine->mem_release(handle));
  EXPECT_EQ(machine.free_memory(), before - machine.unit());
  send_byte(child.socket(), 'g');
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(machine.free_memory(), before);
}

TEST(SimDriverSharing, PinnedMemoryIsFoundWhenItIsNeeded) {
  SimMachine machine("tiny");
  const AllocationHandle handle = machine.create(20, exportable);
  const ShareableHandle exported =
      must(machine->mem_export_to_shareable_handle({.handle = handle}));
  must(machine->mem_release(handle));
  EXPECT_THAT(machine->mem_create({.size = machine.unit() * 20, .properties = {}}),
              fails_with(ErrorCode::out_of_memory));
  ::close(exported.file_descriptor);
  EXPECT_THAT(machine->mem_create({.size = machine.unit() * 20, .properties = {}}), is_ok());
}

TEST(SimDriverSharing, SharesWithAnotherDriverOfTheProcess) {
  SimMachine first("h200");
  SimMachine second("h200");
  const AllocationHandle handle = first.create(1, exportable);
  const DeviceAddress here = map_handle(first, handle, 1);
  const ShareableHandle exported = must(first->mem_export_to_shareable_handle({.handle = handle}));
  const AllocationHandle imported = must(second->mem_import_from_shareable_handle(exported));
  ::close(exported.file_descriptor);
  const DeviceAddress there = map_handle(second, imported, 1);
  must(first.put(here, 5));
  EXPECT_THAT(second.get(there), is_ok_and_holds(5));
  must(second.put(there, 6));
  EXPECT_THAT(first.get(here), is_ok_and_holds(6));
}

TEST(SimDriverSharing, SharesWithBytesOffToo) {
  SimMachine machine("h200", {.bytes = false});
  const AllocationHandle handle = machine.create(1, exportable);
  const ShareableHandle exported =
      must(machine->mem_export_to_shareable_handle({.handle = handle}));
  EXPECT_THAT(machine->mem_import_from_shareable_handle(exported), is_ok());
  ::close(exported.file_descriptor);
  EXPECT_EQ(machine->books().allocations, 1U);
  EXPECT_EQ(machine->books().handles, 2U);
}

TEST(SimDriverSharing, RefusesMemoryOfADeviceThatIsNotThere) {
  SimMachine two("h200", {.devices = 2});
  SimMachine one("h200");
  AllocationProperties properties = exportable;
  properties.location = on_device(device_1);
  const ShareableHandle exported =
      must(two->mem_export_to_shareable_handle({.handle = two.create(1, properties)}));
  const Books before = one->books();
  EXPECT_THAT(one->mem_import_from_shareable_handle(exported), testing::Not(is_ok()));
  EXPECT_EQ(one->books(), before);
  EXPECT_EQ(one->check_invariants(), "");
  ::close(exported.file_descriptor);
}

// --- Windows ---

class SimDriverWindowsHandles : public testing::Test {
 protected:
  AllocationHandle create(HandleTypes type) {
    return machine_.create(1, {.requested_handle_types = type});
  }
  ShareableHandle export_as(AllocationHandle handle, HandleTypes type) {
    return must(machine_->mem_export_to_shareable_handle({.handle = handle, .type = type}));
  }

  SimMachine machine_{"wddm"};
};

TEST_F(SimDriverWindowsHandles, ShareTheBytes) {
  const AllocationHandle handle = create(HandleTypes::win32);
  const ShareableHandle exported = export_as(handle, HandleTypes::win32);
  EXPECT_NE(exported.win32, 0U);
  const AllocationHandle imported = must(machine_->mem_import_from_shareable_handle(exported));
  const DeviceAddress here = map_handle(machine_, handle, 1);
  const DeviceAddress there = map_handle(machine_, imported, 1);
  must(machine_.put(here, 5));
  EXPECT_THAT(machine_.get(there), is_ok_and_holds(5));
}

TEST_F(SimDriverWindowsHandles, AnNtHandleKeepsTheMemory) {
  const Bytes before = machine_.free_memory();
  const AllocationHandle handle = create(HandleTypes::win32);
  const ShareableHandle exported = export_as(handle, HandleTypes::win32);
  must(machine_->mem_release(handle));
  EXPECT_EQ(machine_.free_memory(), before - machine_.unit());
  EXPECT_THAT(machine_->close_win32_handle(exported.win32), is_ok());
  EXPECT_EQ(machine_.free_memory(), before);
  EXPECT_THAT(machine_->close_win32_handle(exported.win32), fails_with(ErrorCode::invalid_handle));
  EXPECT_THAT(machine_->mem_import_from_shareable_handle(exported),
              fails_with(ErrorCode::invalid_value));
  EXPECT_EQ(machine_->check_invariants(), "");
}

TEST_F(SimDriverWindowsHandles, AKmtHandleDoesNot) {
  const Bytes before = machine_.free_memory();
  const AllocationHandle handle = create(HandleTypes::win32_kmt);
  const ShareableHandle exported = export_as(handle, HandleTypes::win32_kmt);
  EXPECT_THAT(machine_->mem_import_from_shareable_handle(exported), is_ok());
  machine_.map(machine_.reserve(1), 1, handle);
  const AllocationHandle other = create(HandleTypes::win32_kmt);
  const ShareableHandle of_other = export_as(other, HandleTypes::win32_kmt);
  must(machine_->mem_release(other));
  EXPECT_EQ(machine_.free_memory(), before - machine_.unit());
  EXPECT_THAT(machine_->mem_import_from_shareable_handle(of_other),
              fails_with(ErrorCode::invalid_value));
  // What comes to lie in its place is not it.
  create(HandleTypes::win32_kmt);
  EXPECT_THAT(machine_->mem_import_from_shareable_handle(of_other),
              fails_with(ErrorCode::invalid_value));
}

TEST_F(SimDriverWindowsHandles, CloseRefusesMadeUpOnes) {
  const Status closed = machine_->close_win32_handle(0x1234);
  ASSERT_THAT(closed, fails_with(ErrorCode::invalid_handle));
  EXPECT_NE(explain(closed.error()), "");
}

}  // namespace
}  // namespace tessera::sim
