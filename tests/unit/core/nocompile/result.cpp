#include "tessera/result.h"

#include <memory>
#include <utility>

namespace {

using tessera::Error;
using tessera::ErrorCode;
using tessera::Result;
using tessera::Status;

Result<int> number() { return 7; }
Status status() { return {}; }
Result<std::unique_ptr<int>> pointer() { return std::make_unique<int>(7); }

[[maybe_unused]] Status use() {
  static_cast<void>(number());
  static_cast<void>(status());
  TESSERA_TRY(number());
  TESSERA_TRY_ASSIGN([[maybe_unused]] const int value, number());
  [[maybe_unused]] Result<std::unique_ptr<int>> moved = pointer();
  if (number()) {
    static_cast<void>(number().value());
  }
#ifdef TESSERA_WRONG
  number();                                      // no
  status();                                      // no
  pointer();                                     // no
  number().has_value();                          // no
  number().value();                              // no
  number().value_or(8);                          // no
  *number();                                     // no
  status().error();                              // no
  int plain = number();                          // no
  bool worked = number();                        // no
  bool succeeded = status();                     // no
  Result<int> from_code = ErrorCode::unknown;    // no
  Status from_bool = true;                       // no
  Result<std::unique_ptr<int>> copied = moved;   // no
  static_cast<void>(number().and_then(status));  // no
  static_cast<void>(status().value_or(8));       // no
  Error nameless = ErrorCode::unknown;           // no
  static_cast<void>(number() == 7);              // no
#endif
  return {};
}

}  // namespace
