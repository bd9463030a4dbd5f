// DeviceVector: the elements are what a vector on the host has, also after errors.
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "growing.h"
#include "subjects.h"
#include "tessera/buffers/device_vector.h"

namespace tessera::fuzz {
namespace {

// No multiple and no divisor of a granule.
using Element = std::array<std::uint8_t, 20'000>;
constexpr std::uint32_t most_elements = 100;
constexpr std::uint64_t too_many = ~std::uint64_t{0} / sizeof(Element) + 1;

class Vector final : public Subject {
 public:
  Vector(World& world, DeviceVector<Element> vector) : world_(world), vector_(std::move(vector)) {}

  void step() override {
    switch (world_.choices().below(8)) {
      case 0:
        return reserve();
      case 1:
        return resize(true);
      case 2:
        return resize(false);
      case 3:
        return append();
      case 4:
        return assign();
      case 5:
        return set_and_get();
      case 6:
        return shrink_to_fit();
      default:
        return remake();
    }
  }

  void check() override {
    check_sizes(world_, vector_.buffer());
    world_.require(vector_.size() == elements_.size(), "a vector has another size");
    world_.require(vector_.capacity() >= vector_.size(), "a vector is larger than its capacity");
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      if (elements_[i]) {
        const DeviceAddress address = *vector_.address_of(i);
        world_.require(world_.get(address) == *elements_[i] &&
                           world_.get(address + Bytes(sizeof(Element) - 1)) == *elements_[i],
                       "a vector lost an element");
      }
    }
    world_.require(!vector_.address_of(elements_.size()), "an element beyond the end");
  }

  bool close(Quiescence proof) override {
    const bool closed =
        world_.worked("close vector", vector_.close(std::move(proof)), {ErrorCode::not_permitted});
    world_.require(closed != vector_.buffer().is_open(), "open and closed at once");
    if (!closed) {
      lose_beyond_size();
    }
    return closed;
  }

  [[nodiscard]] DeviceAddress readable() const override {
    return vector_.size() == 0 ? DeviceAddress() : vector_.address();
  }

 private:
  using Elements = std::vector<std::optional<std::uint8_t>>;

  [[nodiscard]] std::uint64_t count() {
    const std::uint32_t count = world_.choices().below(most_elements + 1);
    return count == most_elements ? too_many : count;
  }

  [[nodiscard]] std::vector<Element> new_elements(Elements& expected) {
    std::vector<Element> elements(world_.choices().below(5));
    for (Element& element : elements) {
      element.fill(static_cast<std::uint8_t>(world_.choices().below(256)));
      expected.emplace_back(element[0]);
    }
    return elements;
  }

  void reserve() {
    const std::uint64_t wanted = count();
    if (world_.worked("reserve", vector_.reserve(wanted))) {
      world_.require(vector_.capacity() >= wanted, "too little is reserved");
    }
  }

  void resize(bool zeroed) {
    const std::uint64_t wanted = count();
    const bool done =
        zeroed ? world_.worked("resize", vector_.resize(wanted))
               : world_.worked("resize_uninitialized", vector_.resize_uninitialized(wanted));
    if (zeroed) {
      world_.note_work();  // a fill
    }
    if (done) {
      elements_.resize(static_cast<std::size_t>(wanted),
                       zeroed ? std::optional<std::uint8_t>(0) : std::nullopt);
    }
  }

  void append() {
    Elements expected = elements_;
    const std::vector<Element> added = new_elements(expected);
    world_.note_work();  // a copy from pageable memory
    if (world_.worked("append", vector_.append(added))) {
      elements_ = std::move(expected);
    }
  }

  void assign() {
    Elements expected;
    const std::vector<Element> all = new_elements(expected);
    world_.note_work();
    if (world_.worked("assign", vector_.assign(all))) {
      elements_ = std::move(expected);
    } else if (vector_.size() == 0) {
      elements_.clear();  // the copy failed
    }
  }

  void set_and_get() {
    const std::uint64_t index = world_.choices().below(most_elements);
    Element element;
    element.fill(static_cast<std::uint8_t>(world_.choices().below(256)));
    const bool is_there = index < elements_.size();
    world_.note_work();
    const bool done = world_.worked("set", vector_.set(index, element));
    world_.require(is_there || !done, "an element that is not there was set");
    if (!done) {
      return;
    }
    elements_[static_cast<std::size_t>(index)] = element[0];
    const auto got = vector_.get(index);
    if (world_.worked("get", got, {})) {
      world_.require(*got == element, "another element was got");
    }
  }

  void shrink_to_fit() {
    auto proof = world_.proof();
    if (!proof) {
      return;
    }
    static_cast<void>(world_.worked("shrink_to_fit", vector_.shrink_to_fit(*std::move(proof)),
                                    {ErrorCode::not_permitted}));
  }

  void remake() {
    auto made = DeviceVector<Element>::make(world_.use(), growable_options(world_));
    if (world_.made("make vector", made)) {
      vector_ = *std::move(made);
      elements_.clear();
    }
  }

  void lose_beyond_size() {
    world_.require(vector_.size() <= elements_.size(), "closing made elements");
    elements_.resize(static_cast<std::size_t>(vector_.size()));
  }

  World& world_;
  DeviceVector<Element> vector_;
  Elements elements_;  // nothing: unknown
};

}  // namespace

std::unique_ptr<Subject> make_vector(World& world) {
  auto made = DeviceVector<Element>::make(world.use(), growable_options(world));
  if (!world.made("make vector", made)) {
    return nullptr;
  }
  return std::make_unique<Vector>(world, *std::move(made));
}

}  // namespace tessera::fuzz
