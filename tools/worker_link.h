// How a parent and its worker process talk: messages of one kind letter and a text.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::tools {

enum class MessageKind : char {
  run_case = 'c',       // to the worker: a case as text, to be run alone
  run_case_kept = 'k',  // the same, in the context that the worker keeps for many cases
  answer = 'a',         // from the worker: what a call answered, before the next is made
  problem = 'p',        // the case could not be run
  done_clean = 'd',     // the case is over and all it did is undone
  done_dirty = 'x',     // the case is over; the worker is not fit for another
  no_backend = 'n',     // the worker cannot work at all
};

struct Message {
  MessageKind kind;
  std::string text;
};

// Sends and receives on a stream socket that somebody else owns.
class WorkerLink {
 public:
  explicit WorkerLink(int socket) noexcept : socket_(socket) {}

  // False: the other side is gone.
  [[nodiscard]] bool send(MessageKind kind, std::string_view text) const;

  enum class Failure : std::uint8_t { none, closed, timeout };
  // Waits for a message, no longer than until the deadline if there is one. Nothing: see failure().
  std::optional<Message> receive(
      std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt);
  [[nodiscard]] Failure failure() const noexcept { return failure_; }

 private:
  bool fill(std::optional<std::chrono::steady_clock::time_point> deadline);

  int socket_;
  std::string buffer_;
  std::size_t consumed_ = 0;
  Failure failure_ = Failure::none;
};

}  // namespace tessera::tools
