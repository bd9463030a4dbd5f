// Operations on streams, events and work in flight, limits and multicast objects. Read operations.h
// first, which includes this.
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/requests.h"
#include "tessera/scenario/operand.h"

namespace tessera::scenario {

#define TESSERA_SCENARIO_EQUAL(Type) friend bool operator==(const Type&, const Type&) = default

// Streams not given are the default stream.
struct StreamCreate {
  Symbol result;
  std::optional<std::uint32_t> flags = {};
  TESSERA_SCENARIO_EQUAL(StreamCreate);
};
struct StreamDestroy {
  Operand stream;
  TESSERA_SCENARIO_EQUAL(StreamDestroy);
};
struct StreamSync {
  Operand stream;
  TESSERA_SCENARIO_EQUAL(StreamSync);
};
struct StreamWait {
  Operand stream;
  Operand event;
  std::optional<std::uint32_t> flags = {};
  TESSERA_SCENARIO_EQUAL(StreamWait);
};
struct EventCreate {
  Symbol result;
  std::optional<std::uint32_t> flags = {};
  TESSERA_SCENARIO_EQUAL(EventCreate);
};
struct EventRecord {
  Operand event;
  Operand stream = {};
  TESSERA_SCENARIO_EQUAL(EventRecord);
};
struct EventQuery {
  Operand event;
  TESSERA_SCENARIO_EQUAL(EventQuery);
};
struct EventSync {
  Operand event;
  TESSERA_SCENARIO_EQUAL(EventSync);
};
struct EventDestroy {
  Operand event;
  TESSERA_SCENARIO_EQUAL(EventDestroy);
};
// A kernel that waits, then touches one byte. Nothing waits for it.
struct Launch {
  Operand address;
  Touch touch;
  std::optional<std::uint8_t> value = {};
  std::optional<std::uint64_t> duration_ns = {};
  Operand stream = {};
  TESSERA_SCENARIO_EQUAL(Launch);
};
struct FreeAsync {
  Operand address;
  Operand stream = {};
  TESSERA_SCENARIO_EQUAL(FreeAsync);
};
struct AllocPitch {
  Symbol result;
  Operand width;
  std::uint64_t height;
  std::uint32_t element_size;
  TESSERA_SCENARIO_EQUAL(AllocPitch);
};
struct LimitSet {
  std::uint32_t which;
  Operand value;
  TESSERA_SCENARIO_EQUAL(LimitSet);
};
struct LimitGet {
  std::uint32_t which;
  TESSERA_SCENARIO_EQUAL(LimitGet);
};
struct MulticastCreate {
  Symbol result;
  std::uint32_t devices;
  Operand size;
  TESSERA_SCENARIO_EQUAL(MulticastCreate);
};
struct MulticastAdd {
  Operand multicast;
  std::int32_t device;
  TESSERA_SCENARIO_EQUAL(MulticastAdd);
};
struct MulticastBind {
  Operand multicast;
  Operand memory;
  Operand size;
  Operand offset = {};  // in the multicast object
  TESSERA_SCENARIO_EQUAL(MulticastBind);
};
struct MulticastUnbind {
  Operand multicast;
  std::int32_t device;
  Operand size;
  Operand offset = {};
  TESSERA_SCENARIO_EQUAL(MulticastUnbind);
};

#undef TESSERA_SCENARIO_EQUAL

}  // namespace tessera::scenario
