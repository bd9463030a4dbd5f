// Every driver call that exporting and importing make fails once, and twice in a row, so that the
// undoing fails too: nothing is left, or what is left is named and can be undone later.
#include <utility>

#include "support/sharing_peer.h"
#include "support/sharing_support.h"
#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

using test::SharingSide;

constexpr Error injected = {.code = ErrorCode::out_of_memory, .origin = Origin::injected};

// Fails `count` calls from the k-th on (from 0).
class FailingDriver final : public DriverWrapper {
 public:
  using DriverWrapper::DriverWrapper;

  void fail(std::size_t first, std::size_t count) {
    first_ = first;
    end_ = first + count;
    calls_ = 0;
  }
  // Whether the calls reached the first that was to fail.
  [[nodiscard]] bool has_failed() const { return calls_ > first_; }

  Result<bool> device_can_access_peer(const PeerQuery& query) override {
    return pass([&] { return target().device_can_access_peer(query); });
  }
  Result<Bytes> mem_get_allocation_granularity(const GranularityRequest& request) override {
    return pass([&] { return target().mem_get_allocation_granularity(request); });
  }
  Result<DeviceAddress> mem_address_reserve(const ReserveRequest& request) override {
    return pass([&] { return target().mem_address_reserve(request); });
  }
  Status mem_address_free(const AddressFreeRequest& request) override {
    return pass([&] { return target().mem_address_free(request); });
  }
  Status mem_release(AllocationHandle handle) override {
    return pass([&] { return target().mem_release(handle); });
  }
  Result<AllocationProperties> mem_get_allocation_properties_from_handle(
      const PropertiesRequest& request) override {
    return pass([&] { return target().mem_get_allocation_properties_from_handle(request); });
  }
  Result<AllocationHandle> mem_retain_allocation_handle(DeviceAddress address) override {
    return pass([&] { return target().mem_retain_allocation_handle(address); });
  }
  Result<ShareableHandle> mem_export_to_shareable_handle(const ExportRequest& request) override {
    return pass([&] { return target().mem_export_to_shareable_handle(request); });
  }
  Result<AllocationHandle> mem_import_from_shareable_handle(
      const ShareableHandle& handle) override {
    return pass([&] { return target().mem_import_from_shareable_handle(handle); });
  }
  Status mem_map(const MapRequest& request) override {
    return pass([&] { return target().mem_map(request); });
  }
  Status mem_unmap(const UnmapRequest& request) override {
    return pass([&] { return target().mem_unmap(request); });
  }
  Status mem_set_access(const SetAccessRequest& request) override {
    return pass([&] { return target().mem_set_access(request); });
  }
  Result<std::uint64_t> pointer_get_attribute(const PointerAttributeRequest& request) override {
    return pass([&] { return target().pointer_get_attribute(request); });
  }

 private:
  template <class Make>
  auto pass(const Make& make) -> decltype(make()) {
    const std::size_t call = calls_++;
    if (call >= first_ && call < end_) {
      return injected;
    }
    return make();
  }

  std::size_t first_ = ~std::size_t{0};
  std::size_t end_ = ~std::size_t{0};
  std::size_t calls_ = 0;
};

// Tries `attempt` with each call failing, until it is through without a failure. `check_clean` sees
// that nothing is left after each.
template <class Attempt, class CheckClean>
std::size_t sweep(FailingDriver& driver, std::size_t count, const Attempt& attempt,
                  const CheckClean& check_clean) {
  for (std::size_t call = 0;; ++call) {
    SCOPED_TRACE(testing::Message() << count << " failures from call " << call);
    CollectingSink sink;
    driver.fail(call, count);
    const Status done = attempt(DriverUse(driver, sink));
    const bool failed = driver.has_failed();
    driver.fail(~std::size_t{0} - 1, 0);
    if (!done) {
      EXPECT_EQ(done.error().origin, Origin::injected);
    }
    if (count == 1) {
      EXPECT_TRUE(sink.failures().empty());
    }
    EXPECT_THAT(sink.retry_all(), is_ok());
    check_clean();
    if (!failed) {
      EXPECT_THAT(done, is_ok());
      return call;
    }
  }
}

