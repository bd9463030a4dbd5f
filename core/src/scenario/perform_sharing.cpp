#include <algorithm>

#include "scenario/perform.h"

namespace tessera::scenario {

Answer perform(CaseState& state, const Export& operation) {
  const auto exported = state.driver().mem_export_to_shareable_handle(
      {.handle = state.handle(operation.handle),
       .type = operation.type.value_or(HandleTypes::posix_file_descriptor),
       .flags = operation.flags.value_or(0),
       .null_pointers = null_pointers(operation.out)});
  state.symbols().set(operation.result, no_descriptor);
  if (!exported) {
    return Answer(exported.error());
  }
  if (exported->type == HandleTypes::posix_file_descriptor) {
    state.ledger().descriptors.push_back(exported->file_descriptor);
    state.symbols().set(operation.result, static_cast<std::uint64_t>(exported->file_descriptor));
  } else if (exported->type != HandleTypes::fabric) {
    state.symbols().set(operation.result, exported->win32);
  }
  return {};
}

Answer perform(CaseState& state, const Import& operation) {
  const std::uint64_t value = state.value(operation.descriptor);
  const auto handle = state.driver().mem_import_from_shareable_handle(
      {.type = operation.type.value_or(HandleTypes::posix_file_descriptor),
       .file_descriptor = static_cast<int>(static_cast<std::int64_t>(value)),
       .win32 = value});
  state.symbols().set(operation.result, handle ? handle->value() : 0);
  if (!handle) {
    return Answer(handle.error());
  }
  // A value that nobody holds any more is another memory's now.
  const bool held = state.ledger().references[handle->value()]++ != 0;
  const auto name = held ? state.name_of_handle(handle->value()) : std::nullopt;
  if (!name) {
    state.name_handle(handle->value(), operation.result);
  }
  return Answer().add("same", name ? to_string(*name) : "none");
}

Answer perform(CaseState& state, const Close& operation) {
  // Only what the case opened: other numbers are descriptors of this process.
  auto& open = state.ledger().descriptors;
  const auto value = static_cast<std::int64_t>(state.value(operation.descriptor));
  const auto found = std::find(open.begin(), open.end(), value);
  bool closed = false;
  if (found != open.end()) {
    closed = state.world().close_descriptor(*found);
    open.erase(found);
  }
  return Answer().add("closed", std::uint64_t{closed});
}

Answer perform(CaseState& state, const OpenDescriptor& operation) {
  const int descriptor = state.world().open_descriptor(operation.kind);
  state.symbols().set(operation.result,
                      descriptor < 0 ? no_descriptor : static_cast<std::uint64_t>(descriptor));
  if (descriptor < 0) {
    return Answer(code_name(ErrorCode::operating_system));
  }
  state.ledger().descriptors.push_back(descriptor);
  return {};
}

Answer perform(CaseState& state, const IpcChild& operation) {
  const auto descriptor = static_cast<std::int64_t>(state.value(operation.descriptor));
  const std::string done = state.world().run_child({.file_descriptor = static_cast<int>(descriptor),
                                                    .size = state.bytes(operation.size),
                                                    .value = operation.value});
  return Answer().add("child", "[" + done + "]");
}

Answer perform(CaseState& state, const DmaBuf& operation) {
  const auto descriptor = state.driver().mem_get_handle_for_address_range(
      {.address = state.address(operation.address), .size = state.bytes(operation.size)});
  if (!descriptor) {
    return Answer(descriptor.error());
  }
  static_cast<void>(state.world().close_descriptor(*descriptor));
  return {};
}

}  // namespace tessera::scenario
