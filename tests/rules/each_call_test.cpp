// Rules about many calls: each of these calls is looked at by itself, before it is made.
#include <array>

#include "rule_machine.h"

namespace tessera::rules {
namespace {

struct Looked {
  const char* name;
  Status (*act)(RuleMachine& m, DeviceAddress address, Bytes size, StreamHandle stream);
};

std::vector<std::byte> bytes_of(Bytes size) {
  return std::vector<std::byte>(static_cast<std::size_t>(size.value()));
}
template <class T>
Status status_of(const Result<T>& result) {
  return result ? Status() : Status(result.error());
}

// What touches a range: the other side of a copy is memory of its own.
const Looked touching[] = {
    {"Htod",
     [](RuleMachine& m, DeviceAddress address, Bytes size, StreamHandle) {
       return m->memcpy_htod({.destination = address, .source = bytes_of(size)});
     }},
    {"Dtoh",
     [](RuleMachine& m, DeviceAddress address, Bytes size, StreamHandle) {
       std::vector<std::byte> bytes = bytes_of(size);
       return m->memcpy_dtoh({.destination = bytes, .source = address});
     }},
    {"DtodTo",
     [](RuleMachine& m, DeviceAddress address, Bytes size, StreamHandle) {
       return m->memcpy_dtod(
           {.destination = address, .source = must(m->mem_alloc(size)), .size = size});
     }},
    {"DtodFrom",
     [](RuleMachine& m, DeviceAddress address, Bytes size, StreamHandle) {
       return m->memcpy_dtod(
           {.destination = must(m->mem_alloc(size)), .source = address, .size = size});
     }},
    {"Memset",
     [](RuleMachine& m, DeviceAddress address, Bytes size, StreamHandle) {
       return m->memset_d8({.destination = address, .value = 1, .size = size});
     }},
    {"HtodAsync",
     [](RuleMachine& m, DeviceAddress address, Bytes size, StreamHandle stream) {
       return m->memcpy_htod_async(
           {.copy = {.destination = address, .source = bytes_of(size)}, .stream = stream});
     }},
    {"DtohAsync",
     [](RuleMachine& m, DeviceAddress address, Bytes size, StreamHandle stream) {
       static std::array<std::byte, 16> bytes;
       return m->memcpy_dtoh_async(
           {.copy = {.destination = std::span(bytes).first(size.value()), .source = address},
            .stream = stream});
     }},
    {"DtodAsync",
     [](RuleMachine& m, DeviceAddress address, Bytes size, StreamHandle stream) {
       return m->memcpy_dtod_async(
           {.copy = {.destination = must(m->mem_alloc(size)), .source = address, .size = size},
            .stream = stream});
     }},
    {"MemsetAsync",
     [](RuleMachine& m, DeviceAddress address, Bytes size, StreamHandle stream) {
       return m->memset_d8_async(
           {.set = {.destination = address, .value = 1, .size = size}, .stream = stream});
     }},
};

class EachTouch : public testing::TestWithParam<Looked> {};

// Side by side, both mapped: the driver does as it is told, and nothing but the rule says so.
TEST_P(EachTouch, IsLookedAtWhereReservationsMeet) {
  RuleMachine m(h200(), ValidationMode::report);
  const DeviceAddress first = m.neighbours();
  for (const DeviceAddress address : {first, first + m.units(1)}) {
    m.fill(address, 1);
    must(m.allow(address, 1));
  }
  const StreamHandle stream = must(m->stream_create(StreamFlags::non_blocking));
  must(GetParam().act(m, first + (m.units(1) - 4_B), 8_B, stream));
  ASSERT_EQ(m->findings().size(), 1U);
  EXPECT_EQ(m->findings().front().rule, RuleId::copy_crosses_reservations);
}

// In refuse mode the driver is not asked.
TEST_P(EachTouch, IsNotMadeWhereNothingIsMapped) {
  RuleMachine m(h200(), ValidationMode::refuse);
  const StreamHandle stream = must(m->stream_create(StreamFlags::non_blocking));
  const Status status = GetParam().act(m, m.reserve(1), 8_B, stream);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().origin, Origin::validation);
  EXPECT_EQ(status.error().rule, RuleId::copy_not_mapped);
}

INSTANTIATE_TEST_SUITE_P(Call, EachTouch, testing::ValuesIn(touching),
                         [](const testing::TestParamInfo<Looked>& of) {
                           return std::string(of.param.name);
                         });

struct Asked {
  const char* name;
  Status (*act)(RuleMachine& m, DeviceOrdinal device);
};
const Asked asking[] = {
    {"GetName",
     [](RuleMachine& m, DeviceOrdinal device) { return status_of(m->device_get_name(device)); }},
    {"TotalMem",
     [](RuleMachine& m, DeviceOrdinal device) { return status_of(m->device_total_mem(device)); }},
    {"GetAttribute",
     [](RuleMachine& m, DeviceOrdinal device) {
       return status_of(m->device_get_attribute({.attribute = 1, .device = device}));
     }},
    {"CanAccessPeer",
     [](RuleMachine& m, DeviceOrdinal device) {
       return status_of(m->device_can_access_peer({.device = device, .peer = device_0}));
     }},
    {"CanBeAccessed",
     [](RuleMachine& m, DeviceOrdinal device) {
       return status_of(m->device_can_access_peer({.device = device_0, .peer = device}));
     }},
    {"Retain",
     [](RuleMachine& m, DeviceOrdinal device) {
       return status_of(m->device_primary_ctx_retain(device));
     }},
    {"Release",
     [](RuleMachine& m, DeviceOrdinal device) { return m->device_primary_ctx_release(device); }},
    {"Reset",
     [](RuleMachine& m, DeviceOrdinal device) { return m->device_primary_ctx_reset(device); }},
    {"Create", [](RuleMachine& m,
                  DeviceOrdinal device) { return status_of(m->ctx_create({.device = device})); }},
};

class EachDevice : public testing::TestWithParam<Asked> {};

TEST_P(EachDevice, IsOneThatThereIs) {
  for (const std::int32_t device : {2, -1}) {
    RuleMachine m(h200(), ValidationMode::refuse);
    const Status status = GetParam().act(m, DeviceOrdinal(device));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().origin, Origin::validation);
    EXPECT_EQ(status.error().rule, RuleId::device_unknown);
  }
}

INSTANTIATE_TEST_SUITE_P(Call, EachDevice, testing::ValuesIn(asking),
                         [](const testing::TestParamInfo<Asked>& of) {
                           return std::string(of.param.name);
                         });

}  // namespace
}  // namespace tessera::rules
