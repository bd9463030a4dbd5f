// Operations: one struct for each thing a scenario can do, in the terms it is written in.
//
// Built with designated initializers: `Reserve{.result = r(0), .size = granules(8)}`.
// Fields that may be left out are: operands not given, std::nullopt, Pointer::given.
// docs/scenarios.md says what each does; schema.h in the sources, how each is spelled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tessera/requests.h"
#include "tessera/scenario/operand.h"
#include "tessera/scenario/order_operations.h"

namespace tessera::scenario {

// A pointer argument of the C call: `out=null` passes none.
enum class Pointer : bool { given = false, null = true };

// The properties of memory. What is left out is pinned memory on device 0, and zero.
struct Properties {
  std::optional<AllocationType> type = {};
  std::optional<LocationType> location = {};
  std::optional<std::int32_t> device = {};
  std::optional<HandleTypes> handle_types = {};
  std::optional<std::uint8_t> gpu_direct_rdma = {};
  std::optional<std::uint8_t> compression = {};
  std::optional<std::uint16_t> usage = {};

  friend bool operator==(const Properties&, const Properties&) = default;
};

// TESSERA_SCENARIO_EQUAL: operations compare field by field.
#define TESSERA_SCENARIO_EQUAL(Type) friend bool operator==(const Type&, const Type&) = default

// --- Address space and physical memory ---

struct Granularity {
  Properties properties = {};
  std::optional<GranularityOption> option = {};
  Pointer properties_pointer = Pointer::given;
  Pointer out = Pointer::given;
  TESSERA_SCENARIO_EQUAL(Granularity);
};
struct Reserve {
  Symbol result;
  Operand size;
  Operand alignment = {};
  Operand hint = {};
  std::optional<std::uint64_t> flags = {};
  Pointer out = Pointer::given;
  TESSERA_SCENARIO_EQUAL(Reserve);
};
struct AddressFree {
  Operand address;
  Operand size;
  TESSERA_SCENARIO_EQUAL(AddressFree);
};
struct Create {
  Symbol result;
  Operand size;
  Properties properties = {};
  std::optional<std::uint8_t> reserved = {};
  std::optional<std::uint8_t> win32_metadata = {};
  std::optional<std::uint64_t> flags = {};
  Pointer properties_pointer = Pointer::given;
  Pointer out = Pointer::given;
  TESSERA_SCENARIO_EQUAL(Create);
};
struct Release {
  Operand handle;
  TESSERA_SCENARIO_EQUAL(Release);
};
struct Props {
  Operand handle;
  Pointer out = Pointer::given;
  TESSERA_SCENARIO_EQUAL(Props);
};
struct Map {
  Operand address;
  Operand size;
  Operand handle;
  Operand offset = {};
  std::optional<std::uint64_t> flags = {};
  TESSERA_SCENARIO_EQUAL(Map);
};
struct Unmap {
  Operand address;
  Operand size;
  TESSERA_SCENARIO_EQUAL(Unmap);
};
// Without `descriptors`: one, of location, device and protection (device 0, read and write).
struct SetAccess {
  Operand address;
  Operand size;
  std::optional<LocationType> location = {};
  std::optional<std::int32_t> device = {};
  std::optional<AccessFlags> protection = {};
  std::vector<AccessDescriptor> descriptors = {};
  std::optional<std::uint32_t> count = {};  // how many descriptors the call is told of
  TESSERA_SCENARIO_EQUAL(SetAccess);
};
struct GetAccess {
  Operand address;
  std::optional<LocationType> location = {};
  std::optional<std::int32_t> device = {};
  Pointer out = Pointer::given;
  Pointer location_pointer = Pointer::given;
  TESSERA_SCENARIO_EQUAL(GetAccess);
};
struct Retain {
  Symbol result;
  Operand address;
  TESSERA_SCENARIO_EQUAL(Retain);
};
struct Same {
  Operand left;
  Operand right;
  TESSERA_SCENARIO_EQUAL(Same);
};

// --- Sharing ---

struct Export {
  Symbol result;
  Operand handle;
  std::optional<HandleTypes> type = {};
  std::optional<std::uint64_t> flags = {};
  Pointer out = Pointer::given;
  TESSERA_SCENARIO_EQUAL(Export);
};
struct Import {
  Symbol result;
  Operand descriptor;
  std::optional<HandleTypes> type = {};
  TESSERA_SCENARIO_EQUAL(Import);
};
struct Close {
  Operand descriptor;
  TESSERA_SCENARIO_EQUAL(Close);
};
enum class DescriptorKind : std::uint8_t { dev_null, memfd };
struct OpenDescriptor {
  Symbol result;
  DescriptorKind kind;
  TESSERA_SCENARIO_EQUAL(OpenDescriptor);
};
struct IpcChild {
  Operand descriptor;
  Operand size;
  std::uint8_t value;
  TESSERA_SCENARIO_EQUAL(IpcChild);
};

// --- Data ---

struct Memset {
  Operand address;
  Operand size;
  std::optional<std::uint8_t> value = {};
  Operand stream = {};  // given: only queued there; else done in the default stream, and waited for
  TESSERA_SCENARIO_EQUAL(Memset);
};
struct Htod {
  Operand address;
  Operand size;
  std::optional<std::uint8_t> value = {};
  TESSERA_SCENARIO_EQUAL(Htod);
};
struct Expect {
  Operand address;
  Operand size;
  std::optional<std::uint8_t> value = {};
  TESSERA_SCENARIO_EQUAL(Expect);
};
struct Dtod {
  Operand destination;
  Operand source;
  Operand size;
  Operand stream = {};  // as of Memset
  TESSERA_SCENARIO_EQUAL(Dtod);
};
struct KernelRead {
  Operand address;
  TESSERA_SCENARIO_EQUAL(KernelRead);
};
struct KernelWrite {
  Operand address;
  TESSERA_SCENARIO_EQUAL(KernelWrite);
};
struct HostRead {
  Operand address;
  TESSERA_SCENARIO_EQUAL(HostRead);
};
struct HostWrite {
  Operand address;
  TESSERA_SCENARIO_EQUAL(HostWrite);
};

// --- Other allocation ---

struct MemInfo {
  std::optional<std::uint8_t> total = {};
  TESSERA_SCENARIO_EQUAL(MemInfo);
};
// From here on, used_delta counts from now.
struct MemInfoStart {
  TESSERA_SCENARIO_EQUAL(MemInfoStart);
};
struct Alloc {
  Symbol result;
  Operand size;
  TESSERA_SCENARIO_EQUAL(Alloc);
};
struct Free {
  Operand address;
  TESSERA_SCENARIO_EQUAL(Free);
};
struct Managed {
  Symbol result;
  Operand size;
  TESSERA_SCENARIO_EQUAL(Managed);
};
struct AllocAsync {
  Symbol result;
  Operand size;
  Operand stream = {};
  TESSERA_SCENARIO_EQUAL(AllocAsync);
};
struct HostAlloc {
  Symbol result;
  Operand size;
  TESSERA_SCENARIO_EQUAL(HostAlloc);
};

// --- Queries ---

struct Attribute {
  Operand address;
  PointerAttribute which;
  TESSERA_SCENARIO_EQUAL(Attribute);
};
struct SameBlock {
  Operand left;
  Operand right;
  std::optional<PointerAttribute> which = {};
  TESSERA_SCENARIO_EQUAL(SameBlock);
};
struct AddressRangeOf {
  Operand address;
  TESSERA_SCENARIO_EQUAL(AddressRangeOf);
};
struct DmaBuf {
  Operand address;
  Operand size;
  TESSERA_SCENARIO_EQUAL(DmaBuf);
};

// --- Contexts, peers and the system ---

struct ContextRetain {
  std::optional<std::int32_t> device = {};
  TESSERA_SCENARIO_EQUAL(ContextRetain);
};
struct ContextRelease {
  std::optional<std::int32_t> device = {};
  TESSERA_SCENARIO_EQUAL(ContextRelease);
};
struct ContextReset {
  std::optional<std::int32_t> device = {};
  TESSERA_SCENARIO_EQUAL(ContextReset);
};
struct ContextNone {
  TESSERA_SCENARIO_EQUAL(ContextNone);
};
struct ContextCreate {
  Symbol result;
  std::optional<std::int32_t> device = {};
  TESSERA_SCENARIO_EQUAL(ContextCreate);
};
struct ContextSet {
  Operand context;
  TESSERA_SCENARIO_EQUAL(ContextSet);
};
struct ContextDestroy {
  Operand context;
  TESSERA_SCENARIO_EQUAL(ContextDestroy);
};
struct ContextSync {
  TESSERA_SCENARIO_EQUAL(ContextSync);
};
struct PeerCan {
  std::int32_t device;
  std::int32_t peer;
  TESSERA_SCENARIO_EQUAL(PeerCan);
};
struct PeerEnable {
  std::int32_t device;
  TESSERA_SCENARIO_EQUAL(PeerEnable);
};
struct Version {
  TESSERA_SCENARIO_EQUAL(Version);
};
struct DeviceCount {
  TESSERA_SCENARIO_EQUAL(DeviceCount);
};
struct DeviceName {
  std::optional<std::int32_t> device = {};
  TESSERA_SCENARIO_EQUAL(DeviceName);
};
struct DeviceMemory {
  std::optional<std::int32_t> device = {};
  TESSERA_SCENARIO_EQUAL(DeviceMemory);
};
struct DeviceAttribute {
  std::int32_t attribute;
  std::optional<std::int32_t> device = {};
  TESSERA_SCENARIO_EQUAL(DeviceAttribute);
};

#undef TESSERA_SCENARIO_EQUAL

using Operation =
    std::variant<Granularity, Reserve, AddressFree, Create, Release, Props, Map, Unmap, SetAccess,
                 GetAccess, Retain, Same, Export, Import, Close, OpenDescriptor, IpcChild, Memset,
                 Htod, Expect, Dtod, KernelRead, KernelWrite, HostRead, HostWrite, MemInfo,
                 MemInfoStart, Alloc, Free, Managed, AllocAsync, HostAlloc, Attribute, SameBlock,
                 AddressRangeOf, DmaBuf, ContextRetain, ContextRelease, ContextReset, ContextNone,
                 ContextCreate, ContextSet, ContextDestroy, ContextSync, PeerCan, PeerEnable,
                 Version, DeviceCount, DeviceName, DeviceMemory, DeviceAttribute, StreamCreate,
                 StreamDestroy, StreamSync, StreamWait, EventCreate, EventRecord, EventQuery,
                 EventSync, EventDestroy, Launch, FreeAsync, AllocPitch, LimitSet, LimitGet,
                 MulticastCreate, MulticastAdd, MulticastBind, MulticastUnbind>;

}  // namespace tessera::scenario
