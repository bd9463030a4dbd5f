// GrowableBuffer: what was written is there after growing, moving and shrinking, and after errors
// all is as before.
#include <algorithm>
#include <tuple>
#include <utility>

#include "growing.h"
#include "subjects.h"

namespace tessera::fuzz {
namespace {

GrowthPolicy growth_policy(World& world) {
  const Bytes unit = world.unit();
  const auto policy = [&] {
    switch (world.choices().below(5)) {
      case 0:
        return GrowthPolicy::exact();
      case 1:
        return GrowthPolicy::factor(2);
      case 2:
        return GrowthPolicy::factor(3, 2);
      case 3:
        return GrowthPolicy::chunks(unit * 3);
      default:
        return GrowthPolicy::factor(4).in_steps_up_to(unit * 2);
    }
  }();
  return world.choices().below(4) == 1 ? policy.without_fallback() : policy;
}

class Growable final : public Subject {
 public:
  Growable(World& world, GrowableBuffer buffer) : world_(world), buffer_(std::move(buffer)) {}

  void step() override {
    switch (world_.choices().below(8)) {
      case 0:
        return grow(world_.size(), false);
      case 1:
        return grow(world_.size(), true);
      case 2:
        return shrink(world_.size());
      case 3:
        return grant();
      case 4:
        return release_retired();
      case 5:
        return remake();
      default:
        return marks_.write(buffer_.address());
    }
  }

  void check() override {
    check_sizes(world_, buffer_);
    marks_.check(buffer_.address(), "bytes are lost by a growable buffer");
    marks_.check(old_.begin(), old_.size(), "bytes are lost where a growable buffer was");
  }

  bool close(Quiescence proof) override {
    const bool closed = world_.worked("close growable", buffer_.close(std::move(proof)),
                                      {ErrorCode::not_permitted});
    world_.require(closed != buffer_.is_open(), "open and closed at once");
    if (!closed) {
      lose_beyond_capacity();
      return false;
    }
    world_.require(buffer_.close(Quiescence::none()).has_value(), "closing again fails");
    world_.require(!buffer_.grow_to(world_.unit()).has_value(), "a closed buffer grows");
    return true;
  }

  [[nodiscard]] DeviceAddress readable() const override {
    return buffer_.capacity().is_zero() ? DeviceAddress() : buffer_.address();
  }

 private:
  [[nodiscard]] auto look() const {
    const GrowableStatistics now = buffer_.statistics();
    return std::tuple(buffer_.address(), buffer_.size(), buffer_.capacity(), buffer_.generation(),
                      buffer_.access(), now.grows, now.moves, now.fallbacks, now.shrinks,
                      now.pieces, now.mapped, now.reserved, now.retired);
  }

  void grow(Bytes size, bool by) {
    const auto before = look();
    const Bytes old_size = buffer_.size();
    const AddressRange old_range(buffer_.address(), buffer_.capacity());
    const std::uint64_t generation = buffer_.generation();
    const auto growth = by ? buffer_.grow_by(size) : buffer_.grow_to(size);
    if (!world_.worked(by ? "grow_by" : "grow_to", growth)) {
      world_.require(look() == before, "changed by a growth that failed");
      world_.require_nothing_left();
      return;
    }
    const Bytes wanted = by ? old_size + size : std::max(old_size, size);
    world_.require(buffer_.size() == wanted, "it grew to another size");
    world_.require(buffer_.capacity() >= old_range.size(), "its capacity shrank");
    world_.require((buffer_.address() != old_range.begin()) == growth->moved &&
                       buffer_.generation() == generation + (growth->moved ? 1 : 0),
                   "it moved and says it did not, or the other way");
    if (growth->moved) {
      world_.require(growth->old_range == old_range, "it moved from elsewhere");
      old_ = old_range;
    }
    marks_.resize(buffer_.capacity());
  }

