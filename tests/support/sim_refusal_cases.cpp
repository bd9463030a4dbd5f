// What is refused by the process's or the host's state: before init, in a forked child, without
// descriptors, without memory.
#include <array>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

#include "support/exhausted_host.h"
#include "support/sharing_support.h"
#include "support/sim_refusals.h"

namespace tessera::sim {
namespace {

// A machine that is up, and what it is called through.
struct LayeredMachine {
  explicit LayeredMachine(const DriverLayer& make_layer)
      : machine("h200"),
        layer(make_layer ? make_layer(&machine.driver()) : nullptr),
        driver(layer ? *layer : machine.driver()) {}

  SimMachine machine;
  std::unique_ptr<Driver> layer;  // may be null
  Driver& driver;
};

std::optional<Error> before_init(const DriverLayer& make_layer) {
  SimDriver simulator(profile_named("h200"));
  const std::unique_ptr<Driver> layer = make_layer ? make_layer(&simulator) : nullptr;
  return error_of((layer ? *layer : simulator).device_get_count());
}

std::optional<Error> in_forked_child(const DriverLayer& make_layer) {
  const LayeredMachine machine(make_layer);
  std::array<int, 2> ends = {};
  if (::pipe(ends.data()) != 0) {
    throw std::runtime_error("no pipe");
  }
  const pid_t child = ::fork();
  if (child == 0) {
    const std::optional<Error> error = error_of(machine.driver.device_get_count());
    const ssize_t written = error ? ::write(ends[1], &*error, sizeof(*error)) : 0;
    ::_exit(written < 0 ? 1 : 0);
  }
  ::close(ends[1]);
  Error error = {};
  const ssize_t size = ::read(ends[0], &error, sizeof(error));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return size == ssize_t{sizeof(error)} ? std::optional(error) : std::nullopt;
}

std::optional<Error> export_without_descriptors(const DriverLayer& make_layer) {
  LayeredMachine machine(make_layer);
  const AllocationHandle handle = machine.machine.exportable();
  const test::DescriptorLimit none_left(0);
  return error_of(machine.driver.mem_export_to_shareable_handle({.handle = handle}));
}

std::optional<Error> range_handle_without_descriptors(const DriverLayer& make_layer) {
  LayeredMachine machine(make_layer);
  const DeviceAddress address = machine.machine.mapped(1);
  const test::DescriptorLimit none_left(0);
  return error_of(machine.driver.mem_get_handle_for_address_range(
      {.address = address, .size = machine.machine.unit()}));
}

// A copy goes through a buffer. The layer is given its answer when memory is there again.
std::optional<Error> copy_without_host_memory(const DriverLayer& make_layer) {
  class Exhausting final : public DriverWrapper {
   public:
    using DriverWrapper::DriverWrapper;
    Status ctx_synchronize() override {
      const test::ExhaustedHost exhausted;
      return target().ctx_synchronize();
    }
  };
  SimMachine machine("h200");
  Exhausting exhausting(&machine.driver());
  const std::unique_ptr<Driver> layer = make_layer ? make_layer(&exhausting) : nullptr;
  const DeviceAddress address = machine.mapped(1);
  must(machine->memcpy_dtod({.destination = address, .source = address, .size = machine.unit()}));
  return error_of((layer ? *layer : exhausting).ctx_synchronize());
}

}  // namespace

const std::vector<RefusalCase>& refusal_cases() {
  static const std::vector<RefusalCase> cases = [] {
    std::vector<RefusalCase> all = {
        {Call::device_get_count, Reason::before_init, before_init},
        {Call::device_get_count, Reason::forked_child, in_forked_child},
        {Call::mem_export_to_shareable_handle, Reason::no_descriptor_left,
         export_without_descriptors},
        {Call::mem_get_handle_for_address_range, Reason::no_descriptor_left,
         range_handle_without_descriptors},
    };
    if (test::ExhaustedHost::is_possible) {
      all.push_back({Call::ctx_synchronize, Reason::host_exhausted, copy_without_host_memory});
    }
    return all;
  }();
  return cases;
}

}  // namespace tessera::sim
