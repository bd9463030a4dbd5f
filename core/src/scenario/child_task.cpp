#include <span>

#include "tessera/scenario/world.h"

namespace tessera::scenario {
namespace {

// The calls that were made, as text. `ok` says how one went, and whether to go on.
class Protocol {
 public:
  template <class T>
  bool ok(std::string_view call, const Result<T>& result) {
    add(call, result ? std::string("OK") : code_name(result.error().code));
    return result.has_value();
  }
  void add(std::string_view name, std::string_view value) {
    text_ += text_.empty() ? "" : " ";
    text_ += name;
    text_ += ':';
    text_ += value;
  }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

void use_mapping(Driver& driver, DeviceAddress address, const ChildTask& task, Protocol& protocol) {
  const AccessDescriptor access = {.location = on_device(DeviceOrdinal(0)),
                                   .flags = AccessFlags::read_write};
  if (!protocol.ok("setaccess", driver.mem_set_access({.address = address,
                                                       .size = task.size,
                                                       .descriptors = std::span(&access, 1)}))) {
    return;
  }
  std::byte first = {};
  if (protocol.ok("read",
                  driver.memcpy_dtoh({.destination = std::span(&first, 1), .source = address}))) {
    protocol.add("byte", std::to_string(std::to_integer<unsigned>(first)));
  }
  const Status filled =
      driver.memset_d8({.destination = address, .value = task.value, .size = task.size});
  protocol.ok("memset", filled ? driver.ctx_synchronize() : filled);
}

}  // namespace

std::string run_child_task(Driver& driver, const ChildTask& task) {
  Protocol protocol;
  if (const Status started = driver.init(0); !started) {
    protocol.ok("init", started);
    return protocol.text();
  }
  const auto context = driver.device_primary_ctx_retain(DeviceOrdinal(0));
  const Status current = context ? driver.ctx_set_current(*context) : Status(context.error());
  if (!current) {
    protocol.ok("ctx.retain", current);
    return protocol.text();
  }
  const auto handle =
      driver.mem_import_from_shareable_handle({.file_descriptor = task.file_descriptor});
  if (!protocol.ok("import", handle)) {
    return protocol.text();
  }
  const auto address = driver.mem_address_reserve({.size = task.size});
  if (protocol.ok("reserve", address)) {
    const bool mapped = protocol.ok(
        "map", driver.mem_map({.address = *address, .size = task.size, .handle = *handle}));
    if (mapped) {
      use_mapping(driver, *address, task, protocol);
    }
    protocol.ok("props", driver.mem_get_allocation_properties_from_handle({.handle = *handle}));
    protocol.ok("export", driver.mem_export_to_shareable_handle({.handle = *handle}));
    if (mapped) {
      protocol.ok("unmap", driver.mem_unmap({.address = *address, .size = task.size}));
    }
    protocol.ok("addrfree", driver.mem_address_free({.address = *address, .size = task.size}));
  }
  protocol.ok("release", driver.mem_release(*handle));
  return protocol.text();
}

}  // namespace tessera::scenario