  void shrink(Bytes size) {
    auto proof = world_.proof();
    if (!proof) {
      return;
    }
    const auto before = look();
    const bool to_more = size > buffer_.size();
    const Bytes old_size = buffer_.size();
    // What is made later in place of what goes now is not there.
    old_ = AddressRange();
    const bool done = world_.worked("shrink_to", buffer_.shrink_to(size, *std::move(proof)),
                                    {ErrorCode::invalid_value, ErrorCode::not_permitted});
    if (to_more) {
      world_.require(!done && look() == before, "it shrank to more");
      return;
    }
    if (done) {
      world_.require(buffer_.size() == size, "it shrank to another size");
      const auto pieces = buffer_.pieces();
      world_.require(pieces.empty() || pieces.back().range().begin() - buffer_.address() < size,
                     "a piece beyond the size is left");
    } else {
      world_.require(buffer_.size() == std::min(old_size, buffer_.capacity()),
                     "a shrinking that failed left a wrong size");
    }
    lose_beyond_capacity();
  }

  void grant() {
    const auto before = look();
    AccessSet access = world_.access();
    // What is running may need what it has.
    if (buffer_.access().of(on_device(device_1)) == AccessFlags::read_write) {
      access.set(on_device(device_1), AccessFlags::read_write);
    }
    if (!world_.worked("grant", buffer_.grant(access))) {
      world_.require(look() == before, "changed by a grant that failed");
      return;
    }
    world_.require(buffer_.access() == std::get<AccessSet>(before).joined_with(access),
                   "another access was granted");
  }

  void release_retired() {
    auto proof = world_.proof();
    if (!proof) {
      return;
    }
    old_ = AddressRange();
    if (world_.worked("release_retired", buffer_.release_retired(*std::move(proof)),
                      {ErrorCode::not_permitted})) {
      world_.require(buffer_.statistics().retired.is_zero(), "retired addresses are left");
    }
  }

  void remake() {
    auto made = GrowableBuffer::make(world_.use(), growable_options(world_));
    if (world_.made("make growable", made)) {
      buffer_ = *std::move(made);
      old_ = AddressRange();
      marks_.resize(Bytes());
    }
  }

  void lose_beyond_capacity() {
    old_ = AddressRange();
    marks_.resize(buffer_.capacity());
  }

  World& world_;
  GrowableBuffer buffer_;
  Marks marks_{world_};
  // Where it was before its last move, as far as the same memory is still there.
  AddressRange old_;
};

}  // namespace

GrowableBufferOptions growable_options(World& world) {
  GrowableBufferOptions options;
  options.memory = world.memory();
  options.access = world.access();
  options.reserve = world.choices().below(4) == 0 ? Bytes() : world.size();
  options.growth = growth_policy(world);
  return options;
}

void check_sizes(const World& world, const GrowableBuffer& buffer) {
  world.require(buffer.is_open(), "it is closed");
  world.require(buffer.size() <= buffer.capacity(), "it is larger than its capacity");
  world.require(buffer.capacity() <= buffer.reserved_range().size(), "it leaves its addresses");
  world.require(is_aligned(buffer.capacity(), buffer.granularity()), "it holds half granules");
  DeviceAddress next = buffer.address();
  for (const Piece& piece : buffer.pieces()) {
    world.require(piece.range().begin() == next && piece.memory.size() == piece.range().size(),
                  "its pieces are not side by side");
    next = piece.range().end();
  }
  world.require(next - buffer.address() == buffer.capacity(), "its pieces are not its capacity");
  const GrowableStatistics now = buffer.statistics();
  world.require(now.pieces == buffer.pieces().size() && now.mapped == buffer.capacity() &&
                    now.reserved >= buffer.reserved_range().size(),
                "its statistics are wrong");
}

std::unique_ptr<Subject> make_growable(World& world) {
  auto made = GrowableBuffer::make(world.use(), growable_options(world));
  if (!world.made("make growable", made)) {
    return nullptr;
  }
  return std::make_unique<Growable>(world, *std::move(made));
}

}  // namespace tessera::fuzz
