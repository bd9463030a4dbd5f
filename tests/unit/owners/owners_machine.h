// What the tests of owners share: a simulated machine, whose books have to be at the end what they
// were at the beginning, and a sink that fails the test unless the test expects its failures.
#pragma once

#include "support/sim_machine.h"
#include "tessera/owners/mapping.h"
#include "tessera/owners/transaction.h"

namespace tessera {

using sim::device_0;
using sim::device_1;
using test::fails_with;
using test::is_ok;
using test::must;

class OwnersMachine {
 public:
  explicit OwnersMachine(std::string_view profile = "h200", std::int32_t devices = 1)
      : machine_(profile, {.devices = devices}), before_(machine_.driver().books()) {}
  OwnersMachine(const OwnersMachine&) = delete;
  OwnersMachine& operator=(const OwnersMachine&) = delete;
  ~OwnersMachine() {
    EXPECT_TRUE(sink_.failures().empty()) << to_string(sink_.failures().front());
    EXPECT_EQ(machine_.driver().books(), before_) << "something is left, or too much is gone";
  }

  [[nodiscard]] sim::SimMachine& machine() { return machine_; }
  [[nodiscard]] sim::SimDriver& driver() { return machine_.driver(); }
  [[nodiscard]] CollectingSink& sink() { return sink_; }
  [[nodiscard]] DriverUse use() { return {driver(), sink_}; }
  // The same, through a layer of the test's.
  [[nodiscard]] DriverUse use(Driver& layer) { return {layer, sink_}; }
  [[nodiscard]] Bytes unit() const { return machine_.unit(); }
  [[nodiscard]] sim::Books books() { return driver().books(); }
  [[nodiscard]] const sim::Books& books_before() const { return before_; }

  Reservation reserve(std::uint64_t units) {
    return must(Reservation::make(use(), {.size = unit() * units}));
  }
  PhysicalAllocation create(std::uint64_t units) {
    return must(PhysicalAllocation::create(use(), {.size = unit() * units}));
  }
  // A mapping of its own memory in its own reservation, with access for the devices given.
  Mapping mapped(std::uint64_t units, std::initializer_list<DeviceOrdinal> devices = {device_0}) {
    Mapping mapping = must(Mapping::map(reserve(units), Bytes(0), create(units)));
    must(mapping.grant(AccessSet::of_devices(devices)));
    return mapping;
  }

 private:
  sim::SimMachine machine_;
  CollectingSink sink_;
  sim::Books before_;
};

// Fails the next call of one kind, as often as told, without making it.
template <Call failing>
class Failing;

#define TESSERA_FAILING(method, Request)                                               \
  template <>                                                                          \
  class Failing<Call::method> final : public DriverWrapper {                           \
   public:                                                                             \
    Failing(Driver& target, int times, ErrorCode code = ErrorCode::out_of_memory)      \
        : DriverWrapper(&target), times_(times), code_(code) {}                        \
    decltype(std::declval<Driver>().method(std::declval<Request>())) method(           \
        Request request) override {                                                    \
      if (times_ > 0) {                                                                \
        --times_;                                                                      \
        return Error{.code = code_, .call = Call::method, .origin = Origin::injected}; \
      }                                                                                \
      return DriverWrapper::method(request);                                           \
    }                                                                                  \
                                                                                       \
   private:                                                                            \
    int times_;                                                                        \
    ErrorCode code_;                                                                   \
  }
TESSERA_FAILING(mem_address_reserve, const ReserveRequest&);
TESSERA_FAILING(mem_address_free, const AddressFreeRequest&);
TESSERA_FAILING(mem_create, const CreateRequest&);
TESSERA_FAILING(mem_release, AllocationHandle);
TESSERA_FAILING(mem_map, const MapRequest&);
TESSERA_FAILING(mem_unmap, const UnmapRequest&);
TESSERA_FAILING(mem_set_access, const SetAccessRequest&);
#undef TESSERA_FAILING

}  // namespace tessera
