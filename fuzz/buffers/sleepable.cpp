// SleepableBuffer: its states are as its header draws them, and kept bytes come back.
#include <utility>

#include "subjects.h"
#include "tessera/buffers/sleepable_buffer.h"

namespace tessera::fuzz {
namespace {

SleepableBufferOptions options_for(World& world) {
  SleepableBufferOptions options;
  options.size = world.size();
  options.memory = world.memory();
  options.access = world.access();
  options.piece_size = world.choices().below(3) == 0 ? Bytes() : world.size();
  return options;
}

class Sleepable final : public Subject {
 public:
  Sleepable(World& world, SleepableBuffer buffer) : world_(world), buffer_(std::move(buffer)) {
    marks_.resize(buffer_.size());
  }

  void step() override {
    switch (world_.choices().below(6)) {
      case 0:
        return sleep(Contents::discard);
      case 1:
        return sleep(Contents::keep_on_host);
      case 2:
        return wake();
      case 3:
        return remake();
      default:
        if (is(SleepState::awake)) {
          marks_.write(buffer_.address());
        }
    }
  }

  void check() override {
    world_.require(buffer_.is_open(), "it is closed");
    if (is(SleepState::failed)) {
      world_.require(!buffer_.first_error().has_value(), "it failed without an error");
      return;
    }
    world_.require(buffer_.first_error().has_value(), "it has an error and did not fail");
    Bytes mapped;
    for (const Piece& piece : buffer_.pieces()) {
      world_.require(piece.range().begin() == buffer_.address() + mapped,
                     "its pieces are not side by side");
      mapped += piece.range().size();
    }
    if (is(SleepState::asleep)) {
      world_.require(mapped.is_zero(), "it sleeps with memory");
    } else {
      world_.require(mapped == buffer_.capacity() && mapped >= buffer_.size(),
                     "it is awake without all its memory");
      marks_.check(buffer_.address(), "bytes are lost by a sleepable buffer");
    }
  }

  bool close(Quiescence proof) override {
    const bool closed = world_.worked("close sleepable", buffer_.close(std::move(proof)),
                                      {ErrorCode::not_permitted});
    world_.require(closed != buffer_.is_open(), "open and closed at once");
    if (!closed && is(SleepState::asleep) && !buffer_.keeps_contents()) {
      marks_.forget();
    }
    return closed;
  }

  [[nodiscard]] DeviceAddress readable() const override {
    return is(SleepState::awake) ? buffer_.address() : DeviceAddress();
  }

 private:
  [[nodiscard]] bool is(SleepState state) const { return buffer_.state() == state; }

  void sleep(Contents contents) {
    auto proof = world_.proof();
    if (!proof) {
      return;
    }
    const SleepState before = buffer_.state();
    const bool done = world_.worked("sleep", buffer_.sleep(*std::move(proof), contents),
                                    {ErrorCode::not_permitted, ErrorCode::illegal_state});
    world_.require(!done || is(SleepState::asleep), "it does not sleep");
    world_.require(before != SleepState::failed || (is(before) && !done), "it recovered");
    if (before == SleepState::awake && is(SleepState::asleep)) {
      world_.require(buffer_.keeps_contents() == (contents == Contents::keep_on_host),
                     "it keeps what it should not, or does not keep what it should");
      if (contents == Contents::discard) {
        marks_.forget();
      }
    }
  }

  void wake() {
    const SleepState before = buffer_.state();
    const bool kept = buffer_.keeps_contents();
    const std::uint64_t generation = buffer_.generation();
    const bool done = world_.worked("wake", buffer_.wake(), {ErrorCode::illegal_state});
    if (is(SleepState::failed)) {
      world_.note_work();  // its copy back may be under way
    }
    world_.require(!done || is(SleepState::awake), "it does not wake");
    world_.require(before != SleepState::failed || (is(before) && !done), "it recovered");
    const bool woke = before == SleepState::asleep && done;
    world_.require(buffer_.generation() == generation + (woke ? 1 : 0), "a wrong generation");
    world_.require(buffer_.keeps_contents() == (kept && !woke), "kept contents were lost");
  }

  void remake() {
    auto made = SleepableBuffer::make(world_.use(), options_for(world_));
    if (world_.made("make sleepable", made)) {
      buffer_ = *std::move(made);
      marks_.resize(Bytes());
      marks_.resize(buffer_.size());
    }
  }

  World& world_;
  SleepableBuffer buffer_;
  Marks marks_{world_};
};

}  // namespace

std::unique_ptr<Subject> make_sleepable(World& world) {
  auto made = SleepableBuffer::make(world.use(), options_for(world));
  if (!world.made("make sleepable", made)) {
    return nullptr;
  }
  return std::make_unique<Sleepable>(world, *std::move(made));
}

}  // namespace tessera::fuzz
