#include "layers/request_text.h"

#include <bit>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "text.h"

namespace tessera {
namespace {

std::string value_text(DeviceAddress address) { return text::hexadecimal(address.value()); }
std::string value_text(Bytes size) { return std::to_string(size.value()); }
std::string value_text(DeviceOrdinal device) { return std::to_string(device.value()); }
template <class Tag>
std::string value_text(Handle<Tag> handle) {
  return text::hexadecimal(handle.value());
}
template <class Number>
std::string value_text(Number number) {
  if constexpr (std::is_enum_v<Number>) {
    return std::to_string(static_cast<std::underlying_type_t<Number>>(number));
  } else {
    return std::to_string(number);
  }
}

void append(std::string& /*text*/) {}
template <class Value, class... More>
void append(std::string& text, std::string_view name, const Value& value, const More&... more) {
  text += text.empty() ? "" : ", ";
  text += name;
  text += '=' + value_text(value);
  append(text, more...);
}

// Names and values by turns.
template <class... NamesAndValues>
std::string words(const NamesAndValues&... names_and_values) {
  std::string text;
  append(text, names_and_values...);
  return text;
}

}  // namespace

std::string describe(const NoRequest& /*request*/) { return {}; }
std::string describe(std::uint32_t flags) { return words("flags", flags); }
std::string describe(Bytes size) { return words("size", size); }
std::string describe(DeviceAddress address) { return words("address", address); }
std::string describe(DeviceOrdinal device) { return words("device", device); }
std::string describe(const std::byte* memory) {
  return words("memory", DeviceAddress(std::bit_cast<std::uintptr_t>(memory)));
}
std::string describe(AllocationHandle handle) { return words("handle", handle); }
std::string describe(ContextHandle context) { return words("context", context); }
std::string describe(StreamHandle stream) { return words("stream", stream); }
std::string describe(EventHandle event) { return words("event", event); }
std::string describe(ContextLimit limit) { return words("limit", limit); }
std::string describe(StreamFlags flags) { return words("flags", flags); }
std::string describe(EventFlags flags) { return words("flags", flags); }
std::string describe(const ContextCreateRequest& request) {
  return words("device", request.device, "flags", request.flags);
}
std::string describe(const PeerAccessRequest& request) {
  return words("peer", request.peer, "flags", request.flags);
}
std::string describe(const SetLimitRequest& request) {
  return words("limit", request.limit, "value", request.value);
}
std::string describe(const CreateRequest& request) {
  const AllocationProperties& properties = request.properties;
  return words("size", request.size, "type", properties.type, "location", properties.location.type,
               "id", properties.location.id, "reserved[0]", properties.reserved[0], "reserved[1]",
               properties.reserved[1], "reserved[2]", properties.reserved[2], "reserved[3]",
               properties.reserved[3], "flags", request.flags);
}
std::string describe(const ShareableHandle& request) {
  return words("type", request.type, "file_descriptor", request.file_descriptor, "win32",
               request.win32);
}
std::string describe(const AllocPitchRequest& request) {
  return words("width", request.width, "height", request.height, "element_size",
               request.element_size);
}
std::string describe(const AllocManagedRequest& request) {
  return words("size", request.size, "flags", request.flags);
}
std::string describe(const AllocAsyncRequest& request) {
  return words("size", request.size, "stream", request.stream);
}
std::string describe(const FreeAsyncRequest& request) {
  return words("address", request.address, "stream", request.stream);
}
std::string describe(const HostAllocRequest& request) {
  return words("size", request.size, "flags", request.flags);
}
std::string describe(const RangeHandleRequest& request) {
  return words("address", request.address, "size", request.size, "handle_type", request.handle_type,
               "flags", request.flags);
}
std::string describe(const MemcpyHtodAsyncRequest& request) {
  return words("destination", request.copy.destination, "size", request.copy.source.size(),
               "stream", request.stream);
}
std::string describe(const MemcpyDtohAsyncRequest& request) {
  return words("source", request.copy.source, "size", request.copy.destination.size(), "stream",
               request.stream);
}
std::string describe(const MemcpyDtodAsyncRequest& request) {
  return words("destination", request.copy.destination, "source", request.copy.source, "size",
               request.copy.size, "stream", request.stream);
}
std::string describe(const MemsetD8AsyncRequest& request) {
  return words("destination", request.set.destination, "value", request.set.value, "size",
               request.set.size, "stream", request.stream);
}
std::string describe(const StreamWaitEventRequest& request) {
  return words("stream", request.stream, "event", request.event, "flags", request.flags);
}
std::string describe(const EventRecordRequest& request) {
  return words("event", request.event, "stream", request.stream);
}
std::string describe(const LaunchTouchRequest& request) {
  return words("address", request.address, "touch", request.touch, "value", request.value, "result",
               request.result, "duration_ns", request.duration_ns, "stream", request.stream);
}
std::string describe(const MulticastProperties& request) {
  return words("device_count", request.device_count, "size", request.size, "handle_types",
               request.handle_types, "flags", request.flags);
}
std::string describe(const MulticastGranularityRequest& request) {
  return describe(request.properties) + ", " + words("option", request.option);
}
std::string describe(const MulticastAddDeviceRequest& request) {
  return words("multicast", request.multicast, "device", request.device);
}
std::string describe(const MulticastBindMemRequest& request) {
  return words("multicast", request.multicast, "multicast_offset", request.multicast_offset,
               "memory", request.memory, "memory_offset", request.memory_offset, "size",
               request.size, "flags", request.flags);
}
std::string describe(const MulticastBindAddrRequest& request) {
  return words("multicast", request.multicast, "multicast_offset", request.multicast_offset,
               "address", request.address, "size", request.size, "flags", request.flags);
}
std::string describe(const MulticastUnbindRequest& request) {
  return words("multicast", request.multicast, "device", request.device, "multicast_offset",
               request.multicast_offset, "size", request.size);
}

}  // namespace tessera
