// What is made whole and does not change: StripedBuffer, MirroredRing, vmm_alloc.
#include <utility>

#include "subjects.h"
#include "tessera/buffers/mirrored_ring.h"
#include "tessera/buffers/striped_buffer.h"
#include "tessera/owners/vmm_alloc.h"

namespace tessera::fuzz {
namespace {

StripedBufferOptions striped_options(World& world) {
  StripedBufferOptions options;
  options.size = world.size();
  for (std::uint32_t count = 1 + world.choices().below(3); count != 0; --count) {
    options.devices.push_back(world.device());
  }
  options.memory = world.memory();
  options.access = world.access();
  return options;
}

class Striped final : public Subject {
 public:
  Striped(World& world, StripedBuffer buffer) : world_(world), buffer_(std::move(buffer)) {
    marks_.resize(buffer_.size());
  }

  void step() override {
    if (world_.choices().below(4) != 0) {
      return is_whole_ ? marks_.write(buffer_.address()) : void();
    }
    auto made = StripedBuffer::make(world_.use(), striped_options(world_));
    if (world_.made("make striped", made)) {
      buffer_ = *std::move(made);
      is_whole_ = true;
      marks_.resize(Bytes());
      marks_.resize(buffer_.size());
    }
  }

  void check() override {
    if (!is_whole_) {
      return;
    }
    Bytes offset;
    for (std::size_t i = 0; i < buffer_.stripe_count(); ++i) {
      const AddressRange stripe = buffer_.stripe(i);
      world_.require(stripe == AddressRange(buffer_.address() + offset, buffer_.stripe_size()),
                     "stripes are not side by side");
      const auto device = buffer_.device_at(stripe.end() - 1_B);
      world_.require(device && on_device(*device) == buffer_.pieces()[i].mapping.memory_location(),
                     "a stripe says another device");
      offset += stripe.size();
    }
    world_.require(offset == buffer_.capacity() && offset >= buffer_.size(), "stripes are missing");
    world_.require(!buffer_.device_at(buffer_.address() + offset), "a stripe beyond the end");
    marks_.check(buffer_.address(), "bytes are lost by a striped buffer");
  }

  bool close(Quiescence proof) override {
    const std::size_t before = buffer_.stripe_count();
    const bool closed =
        world_.worked("close striped", buffer_.close(std::move(proof)), {ErrorCode::not_permitted});
    world_.require(closed != buffer_.is_open(), "open and closed at once");
    is_whole_ = is_whole_ && !closed && buffer_.stripe_count() == before;
    return closed;
  }

  [[nodiscard]] DeviceAddress readable() const override {
    return is_whole_ ? buffer_.address() : DeviceAddress();
  }

 private:
  World& world_;
  StripedBuffer buffer_;
  bool is_whole_ = true;  // closing it has not failed half-way
  Marks marks_{world_};
};

MirroredRingOptions ring_options(World& world) {
  MirroredRingOptions options;
  options.capacity = world.size();
  options.memory = world.memory();
  options.access = world.access();
  return options;
}

class Ring final : public Subject {
 public:
  Ring(World& world, MirroredRing ring) : world_(world), ring_(std::move(ring)) {
    marks_.resize(ring_.capacity());
  }

  void step() override {
    if (world_.choices().below(4) != 0) {
      if (is_whole_) {
        const bool in_mirror = world_.choices().below(2) == 1;
        marks_.write(in_mirror ? ring_.address() + ring_.capacity() : ring_.address());
      }
      return;
    }
    auto made = MirroredRing::make(world_.use(), ring_options(world_));
    if (world_.made("make ring", made)) {
      ring_ = *std::move(made);
      is_whole_ = true;
      marks_.resize(Bytes());
      marks_.resize(ring_.capacity());
    }
  }

  void check() override {
    if (!is_whole_) {
      return;
    }
    const Bytes capacity = ring_.capacity();
    marks_.check(ring_.address(), "bytes are lost by a ring");
    marks_.check(ring_.address() + capacity, "bytes are lost by a ring's mirror");
    const auto window = ring_.window(capacity.value() * 3 - 1, capacity);
    world_.require(window && *window == AddressRange(ring_.address() + capacity - 1_B, capacity),
                   "a ring's window lies elsewhere");
    world_.require(!ring_.window(0, capacity + 1_B), "a window larger than the ring");
  }

  bool close(Quiescence proof) override {
    const bool is_unproven = !proof.covers(device_0);
    const bool closed =
        world_.worked("close ring", ring_.close(std::move(proof)), {ErrorCode::not_permitted});
    world_.require(closed != ring_.is_open(), "open and closed at once");
    world_.require(!closed || !is_unproven || !is_whole_, "closed without a proof");
    is_whole_ = is_whole_ && is_unproven;
    return closed;
  }

  [[nodiscard]] DeviceAddress readable() const override {
    return is_whole_ ? ring_.address() : DeviceAddress();
  }

 private:
  World& world_;
  MirroredRing ring_;
  bool is_whole_ = true;  // closing it has not failed half-way
  Marks marks_{world_};
};

class VmmAllocation final : public Subject {
 public:
  VmmAllocation(World& world, DeviceAddress address, Bytes size)
      : world_(world), address_(address) {
    marks_.resize(size);
  }
  ~VmmAllocation() override {
    // Only at a program's end, when nothing fails any more.
    if (!address_.is_null()) {
      world_.require(vmm_free(world_.driver(), address_).has_value(), "it cannot be freed");
    }
  }

  void step() override {
    if (is_whole_) {
      marks_.write(address_);
    }
  }

  void check() override {
    world_.require(vmm_range(world_.driver(), address_).has_value(), "it is not known any more");
    if (is_whole_) {
      marks_.check(address_, "bytes are lost by vmm_alloc");
    }
  }

  bool close(Quiescence proof) override {
    const bool is_unproven = !proof.covers(device_0);
    const Status freed = is_unproven ? vmm_free(world_.driver(), address_)
                                     : vmm_free(world_.driver(), address_, std::move(proof));
    if (!world_.worked("vmm_free", freed, {})) {
      is_whole_ = false;
      return false;
    }
    world_.require(!vmm_free(world_.driver(), address_), "it can be freed twice");
    address_ = DeviceAddress();
    return true;
  }

  [[nodiscard]] bool cleans_up() const override { return false; }

  [[nodiscard]] DeviceAddress readable() const override {
    return is_whole_ ? address_ : DeviceAddress();
  }

 private:
  World& world_;
  DeviceAddress address_;
  bool is_whole_ = true;  // freeing it has not failed half-way
  Marks marks_{world_};
};

}  // namespace

std::unique_ptr<Subject> make_striped(World& world) {
  auto made = StripedBuffer::make(world.use(), striped_options(world));
  if (!world.made("make striped", made)) {
    return nullptr;
  }
  return std::make_unique<Striped>(world, *std::move(made));
}

std::unique_ptr<Subject> make_ring(World& world) {
  auto made = MirroredRing::make(world.use(), ring_options(world));
  if (!world.made("make ring", made)) {
    return nullptr;
  }
  return std::make_unique<Ring>(world, *std::move(made));
}

std::unique_ptr<Subject> make_vmm_alloc(World& world) {
  const Bytes size = world.size();
  const VmmAllocOptions options = {.memory = world.memory(), .access = world.access()};
  const auto made = vmm_alloc(world.use(), size, options);
  if (!world.made("vmm_alloc", made)) {
    return nullptr;
  }
  return std::make_unique<VmmAllocation>(world, *made, size);
}

}  // namespace tessera::fuzz
