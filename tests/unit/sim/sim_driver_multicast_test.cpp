// Multicast: simulated only, so it is tested only here.
#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

class SimDriverMulticast : public testing::Test {
 protected:
  SimDriverMulticast() : machine_("h200", {.devices = 2}) {
    second_ = must(machine_->device_primary_ctx_retain(device_1));
  }

  AllocationHandle create(std::uint64_t units, std::uint32_t devices = 2) {
    return must(
        machine_->multicast_create({.device_count = devices, .size = machine_.unit() * units}));
  }
  AllocationHandle create_full(std::uint64_t units) {
    const AllocationHandle multicast = create(units);
    must(add(multicast, device_0));
    must(add(multicast, device_1));
    return multicast;
  }
  Status add(AllocationHandle multicast, DeviceOrdinal device) {
    return machine_->multicast_add_device({.multicast = multicast, .device = device});
  }
  Status bind(AllocationHandle multicast, AllocationHandle memory, std::uint64_t units,
              std::uint64_t offset = 0, std::uint64_t memory_offset = 0) {
    return machine_->multicast_bind_mem({.multicast = multicast,
                                         .multicast_offset = machine_.unit() * offset,
                                         .memory = memory,
                                         .memory_offset = machine_.unit() * memory_offset,
                                         .size = machine_.unit() * units});
  }
  Status unbind(AllocationHandle multicast, DeviceOrdinal device, std::uint64_t units,
                std::uint64_t offset = 0) {
    return machine_->multicast_unbind({.multicast = multicast,
                                       .device = device,
                                       .multicast_offset = machine_.unit() * offset,
                                       .size = machine_.unit() * units});
  }
  AllocationHandle memory_on(DeviceOrdinal device, std::uint64_t units) {
    return machine_.create(units, {.location = on_device(device)});
  }
  DeviceAddress map_for_all(AllocationHandle handle, std::uint64_t units) {
    const DeviceAddress address = machine_.reserve(units);
    machine_.map(address, units, handle);
    must(machine_.allow(address, units, device_0));
    must(machine_.allow(address, units, device_1));
    return address;
  }

  SimMachine machine_;
  ContextHandle second_;
};

TEST_F(SimDriverMulticast, AWriteReachesAllDevices) {
  const AllocationHandle multicast = create_full(2);
  const AllocationHandle first = memory_on(device_0, 2);
  const AllocationHandle second = memory_on(device_1, 2);
  EXPECT_THAT(bind(multicast, first, 2), is_ok());
  EXPECT_THAT(bind(multicast, second, 2), is_ok());
  const DeviceAddress all = map_for_all(multicast, 2);
  const DeviceAddress of_first = map_for_all(first, 2);
  const DeviceAddress of_second = map_for_all(second, 2);
  EXPECT_THAT(machine_.put(all + 5_B, 77), is_ok());
  EXPECT_THAT(machine_.get(of_first + 5_B), is_ok_and_holds(77));
  EXPECT_THAT(machine_.get(of_second + 5_B), is_ok_and_holds(77));
  // A fill, and a kernel on the other device.
  EXPECT_THAT(machine_->memset_d8({.destination = all + machine_.unit(), .value = 3, .size = 9_B}),
              is_ok());
  must(machine_->ctx_synchronize());
  must(machine_->ctx_set_current(second_));
  EXPECT_THAT(machine_.launch_write(all + machine_.unit(), 4), is_ok());
  must(machine_->ctx_synchronize());
  for (const DeviceAddress memory : {of_first, of_second}) {
    EXPECT_THAT(machine_.get(memory + machine_.unit()), is_ok_and_holds(4));
    EXPECT_THAT(machine_.get(memory + machine_.unit() + 8_B), is_ok_and_holds(3));
  }
}