class SharingFaults : public testing::TestWithParam<std::size_t> {
 protected:
  SharingFaults() {
    must(side_->make(3));
    must(side_->publish());
  }
  ~SharingFaults() override { side_.reset(); }

  // Sees at its end that all is as it was at its begin.
  [[nodiscard]] auto unchanged(SimMachine& machine) {
    return [&machine, books = machine->books(), descriptors = test::open_descriptors()] {
      EXPECT_EQ(machine->books(), books);
      EXPECT_EQ(test::open_descriptors(), descriptors);
    };
  }

  SimMachine exporter_{"h200", {.devices = 2}};
  SimMachine importer_{"h200", {.devices = 2}};
  std::optional<SharingSide> side_{std::in_place, exporter_.driver()};
  test::SocketPair pair_ = test::socket_pair();
};

// A close that fails can be tried again; the first error is the one that counts.
template <class Close>
Status close_twice(const Close& close) {
  const Status first = close();
  if (!first) {
    Status again = close();
    for (int tries = 0; !again && tries < 2; ++tries) {
      again = close();
    }
    EXPECT_THAT(again, is_ok());
  }
  return first;
}

TEST_P(SharingFaults, OfAnExport) {
  FailingDriver driver(&exporter_.driver());
  const std::size_t calls = sweep(
      driver, GetParam(),
      [&](DriverUse use) -> Status {
        TESSERA_TRY_ASSIGN(ExportedMemory exported, ExportedMemory::of_range(use, side_->range()));
        TESSERA_TRY(send_memory(pair_.here.get(), exported));
        must(receive_memory(pair_.there.get()));
        return close_twice([&] { return exported.close(); });
      },
      unchanged(exporter_));
  EXPECT_GT(calls, 20U);
}

TEST_P(SharingFaults, OfAnImport) {
  FailingDriver driver(&importer_.driver());
  const std::size_t calls = sweep(
      driver, GetParam(),
      [&](DriverUse use) -> Status {
        must(send_memory(pair_.here.get(), *side_->exported()));
        auto shared = SharedMemory::receive(use, pair_.there.get(),
                                            AccessSet::of_devices({device_0, device_1}));
        // The exporter hears of each failure.
        EXPECT_EQ(receive_receipt(pair_.here.get()).has_value(), shared.has_value());
        if (!shared) {
          return shared.error();
        }
        return close_twice([&] { return shared->close(Quiescence::promised()); });
      },
      unchanged(importer_));
  EXPECT_GT(calls, 15U);
}

INSTANTIATE_TEST_SUITE_P(InARow, SharingFaults, testing::Values(1U, 2U));

TEST(SharingWithoutRoom, LeavesNothingWhereverDescriptorsRunOut) {
  SimMachine exporter("h200");
  SimMachine importer("h200");
  SharingSide side(exporter.driver());
  must(side.make(3));
  must(side.publish());
  const test::SocketPair pair = test::socket_pair();
  const Books before = importer->books();
  const std::size_t descriptors = test::open_descriptors();
  for (std::size_t room = 0;; ++room) {
    must(send_memory(pair.here.get(), *side.exported()));
    Result<SharedMemory> shared = Error{};
    {
      const test::DescriptorLimit limit(room);
      shared = SharedMemory::receive(importer.driver(), pair.there.get(),
                                     AccessSet::of_device(device_0));
    }
    EXPECT_EQ(receive_receipt(pair.here.get()).has_value(), shared.has_value());
    if (shared) {
      EXPECT_GE(room, 3U);
      must(shared->close(Quiescence::promised()));
    }
    EXPECT_EQ(importer->books(), before);
    EXPECT_EQ(test::open_descriptors(), descriptors);
    if (shared) {
      break;
    }
  }
}

}  // namespace
}  // namespace tessera::sim
