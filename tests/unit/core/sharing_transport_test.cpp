#include <cerrno>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "support/failing_calls.h"
#include "support/matchers.h"
#include "support/must.h"
#include "support/sharing_support.h"
#include "tessera/sharing/transport.h"

namespace tessera {
namespace {

using test::FailingCalls;
using test::fails_with;
using test::is_ok;
using test::must;
using test::socket_pair;
using test::SocketPair;
using test::SystemCall;
using testing::HasSubstr;

// Descriptors of one file that are told from others by its inode.
FileDescriptor some_file() { return FileDescriptor(::memfd_create("piece", MFD_CLOEXEC)); }

ino_t file_of(const FileDescriptor& descriptor) {
  struct stat status = {};
  EXPECT_EQ(::fstat(descriptor.get(), &status), 0);
  return status.st_ino;
}

MemoryDescription description_of(std::size_t pieces) {
  MemoryDescription description;
  for (std::size_t i = 0; i < pieces; ++i) {
    description.pieces.push_back({.size = Bytes(i + 1)});
  }
  return description;
}

// Raw bytes with descriptors, as a peer that does not use this library might send.
void send_raw(const FileDescriptor& socket, std::span<const std::byte> bytes,
              std::span<const int> descriptors = {}) {
  struct iovec part = {.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
  struct msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(struct cmsghdr) std::array<char, CMSG_SPACE(253 * sizeof(int))> control = {};
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    struct cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  ASSERT_EQ(::sendmsg(socket.get(), &message, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

// Whatever a test does, no descriptor is left over.
class Transport : public testing::Test {
 protected:
  test::NoDescriptorIsLeft no_descriptor_is_left_;
  SocketPair pair_ = socket_pair();
};

TEST_F(Transport, DeliversDescriptionAndDescriptors) {
  std::vector<FileDescriptor> files;
  for (int i = 0; i < 3; ++i) {
    files.push_back(some_file());
  }
  ASSERT_THAT(send_memory(pair_.here.get(), description_of(3), files), is_ok());
  const ReceivedMemory received = must(receive_memory(pair_.there.get()));
  EXPECT_EQ(received.description, description_of(3));
  ASSERT_EQ(received.descriptors.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NE(received.descriptors[i].get(), files[i].get());
    EXPECT_EQ(file_of(received.descriptors[i]), file_of(files[i]));
    EXPECT_NE(::fcntl(received.descriptors[i].get(), F_GETFD) & FD_CLOEXEC, 0);
  }
}

TEST_F(Transport, DeliversMoreThanOneMessageHolds) {
  const FileDescriptor first = some_file();
  const FileDescriptor other = some_file();
  for (const std::size_t pieces : {252U, 253U, 254U, 300U}) {
    std::vector<FileDescriptor> files;
    for (std::size_t i = 0; i < pieces; ++i) {
      files.push_back(must((i % 3 == 0 ? first : other).duplicate()));
    }
    Status sent;
    // Descriptors on their way count against a limit of the user: they are read as they come.
    std::thread sender(
        [&] { sent = send_memory(pair_.here.get(), description_of(pieces), files); });
    const auto received = receive_memory(pair_.there.get());
    sender.join();
    ASSERT_THAT(sent, is_ok());
    ASSERT_THAT(received, is_ok());
    ASSERT_EQ(received->descriptors.size(), pieces);
    for (std::size_t i = 0; i < pieces; ++i) {
      ASSERT_EQ(file_of(received->descriptors[i]), file_of(i % 3 == 0 ? first : other)) << i;
    }
  }
}

TEST_F(Transport, KeepsMessagesApart) {
  const std::array files = {some_file()};
  for (int i = 0; i < 3; ++i) {
    must(send_memory(pair_.here.get(), description_of(1), files));
    must(send_receipt(pair_.here.get(), {}));
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(receive_memory(pair_.there.get()), is_ok());
    EXPECT_THAT(receive_receipt(pair_.there.get()), is_ok());
  }
}

TEST_F(Transport, NeedsNoDescriptorForFabricHandles) {
  MemoryDescription description = description_of(2);
  description.type = HandleTypes::fabric;
  description.pieces[1].fabric.fill(std::byte{7});
  must(send_memory(pair_.here.get(), description, {}));
  const ReceivedMemory received = must(receive_memory(pair_.there.get()));
  EXPECT_EQ(received.description, description);
  EXPECT_TRUE(received.descriptors.empty());
}

TEST_F(Transport, SendsOnlyWhatFitsTogether) {
  const std::array files = {some_file()};
  const Status sent = send_memory(pair_.here.get(), description_of(2), files);
  ASSERT_THAT(sent, fails_with(ErrorCode::invalid_value));
  EXPECT_EQ(explain(sent.error()), "2 pieces came with 1 descriptors; each piece needs one");
  const std::array closed = {FileDescriptor()};
  EXPECT_THAT(send_memory(pair_.here.get(), description_of(1), closed),
              fails_with(ErrorCode::invalid_value));
  const std::array open_and_closed = {some_file(), FileDescriptor()};
  EXPECT_THAT(send_memory(pair_.here.get(), description_of(1), open_and_closed),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(send_memory(pair_.here.get(), MemoryDescription(), {}),
              fails_with(ErrorCode::invalid_value));
  MemoryDescription windows = description_of(1);
  windows.type = HandleTypes::win32;
  EXPECT_THAT(send_memory(pair_.here.get(), windows, files), fails_with(ErrorCode::not_supported));
}

TEST_F(Transport, WantsAUnixStreamSocket) {
  const SocketPair packets = socket_pair(SOCK_SEQPACKET);
  const FileDescriptor internet(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const FileDescriptor file = some_file();
  for (const int socket : {packets.here.get(), internet.get()}) {
    const auto received = receive_memory(socket);
    ASSERT_THAT(received, fails_with(ErrorCode::invalid_value));
    EXPECT_EQ(received.error().reason, Reason::not_a_unix_stream);
    EXPECT_THAT(send_memory(socket, description_of(1), std::array{some_file()}),
                fails_with(ErrorCode::invalid_value));
    EXPECT_THAT(send_receipt(socket, {}), fails_with(ErrorCode::invalid_value));
    EXPECT_THAT(receive_receipt(socket), fails_with(ErrorCode::invalid_value));
  }
  for (const int socket : {file.get(), -1}) {
    const auto received = receive_memory(socket);
    ASSERT_THAT(received, fails_with(ErrorCode::operating_system));
    EXPECT_EQ(received.error().values[0], std::uint64_t(socket < 0 ? EBADF : ENOTSOCK));
  }
}

TEST_F(Transport, SaysWhenThePeerIsGone) {
  pair_.there = FileDescriptor();
  const std::array files = {some_file()};
  const Status sent = send_memory(pair_.here.get(), description_of(1), files);
  ASSERT_THAT(sent, fails_with(ErrorCode::operating_system));
  EXPECT_EQ(sent.error().values[0], std::uint64_t{EPIPE});  // and the process lives
  const auto received = receive_memory(pair_.here.get());
  ASSERT_THAT(received, fails_with(ErrorCode::operating_system));
  EXPECT_EQ(explain(received.error()), "the peer closed the socket after 0 of 32 bytes");
  EXPECT_THAT(receive_receipt(pair_.here.get()), fails_with(ErrorCode::operating_system));
}

TEST_F(Transport, SurvivesEndsInTheMiddle) {
  const std::vector<std::byte> message = message::encode(description_of(2));
  for (std::size_t size = 0; size <= message.size(); ++size) {
    SocketPair pair = socket_pair();
    send_raw(pair.here, std::span(message).first(size));
    pair.here = FileDescriptor();
    const auto received = receive_memory(pair.there.get());
    ASSERT_THAT(received, fails_with(ErrorCode::operating_system)) << size;
    EXPECT_EQ(received.error().reason, Reason::peer_closed) << size;
  }
}

TEST_F(Transport, PutsShortReadsTogether) {
  const std::vector<std::byte> message = message::encode(description_of(1));
  const FileDescriptor file = some_file();
  std::thread sender([&] {
    for (const std::byte& byte : message) {
      send_raw(pair_.here, std::span(&byte, 1));
      std::this_thread::yield();
    }
    const int number = file.get();
    send_raw(pair_.here, std::array{std::byte{0}}, std::span(&number, 1));
  });
  const auto received = receive_memory(pair_.there.get());
  sender.join();
  ASSERT_THAT(received, is_ok());
  EXPECT_EQ(file_of(received->descriptors[0]), file_of(file));
}

TEST_F(Transport, ClosesDescriptorsThatCameTooManyOrTooFew) {
  const std::vector<std::byte> message = message::encode(description_of(2));
  const FileDescriptor file = some_file();
  const std::array three = {file.get(), file.get(), file.get()};
  for (const std::size_t count : {0U, 1U, 3U}) {
    SocketPair pair = socket_pair();
    send_raw(pair.here, message);
    send_raw(pair.here, std::array{std::byte{0}}, std::span(three).first(count));
    const auto received = receive_memory(pair.there.get());
    ASSERT_THAT(received, fails_with(ErrorCode::invalid_value));
    EXPECT_EQ(explain(received.error()),
              std::to_string(count) + " descriptors came with a part of the message that has 2");
  }
}

TEST_F(Transport, ClosesDescriptorsThatCameWithTheWrongPart) {
  const std::vector<std::byte> message = message::encode(description_of(2));
  const FileDescriptor file = some_file();
  const std::array two = {file.get(), file.get()};
  {
    SocketPair pair = socket_pair();
    send_raw(pair.here, message, two);  // with the header
    EXPECT_THAT(receive_memory(pair.there.get()), fails_with(ErrorCode::invalid_value));
  }
  {
    SocketPair pair = socket_pair();
    send_raw(pair.here, std::span(message).first(message::header_size));
    send_raw(pair.here, std::span(message).subspan(message::header_size), two);
    EXPECT_THAT(receive_memory(pair.there.get()), fails_with(ErrorCode::invalid_value));
  }
  {
    SocketPair pair = socket_pair();
    send_raw(pair.here, message::encode_receipt({}), two);
    EXPECT_THAT(receive_receipt(pair.there.get()), fails_with(ErrorCode::invalid_value));
  }
}

TEST_F(Transport, ClosesWhatArrivedWhenThereIsNoRoomForAll) {
  std::vector<FileDescriptor> files;
  for (int i = 0; i < 4; ++i) {
    files.push_back(some_file());
  }
  for (std::size_t room = 0; room < 4; ++room) {
    SocketPair pair = socket_pair();
    must(send_memory(pair.here.get(), description_of(4), files));
    // Looked at without the limit: a sanitizer needs descriptors of its own.
    const auto received = [&] {
      const test::DescriptorLimit limit(room);
      return receive_memory(pair.there.get());
    }();
    ASSERT_THAT(received, fails_with(ErrorCode::operating_system));
    EXPECT_EQ(received.error().reason, Reason::descriptors_cut);
    EXPECT_EQ(received.error().values[0], room);
  }
}

// A part may come in several messages: that the first was cut counts as well.
TEST_F(Transport, ClosesWhatArrivedInSeveralMessagesWithoutRoom) {
  const std::vector<std::byte> message = message::encode(description_of(1));
  const FileDescriptor file = some_file();
  const std::array two = {file.get(), file.get()};
  for (const std::size_t room : {0U, 1U}) {
    SocketPair pair = socket_pair();
    send_raw(pair.here, std::span(message).first(10), two);
    send_raw(pair.here, std::span(message).subspan(10, message::header_size - 10), two);
    const auto received = [&] {
      const test::DescriptorLimit limit(room);
      return receive_memory(pair.there.get());
    }();
    // With one that should not be there, it does not matter that there were more.
    ASSERT_FALSE(received);
    EXPECT_EQ(received.error().reason,
              room == 0 ? Reason::descriptors_cut : Reason::descriptors_unexpected);
  }
}

TEST_F(Transport, RefusesWhatIsNoMessage) {
  const std::vector<std::byte> message = message::encode(description_of(1));
  for (const std::size_t at : {std::size_t{0}, message::header_size + 24}) {  // magic, reserved
    SocketPair pair = socket_pair();
    auto changed = message;
    changed[at] ^= std::byte{1};
    send_raw(pair.here, changed);
    EXPECT_THAT(receive_memory(pair.there.get()), fails_with(ErrorCode::invalid_value)) << at;
  }
}

TEST_F(Transport, TriesAgainWhereASignalCameBetween) {
  const std::array files = {some_file()};
  {
    const FailingCalls failing({.call = SystemCall::sendmsg, .error = EINTR, .times = 2});
    must(send_memory(pair_.here.get(), description_of(1), files));
    EXPECT_TRUE(failing.has_failed());
  }
  const FailingCalls failing({.call = SystemCall::recvmsg, .error = EINTR, .times = 2});
  EXPECT_EQ(must(receive_memory(pair_.there.get())).descriptors.size(), 1U);
  EXPECT_TRUE(failing.has_failed());
}

TEST_F(Transport, SaysWhichSystemCallFailed) {
  const std::array files = {some_file()};
  const auto send = [&] { return send_memory(pair_.here.get(), description_of(1), files); };
  {
    const FailingCalls failing({.call = SystemCall::getsockopt, .error = ENOBUFS, .after = 1});
    EXPECT_THAT(send(), fails_with(ErrorCode::operating_system));
  }
  {
    // The descriptors go alone, after the description.
    const FailingCalls failing({.call = SystemCall::sendmsg, .error = ETOOMANYREFS, .after = 1});
    const Status sent = send();
    ASSERT_THAT(sent, fails_with(ErrorCode::operating_system));
    EXPECT_EQ(sent.error().values[0], std::uint64_t{ETOOMANYREFS});
  }
}

// A socket that does not wait takes what it has room for.
TEST_F(Transport, SaysHowMuchWasSent) {
  ASSERT_EQ(::fcntl(pair_.here.get(), F_SETFL, O_NONBLOCK), 0);
  MemoryDescription description = description_of(message::pieces_max);
  description.type = HandleTypes::fabric;
  const Status sent = send_memory(pair_.here.get(), description, {});
  ASSERT_THAT(sent, fails_with(ErrorCode::operating_system));
  EXPECT_EQ(sent.error().values[0], std::uint64_t{EAGAIN});
  EXPECT_GT(sent.error().values[1], 0U);
  EXPECT_LT(sent.error().values[1], sent.error().values[2]);
}

TEST_F(Transport, IgnoresCredentialsThatASocketAddsToMessages) {
  const int on = 1;
  ASSERT_EQ(::setsockopt(pair_.there.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
  const std::array files = {some_file()};
  must(send_memory(pair_.here.get(), description_of(1), files));
  EXPECT_THAT(receive_memory(pair_.there.get()), is_ok());
}

TEST_F(Transport, GivesUpWhenTheSocketSaysSo) {
  const struct timeval limit = {.tv_sec = 0, .tv_usec = 1000};
  ASSERT_EQ(::setsockopt(pair_.here.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
  const Status receipt = receive_receipt(pair_.here.get());
  ASSERT_THAT(receipt, fails_with(ErrorCode::operating_system));
  EXPECT_EQ(receipt.error().values[0], std::uint64_t{EAGAIN});
}

TEST_F(Transport, GivesNoStandardStreamAway) {
  // A process without a standard input gets number 0 for the next descriptor.
  const FileDescriptor input(::fcntl(0, F_DUPFD_CLOEXEC, 3));
  const std::array files = {some_file()};
  must(send_memory(pair_.here.get(), description_of(1), files));
  ::close(0);
  const auto received = receive_memory(pair_.there.get());
  EXPECT_LT(::fcntl(0, F_GETFD), 0);
  if (input.is_open()) {
    ::dup2(input.get(), 0);
  }
  ASSERT_THAT(received, is_ok());
  EXPECT_GE(received->descriptors[0].get(), 3);
}

TEST_F(Transport, KeepsNoStandardStreamThatItCannotMove) {
  const FileDescriptor input(::fcntl(0, F_DUPFD_CLOEXEC, 3));
  const std::array files = {some_file()};
  must(send_memory(pair_.here.get(), description_of(1), files));
  ::close(0);
  const auto received = [&] {
    const FailingCalls failing({.call = SystemCall::fcntl, .error = EMFILE});
    return receive_memory(pair_.there.get());
  }();
  EXPECT_LT(::fcntl(0, F_GETFD), 0);
  if (input.is_open()) {
    ::dup2(input.get(), 0);
  }
  EXPECT_THAT(received, fails_with(ErrorCode::operating_system));
}

TEST_F(Transport, BringsTheReceiptBack) {
  must(send_receipt(pair_.there.get(), {}));
  EXPECT_THAT(receive_receipt(pair_.here.get()), is_ok());
  must(send_receipt(pair_.there.get(), Error{.code = ErrorCode::out_of_memory}));
  const Status receipt = receive_receipt(pair_.here.get());
  ASSERT_THAT(receipt, fails_with(ErrorCode::out_of_memory));
  EXPECT_THAT(to_string(receipt.error()), HasSubstr("could not import it"));
}

}  // namespace
}  // namespace tessera