// What comes after the copies of the object goes on where they end.
TEST_F(SimDriverMulticast, AWriteGoesOnBehindTheObject) {
  const AllocationHandle multicast = create_full(1);
  const AllocationHandle first = memory_on(device_0, 1);
  must(bind(multicast, first, 1));
  must(bind(multicast, memory_on(device_1, 1), 1));
  const DeviceAddress range = machine_.reserve(2);
  machine_.map(range, 1, multicast);
  machine_.fill(range + machine_.unit(), 1);
  must(machine_.allow(range, 2));
  const DeviceAddress source = must(machine_->mem_alloc(4_MiB));
  must(machine_->memset_d8({.destination = source, .value = 1, .size = 2_MiB}));
  must(machine_->memset_d8({.destination = source + 2_MiB, .value = 2, .size = 2_MiB}));
  EXPECT_THAT(machine_->memcpy_dtod({.destination = range, .source = source, .size = 4_MiB}),
              is_ok());
  must(machine_->ctx_synchronize());
  EXPECT_THAT(machine_.get(range + machine_.unit()), is_ok_and_holds(2));
  EXPECT_THAT(machine_.get(range + machine_.unit() * 2 - 1_B), is_ok_and_holds(2));
  EXPECT_THAT(machine_.get(map_for_all(first, 1) + machine_.unit() - 1_B), is_ok_and_holds(1));
}

TEST_F(SimDriverMulticast, BindsPartsAtOffsets) {
  const AllocationHandle multicast = create_full(4);
  const AllocationHandle first = memory_on(device_0, 4);
  const AllocationHandle second = memory_on(device_1, 2);
  EXPECT_THAT(bind(multicast, first, 2, 1, 2), is_ok());
  EXPECT_THAT(bind(multicast, second, 2, 1), is_ok());
  const DeviceAddress all = map_for_all(multicast, 4);
  const DeviceAddress of_first = map_for_all(first, 4);
  const DeviceAddress of_second = map_for_all(second, 2);
  EXPECT_THAT(machine_.put(all + machine_.unit() + 1_B, 8), is_ok());
  EXPECT_THAT(machine_.get(of_first + machine_.unit() * 2 + 1_B), is_ok_and_holds(8));
  EXPECT_THAT(machine_.get(of_second + 1_B), is_ok_and_holds(8));
  // Nothing is bound at the begin.
  EXPECT_THAT(machine_.put(all, 1), fails_with(ErrorCode::invalid_value));
}

