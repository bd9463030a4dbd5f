#include "testing/allocator_run.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tessera/check.h"
#include "text.h"

namespace tessera::testing {

AllocatorUnderTest::~AllocatorUnderTest() = default;

namespace {

std::unique_ptr<Driver> make_driver(const AllocatorTest& test) {
  std::unique_ptr<Driver> driver = test.make_driver();
  TESSERA_CHECK(driver != nullptr);
  return driver;
}

}  // namespace

AllocatorMachine::AllocatorMachine(const AllocatorTest& test)
    : base_(make_driver(test)),
      stack_(stack_layers(
          *base_, {.faults = FaultPlan{.capacity = test.capacity}, .validation = test.validation})),
      started_(start()) {}

// On the driver itself, below the layers: the context is not the allocator's.
Status AllocatorMachine::start() {
  TESSERA_TRY(base_->init(0));
  TESSERA_TRY_ASSIGN(context_, base_->device_primary_ctx_retain(DeviceOrdinal(0)));
  TESSERA_TRY(base_->ctx_set_current(context_));
  TESSERA_TRY_ASSIGN(granule_, base_->mem_get_allocation_granularity({}));
  return {};
}

AllocatorMachine::~AllocatorMachine() {
  if (!context_.is_null()) {
    static_cast<void>(base_->ctx_set_current(ContextHandle()));
    static_cast<void>(base_->device_primary_ctx_release(DeviceOrdinal(0)));
  }
}

std::string AllocatorMachine::leaks() const {
  const LeakReport report = stack_.validating()->ledger().leak_report();
  return report.is_empty() ? "" : to_string(report);
}

std::string AllocatorMachine::violations() const {
  if (stack_.validating()->finding_count() == 0) {
    return {};
  }
  std::string text;
  for (const Finding& finding : stack_.validating()->findings()) {
    text += (text.empty() ? "" : "\n") + to_string(finding);
  }
  return text;
}

Status AllocatorRun::open() {
  TESSERA_TRY_ASSIGN(allocator_, test_.make_allocator(driver_));
  TESSERA_CHECK(allocator_ != nullptr);
  return {};
}

Status AllocatorRun::perform(const AllocatorOp& op) {
  if (!op.is_free()) {
    TESSERA_TRY_ASSIGN(const DeviceAddress address, allocator_->allocate(op.size));
    take(op.block, address, op.size);
    return {};
  }
  const auto found = std::find_if(blocks_.begin(), blocks_.end(),
                                  [&](const Block& block) { return block.number == op.block; });
  if (found == blocks_.end()) {
    return {};
  }
  TESSERA_TRY(allocator_->free(found->range.begin()));
  blocks_.erase(found);
  return {};
}

Status AllocatorRun::free_all() {
  while (!blocks_.empty()) {
    TESSERA_TRY(allocator_->free(blocks_.back().range.begin()));
    blocks_.pop_back();
  }
  return {};
}

void AllocatorRun::inspect() {
  for (const Block& block : blocks_) {
    look_at(block);
  }
  if (allocator_ != nullptr) {
    fail(allocator_->check());
  }
}

DeviceAddress AllocatorRun::address_of(std::size_t number) const {
  for (const Block& block : blocks_) {
    if (block.number == number) {
      return block.range.begin();
    }
  }
  return {};
}

// The first counts: the others tend to follow from it.
void AllocatorRun::fail(std::string what) {
  if (failure_.empty()) {
    failure_ = std::move(what);
  }
}

void AllocatorRun::take(std::size_t number, DeviceAddress address, Bytes size) {
  const auto range = AddressRange::make(address, size);
  if (address.is_null() || !range) {
    return fail(block_name(number) + " is at " + text::hexadecimal(address.value()) +
                ", where nothing can be");
  }
  if (!is_aligned(address, test_.alignment)) {
    fail(block_name(number) + " is not aligned to " + text::bytes(test_.alignment));
  }
  for (const Block& other : blocks_) {
    if (other.range.intersects(*range)) {
      fail(block_name(number) + " lies over " + block_name(other.number));
    }
  }
  blocks_.push_back({.number = number, .range = *range});
  if (failure_.empty()) {
    fill(blocks_.back());
  }
}

void AllocatorRun::fill(const Block& block) {
  Status filled = machine_.driver().memset_d8({.destination = block.range.begin(),
                                               .value = fill_of(block.number),
                                               .size = block.range.size()});
  if (filled) {
    filled = machine_.driver().ctx_synchronize();
  }
  if (!filled) {
    fail(block_name(block.number) + " cannot be written: " + to_string(filled.error()));
  }
}

// Both sides of each place where one granule of memory may end and another begin.
void AllocatorRun::look_at(const Block& block) {
  const AddressRange range = block.range;
  const Bytes granule = machine_.granule();
  for (DeviceAddress part = range.begin(); failure_.empty() && part < range.end();) {
    const Bytes left = range.end() - part;
    const Bytes to_next = granule - Bytes(part.value()) % granule;
    const DeviceAddress next = part + std::min(left, to_next);
    look_at(block, part);
    look_at(block, next - 1_B);
    part = next;
  }
}

void AllocatorRun::look_at(const Block& block, DeviceAddress address) {
  std::array<std::byte, 1> read = {};
  const std::string name = block_name(block.number);
  if (const Status status = machine_.base().memcpy_dtoh({.destination = read, .source = address});
      !status) {
    return fail(name + " cannot be read: " + to_string(status.error()));
  }
  const auto byte = std::to_integer<std::uint8_t>(read[0]);
  if (byte == fill_of(block.number)) {
    return;
  }
  std::string what = name + " lost what was written to it, at byte " +
                     std::to_string((address - block.range.begin()).value());
  for (const Block& other : blocks_) {
    if (byte == fill_of(other.number)) {
      what += ": it has what was written to " + block_name(other.number);
    }
  }
  fail(std::move(what));
}

}  // namespace tessera::testing
