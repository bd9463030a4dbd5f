#include "worker_link.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>

namespace tessera::tools {
namespace {

// A message is its kind, the size of its text in this many bytes, and the text.
constexpr std::size_t size_bytes = sizeof(std::uint32_t);
constexpr std::size_t header_bytes = 1 + size_bytes;

}  // namespace

bool WorkerLink::send(MessageKind kind, std::string_view text) const {
  std::string message(header_bytes, static_cast<char>(kind));
  const auto size = static_cast<std::uint32_t>(text.size());
  std::memcpy(message.data() + 1, &size, size_bytes);
  message += text;
  std::size_t sent = 0;
  while (sent < message.size()) {
    const ssize_t part =
        ::send(socket_, message.data() + sent, message.size() - sent, MSG_NOSIGNAL);
    if (part < 0 && errno != EINTR) {
      return false;
    }
    sent += part < 0 ? 0 : static_cast<std::size_t>(part);
  }
  return true;
}

std::optional<Message> WorkerLink::receive(
    std::optional<std::chrono::steady_clock::time_point> deadline) {
  failure_ = Failure::none;
  for (;;) {
    if (buffer_.size() - consumed_ >= header_bytes) {
      std::uint32_t size = 0;
      std::memcpy(&size, buffer_.data() + consumed_ + 1, size_bytes);
      if (buffer_.size() - consumed_ - header_bytes >= size) {
        Message message = {static_cast<MessageKind>(buffer_[consumed_]),
                           buffer_.substr(consumed_ + header_bytes, size)};
        consumed_ += header_bytes + size;
        if (consumed_ == buffer_.size()) {
          buffer_.clear();
          consumed_ = 0;
        }
        return message;
      }
    }
    if (!fill(deadline)) {
      return std::nullopt;
    }
  }
}

bool WorkerLink::fill(std::optional<std::chrono::steady_clock::time_point> deadline) {
  for (;;) {
    int wait_ms = -1;
    if (deadline) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          *deadline - std::chrono::steady_clock::now());
      wait_ms = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }
    pollfd waiting = {.fd = socket_, .events = POLLIN, .revents = 0};
    const int ready = poll(&waiting, 1, wait_ms);
    if (ready == 0) {
      failure_ = Failure::timeout;
      return false;
    }
    std::array<char, 1U << 16U> part = {};
    const ssize_t size = ready < 0 ? -1 : recv(socket_, part.data(), part.size(), 0);
    if (size > 0) {
      buffer_.append(part.data(), static_cast<std::size_t>(size));
      return true;
    }
    if (size == 0 || errno != EINTR) {
      failure_ = Failure::closed;
      return false;
    }
  }
}

}  // namespace tessera::tools