TEST_F(SimDriverMulticast, BindsByAddress) {
  const AllocationHandle multicast = create_full(1);
  const AllocationHandle first = memory_on(device_0, 2);
  const DeviceAddress of_first = map_for_all(first, 2);
  const DeviceAddress of_second = map_for_all(memory_on(device_1, 1), 1);
  const auto bind_at = [&](DeviceAddress address) {
    return machine_->multicast_bind_addr(
        {.multicast = multicast, .address = address, .size = machine_.unit()});
  };
  EXPECT_THAT(bind_at(of_first + machine_.unit()), is_ok());
  EXPECT_THAT(bind_at(of_second), is_ok());
  EXPECT_THAT(bind_at(of_second), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(bind_at(machine_.reserve(1)), fails_with(ErrorCode::invalid_value));
  const DeviceAddress all = map_for_all(multicast, 1);
  EXPECT_THAT(machine_.put(all, 6), is_ok());
  EXPECT_THAT(machine_.get(of_first + machine_.unit()), is_ok_and_holds(6));
  EXPECT_THAT(machine_.get(of_second), is_ok_and_holds(6));
}

TEST_F(SimDriverMulticast, ABindingKeepsTheMemory) {
  const Bytes before = machine_.free_memory();
  const AllocationHandle multicast = create_full(1);
  EXPECT_EQ(machine_.free_memory(), before) << "the object itself takes nothing";
  const AllocationHandle first = memory_on(device_0, 1);
  must(bind(multicast, first, 1));
  must(machine_->mem_release(first));
  EXPECT_EQ(machine_.free_memory(), before - machine_.unit());
  EXPECT_EQ(machine_->check_invariants(), "");
  EXPECT_THAT(unbind(multicast, device_0, 1), is_ok());
  EXPECT_EQ(machine_.free_memory(), before);
  EXPECT_THAT(unbind(multicast, device_0, 1), fails_with(ErrorCode::invalid_value));
}

TEST_F(SimDriverMulticast, ReleasingTheObjectUnbinds) {
  const Bytes before = machine_.free_memory();
  const AllocationHandle multicast = create_full(1);
  const AllocationHandle first = memory_on(device_0, 1);
  must(bind(multicast, first, 1));
  must(machine_->mem_release(first));
  const DeviceAddress all = map_for_all(multicast, 1);
  EXPECT_THAT(machine_->mem_release(multicast), is_ok());
  EXPECT_EQ(machine_.free_memory(), before - machine_.unit()) << "still mapped";
  EXPECT_THAT(machine_.unmap(all, 1), is_ok());
  EXPECT_EQ(machine_.free_memory(), before);
  EXPECT_EQ(machine_->books().handles, 0U);
  EXPECT_EQ(machine_->check_invariants(), "");
}

TEST_F(SimDriverMulticast, APlainReadIsRefused) {
  const AllocationHandle multicast = create_full(1);
  must(bind(multicast, memory_on(device_0, 1), 1));
  must(bind(multicast, memory_on(device_1, 1), 1));
  const DeviceAddress all = map_for_all(multicast, 1);
  const auto read = machine_.get(all);
  ASSERT_THAT(read, fails_with(ErrorCode::invalid_value));
  EXPECT_NE(explain(read.error()), "");
}

TEST_F(SimDriverMulticast, CreateRefusesBadRequests) {
  const auto refused = [&](const MulticastProperties& properties) {
    const Books before = machine_->books();
    EXPECT_THAT(machine_->multicast_create(properties), fails_with(ErrorCode::invalid_value));
    EXPECT_EQ(machine_->books(), before);
  };
  refused({.device_count = 0, .size = machine_.unit()});
  refused({.device_count = 3, .size = machine_.unit()});
  refused({.device_count = 2, .size = Bytes(0)});
  refused({.device_count = 2, .size = machine_.unit() + 1_B});
  refused({.device_count = 2, .size = Bytes(~std::uint64_t{0})});
  refused({.device_count = 2, .size = machine_.unit(), .flags = 1});
  refused({.device_count = 2, .size = machine_.unit(), .handle_types = HandleTypes::win32});
}

TEST_F(SimDriverMulticast, GranularityIsTheDevices) {
  const MulticastProperties properties = {.device_count = 2, .size = machine_.unit()};
  for (const auto option : {GranularityOption::minimum, GranularityOption::recommended}) {
    EXPECT_THAT(machine_->multicast_get_granularity({.properties = properties, .option = option}),
                is_ok_and_holds(machine_.unit()));
  }
  EXPECT_THAT(machine_->multicast_get_granularity(
                  {.properties = properties, .option = static_cast<GranularityOption>(9)}),
              fails_with(ErrorCode::invalid_value));
}

TEST_F(SimDriverMulticast, DevicesAreAddedOnce) {
  const AllocationHandle multicast = create(1, 1);
  EXPECT_THAT(add(multicast, DeviceOrdinal(7)), fails_with(ErrorCode::invalid_device));
  EXPECT_THAT(add(machine_.create(1), device_0), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(add({}, device_0), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(add(multicast, device_0), is_ok());
  EXPECT_THAT(add(multicast, device_0), fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(add(multicast, device_1), fails_with(ErrorCode::invalid_value)) << "it is full";
}

TEST_F(SimDriverMulticast, BindRefusesBadRequests) {
  const AllocationHandle multicast = create(2);
  const AllocationHandle memory = memory_on(device_0, 2);
  must(add(multicast, device_0));
  EXPECT_THAT(bind(multicast, memory, 2), fails_with(ErrorCode::illegal_state));
  must(add(multicast, device_1));
  const Books before = machine_->books();
  const auto is_refused = fails_with(ErrorCode::invalid_value);
  EXPECT_THAT(bind(multicast, memory, 0), is_refused);
  EXPECT_THAT(bind(multicast, memory, 3), is_refused);
  EXPECT_THAT(bind(multicast, memory, 2, 1), is_refused);
  EXPECT_THAT(bind(multicast, memory, 2, 0, 1), is_refused);
  EXPECT_THAT(bind(multicast, multicast, 1), is_refused);
  EXPECT_THAT(bind(multicast, {}, 1), is_refused);
  EXPECT_THAT(bind(memory, memory, 1), is_refused);
  const auto bind_bytes = [&](MulticastBindMemRequest request) {
    request.multicast = multicast;
    request.memory = memory;
    return machine_->multicast_bind_mem(request);
  };
  EXPECT_THAT(bind_bytes({.multicast = {}, .memory = {}, .size = 1_B}), is_refused);
  EXPECT_THAT(bind_bytes({.multicast = {},
                          .multicast_offset = last_unit,
                          .memory = {},
                          .size = machine_.unit() * 2}),
              is_refused);
  EXPECT_THAT(bind_bytes({.multicast = {}, .memory = {}, .size = machine_.unit(), .flags = 1}),
              is_refused);
  EXPECT_EQ(machine_->books(), before);
  EXPECT_THAT(bind(multicast, memory, 1), is_ok());
  EXPECT_THAT(bind(multicast, memory, 2), is_refused) << "bound there already";
  EXPECT_THAT(unbind(multicast, device_0, 2), is_refused);
  EXPECT_THAT(unbind(multicast, device_1, 1), is_refused);
  EXPECT_THAT(unbind(multicast, DeviceOrdinal(9), 1), fails_with(ErrorCode::invalid_device));
  EXPECT_THAT(unbind(memory, device_0, 1), is_refused);
}

TEST_F(SimDriverMulticast, BindsOnlyDevicesThatWereAdded) {
  const AllocationHandle multicast = create(1, 1);
  must(add(multicast, device_0));
  EXPECT_THAT(bind(multicast, memory_on(device_1, 1), 1), fails_with(ErrorCode::invalid_device));
  const AllocationHandle on_host =
      machine_.create(1, {.location = {.type = LocationType::host_numa, .id = 0}});
  EXPECT_THAT(bind(multicast, on_host, 1), fails_with(ErrorCode::invalid_device));
}

TEST_F(SimDriverMulticast, IsNoOrdinaryMemory) {
  const AllocationHandle multicast = create_full(1);
  EXPECT_THAT(machine_->mem_get_allocation_properties_from_handle({.handle = multicast}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(machine_->mem_export_to_shareable_handle({.handle = multicast}),
              fails_with(ErrorCode::not_supported));
}

TEST(SimDriverMulticastSupport, IsRefusedWhereThereIsNone) {
  SimMachine machine("v100_cuda102");
  const MulticastProperties properties = {.device_count = 1, .size = machine.unit()};
  EXPECT_THAT(machine->multicast_create(properties), fails_with(ErrorCode::not_supported));
  EXPECT_THAT(machine->multicast_get_granularity({.properties = properties}),
              fails_with(ErrorCode::not_supported));
}

TEST_F(SimDriverMulticast, MayBeForDescriptorsButNotForOtherHandles) {
  const auto create_for = [&](HandleTypes types) {
    return machine_->multicast_create(
        {.device_count = 2, .size = machine_.unit(), .handle_types = types});
  };
  EXPECT_THAT(create_for(HandleTypes::posix_file_descriptor), is_ok());
  EXPECT_THAT(create_for(HandleTypes::win32), fails_with(ErrorCode::invalid_value));
}

TEST_F(SimDriverMulticast, HasNoMemoryToDecompressInto) {
  const AllocationHandle memory = machine_.create(1, {.usage = usage_hw_decompress});
  const AllocationHandle multicast = create_full(1);
  must(bind(multicast, memory, 1));
  const auto attribute = [&](AllocationHandle handle) {
    return must(
        machine_->pointer_get_attribute({.attribute = PointerAttribute::is_hw_decompress_capable,
                                         .address = map_for_all(handle, 1)}));
  };
  EXPECT_EQ(attribute(memory), 1U);
  EXPECT_EQ(attribute(multicast), 0U);
}

}  // namespace
}  // namespace tessera::sim
