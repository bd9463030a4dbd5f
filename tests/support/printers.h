// How GoogleTest prints values of Tessera when an expectation fails.
#pragma once

#include <ostream>
#include <type_traits>

#include <gtest/gtest.h>

#include "tessera/address.h"
#include "tessera/bytes.h"
#include "tessera/ids.h"
#include "tessera/result.h"

// GoogleTest finds these by their name and the namespace of their argument.
// NOLINTBEGIN(readability-identifier-naming)
namespace tessera {

inline void PrintTo(Bytes size, std::ostream* out) { *out << size.value() << " bytes"; }

inline void PrintTo(DeviceAddress address, std::ostream* out) {
  *out << "0x" << std::hex << address.value() << std::dec;
}

inline void PrintTo(AddressRange range, std::ostream* out) {
  *out << '[';
  PrintTo(range.begin(), out);
  *out << ", ";
  PrintTo(range.end(), out);
  *out << ')';
}

template <class Tag>
void PrintTo(Handle<Tag> handle, std::ostream* out) {
  *out << "handle 0x" << std::hex << handle.value() << std::dec;
}

inline void PrintTo(DeviceOrdinal device, std::ostream* out) {
  *out << "device " << device.value();
}

inline void PrintTo(ErrorCode code, std::ostream* out) { *out << code_name(code); }

inline void PrintTo(const Error& error, std::ostream* out) { *out << to_string(error); }

template <class T>
void PrintTo(const Result<T>& result, std::ostream* out) {
  if (!result) {
    *out << "the error \"" << to_string(result.error()) << '"';
    return;
  }
  if constexpr (std::is_void_v<T>) {
    *out << "success";
  } else {
    *out << ::testing::PrintToString(result.value());
  }
}

}  // namespace tessera
// NOLINTEND(readability-identifier-naming)
