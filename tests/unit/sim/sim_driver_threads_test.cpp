// Many threads use one driver. Bounded, and the end is the same whatever the order: all is given
// back. Data races are for the thread sanitizer to find.
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "conformance/every_call.h"
#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

constexpr int rounds = 60;

// One thread's part. Throws what fails.
void use_virtual_memory(SimMachine& machine, std::uint8_t mark) {
  must(machine->ctx_set_current(machine.primary()));
  for (int round = 0; round < rounds; ++round) {
    const DeviceAddress range = machine.reserve(4);
    const AllocationHandle handle = machine.create(2);
    machine.map(range, 2, handle);
    machine.map(range + machine.unit() * 2, 2, handle);
    must(machine.allow(range, 4));
    must(machine.put(range + 1_B, mark));
    if (must(machine.get(range + machine.unit() * 2 + 1_B)) != mark) {
      throw std::runtime_error("another thread's byte");
    }
    if (must(machine->mem_retain_allocation_handle(range)) != handle) {
      throw std::runtime_error("another thread's handle");
    }
    must(machine->mem_release(handle));
    must(machine->mem_release(handle));
    must(machine.unmap(range, 4));
    must(machine->mem_address_free({.address = range, .size = machine.unit() * 4}));
  }
  must(machine->ctx_set_current({}));
}

void use_contexts(SimMachine& machine) {
  for (int round = 0; round < rounds; ++round) {
    const ContextHandle context = must(machine->ctx_create({.device = device_0}));
    const DeviceAddress memory = must(machine->mem_alloc(4_KiB));
    const StreamHandle stream = must(machine->stream_create(StreamFlags::non_blocking));
    const EventHandle event = must(machine->event_create(EventFlags::none));
    must(machine.launch_write(memory, 1, 10'000, stream));
    must(machine->event_record({.event = event, .stream = stream}));
    must(machine->event_synchronize(event));
    if (must(machine.get(memory)) != 1) {
      throw std::runtime_error("the kernel's byte is not there");
    }
    if (must(machine->ctx_get_current()) != context) {
      throw std::runtime_error("another thread's context");
    }
    must(machine->ctx_destroy(context));
  }
}

void use_sharing(SimMachine& machine) {
  for (int round = 0; round < rounds; ++round) {
    const AllocationHandle handle =
        machine.create(1, {.requested_handle_types = HandleTypes::posix_file_descriptor});
    const ShareableHandle exported =
        must(machine->mem_export_to_shareable_handle({.handle = handle}));
    must(machine->mem_release(handle));
    const AllocationHandle imported = must(machine->mem_import_from_shareable_handle(exported));
    ::close(exported.file_descriptor);
    must(machine->mem_release(imported));
  }
}

void look(SimMachine& machine) {
  for (int round = 0; round < rounds; ++round) {
    if (const std::string fault = machine->check_invariants(); !fault.empty()) {
      throw std::runtime_error(fault);
    }
    if (machine->books().devices.at(0).free > profile_named("h200").memory_total) {
      throw std::runtime_error("more is free than there is");
    }
    machine->advance(1'000);
  }
}

TEST(SimDriverThreads, ManyUseOneDriver) {
  SimMachine machine("h200");
  const Books before = machine->books();
  const std::vector<std::function<void()>> parts = {
      [&] { use_virtual_memory(machine, 1); }, [&] { use_virtual_memory(machine, 2); },
      [&] { use_virtual_memory(machine, 3); }, [&] { use_contexts(machine); },
      [&] { use_contexts(machine); },          [&] { use_sharing(machine); },
      [&] { use_sharing(machine); },           [&] { look(machine); }};
  std::vector<std::string> failures(parts.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        parts[i]();
      } catch (const std::exception& error) {
        failures[i] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(failures, std::vector<std::string>(parts.size()));
  EXPECT_EQ(machine->books(), before);
}

TEST(SimDriverThreads, EachHasItsOwnCurrentContext) {
  SimMachine machine("h200", {.devices = 2});
  const ContextHandle second = must(machine->device_primary_ctx_retain(device_1));
  ContextHandle seen;
  std::thread([&] {
    must(machine->ctx_set_current(second));
    seen = must(machine->ctx_get_current());
  }).join();
  EXPECT_EQ(seen, second);
  EXPECT_EQ(must(machine->ctx_get_current()), machine.primary());
}

// --- Forked children ---

TEST(SimDriverFork, AChildHasNoDriver) {
  SimMachine machine("h200");
  const DeviceAddress range = machine.mapped(1);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (const auto& entry : conformance::every_call()) {
      const bool is_version = entry.call == Call::driver_get_version;
      if (entry.make(machine.driver()) != ErrorCode::not_initialized && !is_version) {
        std::fprintf(stderr, "%s\n", std::string(method_name(entry.call)).c_str());
        ::_exit(1);
      }
    }
    const Status started = machine->init(0);
    const bool is_refused = !started && started.error().code == ErrorCode::not_initialized &&
                            started.error().reason == Reason::forked_child;
    // A driver of its own is a new one.
    SimMachine own("h200");
    ::_exit(is_refused && own.put(own.mapped(1), 1) ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  // The parent's goes on.
  EXPECT_THAT(machine.put(range, 1), is_ok());
}

TEST(SimDriverFork, NothingAnswersBeforeInit) {
  SimDriver driver(profile_named("h200"));
  for (const auto& entry : conformance::every_call()) {
    if (entry.call == Call::driver_get_version) {
      EXPECT_EQ(entry.make(driver), std::nullopt);
    } else {
      EXPECT_EQ(entry.make(driver), ErrorCode::not_initialized) << method_name(entry.call);
    }
  }
}

}  // namespace
}  // namespace tessera::sim
