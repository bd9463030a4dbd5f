#include <bit>

#include "validation/checks.h"

namespace tessera::validation {
namespace {

bool names_one_type(Inspection& look, HandleTypes type) {
  const auto bits = static_cast<std::uint32_t>(type);
  const auto supported = look.facts.export_types(DeviceOrdinal());
  const bool is_known = !supported || has_all(*supported, type);
  return look.holds(std::has_single_bit(bits) && is_known, RuleId::export_not_one_type, {bits});
}

}  // namespace

TESSERA_CHECK_CALL(mem_export_to_shareable_handle) {
  const LiveHandle* handle = look.usable(request.handle, Inspection::Wants::either);
  if (handle == nullptr || !names_one_type(look, request.type) || !look.flags_are(request.flags) ||
      !look.pointers_are_given(request.null_pointers)) {
    return;
  }
  const LiveMemory& memory = look.objects.memory(handle->memory);
  if (handle->is_imported) {
    look.report(RuleId::export_imported, {request.handle.value()}, handle->made);
  } else if (!memory.is_multicast &&
             !has_all(memory.properties.requested_handle_types, request.type)) {
    look.report(RuleId::export_type_not_requested,
                {number_of(request.type), number_of(memory.properties.requested_handle_types)},
                handle->made);
  }
}

TESSERA_CHECK_CALL(mem_import_from_shareable_handle) {
  if (names_one_type(look, request.type) && request.type == HandleTypes::posix_file_descriptor &&
      !identity_of(request.file_descriptor)) {
    look.report(RuleId::import_not_exported, {number(request.file_descriptor)});
  }
}

// What an open descriptor is of, only the driver knows.
TESSERA_CHECK_ANSWER(mem_import_from_shareable_handle) {
  if (request.type == HandleTypes::posix_file_descriptor &&
      (answer.error().code == ErrorCode::unknown ||
       answer.error().code == ErrorCode::invalid_value)) {
    look.report(RuleId::import_not_exported, {number(request.file_descriptor)});
  }
}

}  // namespace tessera::validation
