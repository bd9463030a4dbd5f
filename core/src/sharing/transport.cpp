#include "tessera/sharing/transport.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/socket.h>
#include <sys/uio.h>

namespace tessera {
namespace {

// The kernel takes no more descriptors with one message (SCM_MAX_FD).
constexpr std::size_t descriptors_at_once_max = 253;
// The standard streams' numbers are below.
constexpr int usable_descriptor_min = 3;

Error socket_failed(std::size_t done, std::size_t wanted) noexcept {
  return {.code = ErrorCode::operating_system,
          .reason = Reason::socket_failed,
          .values = {static_cast<std::uint64_t>(errno), done, wanted}};
}

Status check_socket(int socket) {
  int domain = 0;
  int type = 0;
  socklen_t size = sizeof(int);
  if (::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 ||
      ::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    return socket_failed(0, 0);
  }
  if (domain != AF_UNIX || type != SOCK_STREAM) {
    return Error{.code = ErrorCode::invalid_value,
                 .reason = Reason::not_a_unix_stream,
                 .values = {static_cast<std::uint64_t>(std::int64_t{socket}),
                            static_cast<std::uint64_t>(domain), static_cast<std::uint64_t>(type)}};
  }
  return {};
}

// Room for the control data of one message: descriptors, and what else a socket may be set to
// deliver (SO_PASSCRED).
struct alignas(struct cmsghdr) ControlBuffer {
  std::array<char, CMSG_SPACE(descriptors_at_once_max * sizeof(int)) + 256> bytes = {};
};

// `part` and `control` outlive the message.
struct msghdr message_of(struct iovec& part) noexcept {
  struct msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  return message;
}

void attach(struct msghdr& message, ControlBuffer& control,
            std::span<const FileDescriptor> descriptors) noexcept {
  const std::size_t size = descriptors.size() * sizeof(int);
  message.msg_control = control.bytes.data();
  message.msg_controllen = CMSG_SPACE(size);
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(size);
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    const int descriptor = descriptors[i].get();
    std::memcpy(CMSG_DATA(header) + i * sizeof(int), &descriptor, sizeof(int));
  }
}

// Sends all bytes; the descriptors, if any, with the first of them.
Status send_all(int socket, std::span<const std::byte> bytes,
                std::span<const FileDescriptor> descriptors = {}) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    // sendmsg only reads what it is given.
    struct iovec part = {.iov_base = const_cast<std::byte*>(bytes.data() + done),
                         .iov_len = bytes.size() - done};
    struct msghdr message = message_of(part);
    ControlBuffer control;
    if (done == 0 && !descriptors.empty()) {
      attach(message, control, descriptors);
    }
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent == -1 && errno != EINTR) {
      return socket_failed(done, bytes.size());
    }
    done += static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
  }
  return {};
}

// Descriptors as they come in.
struct Arrived {
  std::vector<FileDescriptor> descriptors;
  bool cut = false;  // there were more, which the kernel dropped
};

// Owns what came with a message. The vector has room: nothing here can fail.
void take_over(struct msghdr& message, Arrived& arrived) noexcept {
  for (struct cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      arrived.descriptors.emplace_back(descriptor);
    }
  }
  arrived.cut = arrived.cut || (message.msg_flags & MSG_CTRUNC) != 0;
}

// Receives exactly so many bytes, and owns whatever descriptors come with them.
Status receive_bytes(int socket, std::span<std::byte> bytes, Arrived& arrived) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    arrived.descriptors.reserve(arrived.descriptors.size() + descriptors_at_once_max);
    struct iovec part = {.iov_base = bytes.data() + done, .iov_len = bytes.size() - done};
    struct msghdr message = message_of(part);
    ControlBuffer control;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno != EINTR) {
      return socket_failed(done, bytes.size());
    }
    if (got >= 0) {
      take_over(message, arrived);
    }
    if (got == 0) {
      return Error{.code = ErrorCode::operating_system,
                   .reason = Reason::peer_closed,
                   .values = {done, bytes.size()}};
    }
    done += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  }
  return {};
}

