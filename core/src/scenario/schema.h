// The one table of operations: how each is called, which fields it takes, in which order they are
// written. Reader, writer and messages all use it.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "tessera/scenario/operations.h"

namespace tessera::scenario {

enum class Role : std::uint8_t {
  positional,  // stands by its place: `release h0`
  required,    // a key that must be given: `size=`
  optional,
};

// Which kinds of symbols a result may be named by, as bits; zero for fields that are no results.
using SymbolKinds = std::uint16_t;
constexpr SymbolKinds bit(SymbolKind kind) noexcept {
  return static_cast<SymbolKinds>(1U << static_cast<unsigned>(kind));
}

// `get` gives the field of an operation.
template <class Get>
struct Field {
  std::string_view name;
  Role role;
  SymbolKinds kinds;
  Get get;
};

template <class Member>
constexpr auto member_getter(Member member) {
  return [member](auto& operation) -> auto& { return operation.*member; };
}
template <class Outer, class Inner>
constexpr auto nested_getter(Outer outer, Inner inner) {
  return [ outer, inner ](auto& operation) -> auto& { return (operation.*outer).*inner; };
}
template <class Get>
constexpr Field<Get> make_field(std::string_view name, Role role, SymbolKinds kinds, Get get) {
  return {name, role, kinds, get};
}

template <class Member>
constexpr auto place(std::string_view name, Member member) {
  return make_field(name, Role::positional, 0, member_getter(member));
}
template <class Member>
constexpr auto result(std::string_view name, Member member, SymbolKinds kinds) {
  return make_field(name, Role::positional, kinds, member_getter(member));
}
template <class Member>
constexpr auto needed(std::string_view name, Member member) {
  return make_field(name, Role::required, 0, member_getter(member));
}
template <class Member>
constexpr auto key(std::string_view name, Member member) {
  return make_field(name, Role::optional, 0, member_getter(member));
}
template <class Outer, class Inner>
constexpr auto key(std::string_view name, Outer outer, Inner inner) {
  return make_field(name, Role::optional, 0, nested_getter(outer, inner));
}

// The keys that `granularity` and `create` share.
template <class Outer>
constexpr auto property_keys(Outer outer) {
  return std::tuple(
      key("type", outer, &Properties::type), key("loc", outer, &Properties::location),
      key("dev", outer, &Properties::device), key("handle", outer, &Properties::handle_types),
      key("rdma", outer, &Properties::gpu_direct_rdma),
      key("comp", outer, &Properties::compression), key("usage", outer, &Properties::usage));
}

template <class Op>
struct Schema;

// SCHEMA(type, name, fields...)
#define TESSERA_SCHEMA(Type, text, ...)                     \
  template <>                                               \
  struct Schema<Type> {                                     \
    static constexpr std::string_view name = text;          \
    static constexpr auto fields = std::tuple(__VA_ARGS__); \
  }

inline constexpr SymbolKinds addresses = bit(SymbolKind::reservation) | bit(SymbolKind::arena);
inline constexpr SymbolKinds pointers = bit(SymbolKind::pointer);
inline constexpr SymbolKinds handles = bit(SymbolKind::handle);
inline constexpr SymbolKinds descriptors = bit(SymbolKind::descriptor);
inline constexpr SymbolKinds contexts = bit(SymbolKind::context);
inline constexpr SymbolKinds streams = bit(SymbolKind::stream);
inline constexpr SymbolKinds events = bit(SymbolKind::event);

template <>
struct Schema<Granularity> {
  static constexpr std::string_view name = "granularity";
  static constexpr auto fields = std::tuple_cat(
      property_keys(&Granularity::properties),
      std::tuple(key("opt", &Granularity::option), key("prop", &Granularity::properties_pointer),
                 key("out", &Granularity::out)));
};
template <>
struct Schema<Create> {
  static constexpr std::string_view name = "create";
  static constexpr auto fields = std::tuple_cat(
      std::tuple(result("H", &Create::result, handles), needed("size", &Create::size)),
      property_keys(&Create::properties),
      std::tuple(key("reserved", &Create::reserved), key("win32meta", &Create::win32_metadata),
                 key("flags", &Create::flags), key("prop", &Create::properties_pointer),
                 key("out", &Create::out)));
};

TESSERA_SCHEMA(Reserve, "reserve", result("R", &Reserve::result, addresses),
               needed("size", &Reserve::size), key("align", &Reserve::alignment),
               key("at", &Reserve::hint), key("flags", &Reserve::flags), key("out", &Reserve::out));
TESSERA_SCHEMA(AddressFree, "addrfree", place("ADDR", &AddressFree::address),
               needed("size", &AddressFree::size));
TESSERA_SCHEMA(Release, "release", place("H", &Release::handle));
TESSERA_SCHEMA(Props, "props", place("H", &Props::handle), key("out", &Props::out));
TESSERA_SCHEMA(Map, "map", place("ADDR", &Map::address), needed("size", &Map::size),
               needed("handle", &Map::handle), key("off", &Map::offset), key("flags", &Map::flags));
TESSERA_SCHEMA(Unmap, "unmap", place("ADDR", &Unmap::address), needed("size", &Unmap::size));
TESSERA_SCHEMA(SetAccess, "setaccess", place("ADDR", &SetAccess::address),
               needed("size", &SetAccess::size), key("loc", &SetAccess::location),
               key("dev", &SetAccess::device), key("prot", &SetAccess::protection),
               key("desc", &SetAccess::descriptors), key("count", &SetAccess::count));
TESSERA_SCHEMA(GetAccess, "getaccess", place("ADDR", &GetAccess::address),
               key("loc", &GetAccess::location), key("dev", &GetAccess::device),
               key("out", &GetAccess::out), key("location", &GetAccess::location_pointer));
TESSERA_SCHEMA(Retain, "retain", result("H", &Retain::result, handles),
               place("ADDR", &Retain::address));
TESSERA_SCHEMA(Same, "same", place("H", &Same::left), place("H", &Same::right));
TESSERA_SCHEMA(Export, "export", result("F", &Export::result, descriptors),
               needed("handle", &Export::handle), key("type", &Export::type),
               key("flags", &Export::flags), key("out", &Export::out));
TESSERA_SCHEMA(Import, "import", result("H", &Import::result, handles),
               needed("fd", &Import::descriptor), key("type", &Import::type));
TESSERA_SCHEMA(Close, "close", place("F", &Close::descriptor));
TESSERA_SCHEMA(OpenDescriptor, "openfd", result("F", &OpenDescriptor::result, descriptors),
               needed("kind", &OpenDescriptor::kind));
TESSERA_SCHEMA(IpcChild, "ipc.child", needed("fd", &IpcChild::descriptor),
               needed("size", &IpcChild::size), needed("val", &IpcChild::value));
TESSERA_SCHEMA(Memset, "memset", place("ADDR", &Memset::address), needed("size", &Memset::size),
               key("val", &Memset::value), key("stream", &Memset::stream));
TESSERA_SCHEMA(Htod, "htod", place("ADDR", &Htod::address), needed("size", &Htod::size),
               key("val", &Htod::value));
TESSERA_SCHEMA(Expect, "expect", place("ADDR", &Expect::address), needed("size", &Expect::size),
               key("val", &Expect::value));
TESSERA_SCHEMA(Dtod, "dtod", place("DST", &Dtod::destination), place("SRC", &Dtod::source),
               needed("size", &Dtod::size), key("stream", &Dtod::stream));
TESSERA_SCHEMA(KernelRead, "kread", place("ADDR", &KernelRead::address));
TESSERA_SCHEMA(KernelWrite, "kwrite", place("ADDR", &KernelWrite::address));
TESSERA_SCHEMA(HostRead, "hostread", place("ADDR", &HostRead::address));
TESSERA_SCHEMA(HostWrite, "hostwrite", place("ADDR", &HostWrite::address));
TESSERA_SCHEMA(MemInfo, "meminfo", key("total", &MemInfo::total));
TESSERA_SCHEMA(Alloc, "alloc", result("P", &Alloc::result, pointers), needed("size", &Alloc::size));
TESSERA_SCHEMA(Free, "free", place("P", &Free::address));
TESSERA_SCHEMA(Managed, "managed", result("P", &Managed::result, pointers),
               needed("size", &Managed::size));
TESSERA_SCHEMA(AllocAsync, "allocasync", result("P", &AllocAsync::result, pointers),
               needed("size", &AllocAsync::size), key("stream", &AllocAsync::stream));
TESSERA_SCHEMA(HostAlloc, "hostalloc", result("P", &HostAlloc::result, pointers),
               needed("size", &HostAlloc::size));
TESSERA_SCHEMA(Attribute, "attr", place("ADDR", &Attribute::address),
               needed("which", &Attribute::which));
TESSERA_SCHEMA(SameBlock, "sameblock", place("A", &SameBlock::left), place("B", &SameBlock::right),
               key("which", &SameBlock::which));
TESSERA_SCHEMA(AddressRangeOf, "addrrange", place("ADDR", &AddressRangeOf::address));
TESSERA_SCHEMA(DmaBuf, "dmabuf", place("ADDR", &DmaBuf::address), needed("size", &DmaBuf::size));
TESSERA_SCHEMA(ContextRetain, "ctx.retain", key("dev", &ContextRetain::device));
TESSERA_SCHEMA(ContextRelease, "ctx.release", key("dev", &ContextRelease::device));
TESSERA_SCHEMA(ContextReset, "ctx.reset", key("dev", &ContextReset::device));
TESSERA_SCHEMA(ContextCreate, "ctx.create", result("C", &ContextCreate::result, contexts),
               key("dev", &ContextCreate::device));
TESSERA_SCHEMA(ContextSet, "ctx.set", place("C", &ContextSet::context));
TESSERA_SCHEMA(ContextDestroy, "ctx.destroy", place("C", &ContextDestroy::context));
TESSERA_SCHEMA(PeerCan, "peer.can", needed("a", &PeerCan::device), needed("b", &PeerCan::peer));
TESSERA_SCHEMA(PeerEnable, "peer.enable", needed("dev", &PeerEnable::device));
TESSERA_SCHEMA(DeviceName, "devname", key("dev", &DeviceName::device));
TESSERA_SCHEMA(DeviceMemory, "devmem", key("dev", &DeviceMemory::device));
TESSERA_SCHEMA(DeviceAttribute, "devattr", place("N", &DeviceAttribute::attribute),
               key("dev", &DeviceAttribute::device));
TESSERA_SCHEMA(StreamCreate, "stream.create", result("S", &StreamCreate::result, streams),
               key("flags", &StreamCreate::flags));
TESSERA_SCHEMA(StreamDestroy, "stream.destroy", place("S", &StreamDestroy::stream));
TESSERA_SCHEMA(StreamSync, "stream.sync", place("S", &StreamSync::stream));
TESSERA_SCHEMA(StreamWait, "stream.wait", place("S", &StreamWait::stream),
               needed("event", &StreamWait::event), key("flags", &StreamWait::flags));
TESSERA_SCHEMA(EventCreate, "event.create", result("E", &EventCreate::result, events),
               key("flags", &EventCreate::flags));
TESSERA_SCHEMA(EventRecord, "event.record", place("E", &EventRecord::event),
               key("stream", &EventRecord::stream));
TESSERA_SCHEMA(EventQuery, "event.query", place("E", &EventQuery::event));
TESSERA_SCHEMA(EventSync, "event.sync", place("E", &EventSync::event));
TESSERA_SCHEMA(EventDestroy, "event.destroy", place("E", &EventDestroy::event));
TESSERA_SCHEMA(Launch, "launch", place("ADDR", &Launch::address), needed("touch", &Launch::touch),
               key("val", &Launch::value), key("ns", &Launch::duration_ns),
               key("stream", &Launch::stream));
TESSERA_SCHEMA(FreeAsync, "freeasync", place("P", &FreeAsync::address),
               key("stream", &FreeAsync::stream));
TESSERA_SCHEMA(AllocPitch, "allocpitch", result("P", &AllocPitch::result, pointers),
               needed("width", &AllocPitch::width), needed("height", &AllocPitch::height),
               needed("elem", &AllocPitch::element_size));
TESSERA_SCHEMA(LimitSet, "limit.set", needed("which", &LimitSet::which),
               needed("value", &LimitSet::value));
TESSERA_SCHEMA(LimitGet, "limit.get", needed("which", &LimitGet::which));
TESSERA_SCHEMA(MulticastCreate, "mc.create", result("H", &MulticastCreate::result, handles),
               needed("devices", &MulticastCreate::devices),
               needed("size", &MulticastCreate::size));
TESSERA_SCHEMA(MulticastAdd, "mc.add", place("H", &MulticastAdd::multicast),
               needed("dev", &MulticastAdd::device));
TESSERA_SCHEMA(MulticastBind, "mc.bind", place("H", &MulticastBind::multicast),
               needed("mem", &MulticastBind::memory), needed("size", &MulticastBind::size),
               key("off", &MulticastBind::offset));
TESSERA_SCHEMA(MulticastUnbind, "mc.unbind", place("H", &MulticastUnbind::multicast),
               needed("dev", &MulticastUnbind::device), needed("size", &MulticastUnbind::size),
               key("off", &MulticastUnbind::offset));
#undef TESSERA_SCHEMA

// Operations that take nothing.
#define TESSERA_SCHEMA(Type, text)                 \
  template <>                                      \
  struct Schema<Type> {                            \
    static constexpr std::string_view name = text; \
    static constexpr std::tuple<> fields = {};     \
  }
TESSERA_SCHEMA(MemInfoStart, "meminfo0");
TESSERA_SCHEMA(ContextNone, "ctx.none");
TESSERA_SCHEMA(ContextSync, "ctx.sync");
TESSERA_SCHEMA(Version, "version");
TESSERA_SCHEMA(DeviceCount, "devcount");
#undef TESSERA_SCHEMA

}  // namespace tessera::scenario