// The same for a part that comes with `count` descriptors, which are added to `descriptors`.
Status receive_all(int socket, std::span<std::byte> bytes, std::size_t count,
                   std::vector<FileDescriptor>& descriptors) {
  Arrived arrived;
  TESSERA_TRY(receive_bytes(socket, bytes, arrived));
  const std::size_t found = arrived.descriptors.size();
  if (arrived.cut && found <= count) {
    return Error{.code = ErrorCode::operating_system,
                 .reason = Reason::descriptors_cut,
                 .values = {found, count}};
  }
  if (found != count) {
    return Error{.code = ErrorCode::invalid_value,
                 .reason = Reason::descriptors_unexpected,
                 .values = {found, count}};
  }
  for (FileDescriptor& descriptor : arrived.descriptors) {
    if (descriptor.get() < usable_descriptor_min) {
      TESSERA_TRY_ASSIGN(descriptor, descriptor.duplicate());
    }
    descriptors.push_back(std::move(descriptor));
  }
  return {};
}

Status receive_all(int socket, std::span<std::byte> bytes) {
  std::vector<FileDescriptor> none;
  return receive_all(socket, bytes, 0, none);
}

// How many descriptors the message has.
std::size_t descriptor_count(HandleTypes type, std::size_t pieces) noexcept {
  return type == HandleTypes::posix_file_descriptor ? pieces : 0;
}

}  // namespace

Status send_memory(int socket, const ExportedMemory& memory) {
  return send_memory(socket, memory.description(), memory.descriptors());
}

Status send_memory(int socket, const MemoryDescription& description,
                   std::span<const FileDescriptor> descriptors) {
  TESSERA_TRY(check(description));
  const auto open = static_cast<std::size_t>(
      std::count_if(descriptors.begin(), descriptors.end(),
                    [](const FileDescriptor& descriptor) { return descriptor.is_open(); }));
  const std::size_t wanted = descriptor_count(description.type, description.pieces.size());
  if (open != wanted || descriptors.size() != wanted) {
    return Error{.code = ErrorCode::invalid_value,
                 .reason = Reason::pieces_and_descriptors_differ,
                 .values = {description.pieces.size(), open}};
  }
  TESSERA_TRY(check_socket(socket));
  TESSERA_TRY(send_all(socket, message::encode(description)));
  while (!descriptors.empty()) {
    const std::size_t count = std::min(descriptors.size(), descriptors_at_once_max);
    TESSERA_TRY(send_all(socket, std::array<std::byte, 1>{}, descriptors.first(count)));
    descriptors = descriptors.subspan(count);
  }
  return {};
}

Result<ReceivedMemory> receive_memory(int socket) {
  TESSERA_TRY(check_socket(socket));
  std::array<std::byte, message::header_size> header_bytes = {};
  TESSERA_TRY(receive_all(socket, header_bytes));
  TESSERA_TRY_ASSIGN(const message::Header header, message::decode_header(header_bytes));
  std::vector<std::byte> record_bytes(header.records_size());
  TESSERA_TRY(receive_all(socket, record_bytes));
  ReceivedMemory received;
  TESSERA_TRY_ASSIGN(received.description, message::decode_records(header, record_bytes));
  for (std::size_t left = descriptor_count(header.type, header.pieces); left > 0;) {
    const std::size_t count = std::min(left, descriptors_at_once_max);
    std::array<std::byte, 1> marker = {};
    TESSERA_TRY(receive_all(socket, marker, count, received.descriptors));
    left -= count;
  }
  return received;
}

Status send_receipt(int socket, const Status& imported) {
  TESSERA_TRY(check_socket(socket));
  return send_all(socket, message::encode_receipt(imported));
}

Status receive_receipt(int socket) {
  TESSERA_TRY(check_socket(socket));
  std::array<std::byte, message::receipt_size> bytes = {};
  TESSERA_TRY(receive_all(socket, bytes));
  return message::decode_receipt(bytes);
}

}  // namespace tessera
