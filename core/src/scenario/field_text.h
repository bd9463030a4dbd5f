// How one field of an operation is read from text and written: a pair of functions for each type
// that fields have. Reading returns nothing when all is well, else what was expected.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/scenario/operations.h"

namespace tessera::scenario {

struct FieldError {
  std::size_t offset;         // in the field's text
  std::string_view expected;  // what could stand there
};
using FieldResult = std::optional<FieldError>;

FieldResult parse_symbol(std::string_view text, Symbol& symbol);
FieldResult parse_operand(std::string_view text, Operand& operand);

// --- Enumerations: names, and numbers where there is no name ---

template <class Enum>
struct Names;  // `expected`, in words, and `list` of {name, value}

template <class Enum>
using NameList = std::pair<std::string_view, Enum>;

template <>
struct Names<AllocationType> {
  static constexpr std::string_view expected = "invalid, pinned, managed or a number";
  static constexpr std::array list = {NameList<AllocationType>{"invalid", AllocationType::invalid},
                                      NameList<AllocationType>{"pinned", AllocationType::pinned},
                                      NameList<AllocationType>{"managed", AllocationType::managed}};
};
template <>
struct Names<LocationType> {
  static constexpr std::string_view expected =
      "none, device, host, host_numa, host_numa_current or a number";
  static constexpr std::array list = {
      NameList<LocationType>{"none", LocationType::none},
      NameList<LocationType>{"device", LocationType::device},
      NameList<LocationType>{"host", LocationType::host},
      NameList<LocationType>{"host_numa", LocationType::host_numa},
      NameList<LocationType>{"host_numa_current", LocationType::host_numa_current}};
};
template <>
struct Names<HandleTypes> {
  static constexpr std::string_view expected =
      "none, fd, win32, kmt, fabric, several as fd+fabric, or a number";
  static constexpr std::array list = {
      NameList<HandleTypes>{"none", HandleTypes::none},
      NameList<HandleTypes>{"fd", HandleTypes::posix_file_descriptor},
      NameList<HandleTypes>{"win32", HandleTypes::win32},
      NameList<HandleTypes>{"kmt", HandleTypes::win32_kmt},
      NameList<HandleTypes>{"fabric", HandleTypes::fabric}};
};
template <>
struct Names<GranularityOption> {
  static constexpr std::string_view expected = "min, rec or a number";
  static constexpr std::array list = {
      NameList<GranularityOption>{"min", GranularityOption::minimum},
      NameList<GranularityOption>{"rec", GranularityOption::recommended}};
};
template <>
struct Names<AccessFlags> {
  static constexpr std::string_view expected = "none, r, w, rw or a number";
  static constexpr std::array list = {NameList<AccessFlags>{"none", AccessFlags::none},
                                      NameList<AccessFlags>{"r", AccessFlags::read},
                                      NameList<AccessFlags>{"w", static_cast<AccessFlags>(2)},
                                      NameList<AccessFlags>{"rw", AccessFlags::read_write}};
};
template <>
struct Names<Touch> {
  static constexpr std::string_view expected = "read, write or a number";
  static constexpr std::array list = {NameList<Touch>{"read", Touch::read},
                                      NameList<Touch>{"write", Touch::write}};
};
template <>
struct Names<DescriptorKind> {
  static constexpr std::string_view expected = "devnull or memfd";
  static constexpr std::array list = {NameList<DescriptorKind>{"devnull", DescriptorKind::dev_null},
                                      NameList<DescriptorKind>{"memfd", DescriptorKind::memfd}};
};
template <>
struct Names<PointerAttribute> {
  static constexpr std::string_view expected =
      "an attribute's name, such as range_size or access_flags, or its number";
  using Name = NameList<PointerAttribute>;
  static constexpr std::array list = {
      Name{"context", PointerAttribute::context},
      Name{"memory_type", PointerAttribute::memory_type},
      Name{"device_pointer", PointerAttribute::device_pointer},
      Name{"host_pointer", PointerAttribute::host_pointer},
      Name{"p2p_tokens", PointerAttribute::p2p_tokens},
      Name{"sync_memops", PointerAttribute::sync_memops},
      Name{"buffer_id", PointerAttribute::buffer_id},
      Name{"is_managed", PointerAttribute::is_managed},
      Name{"device_ordinal", PointerAttribute::device_ordinal},
      Name{"legacy_ipc", PointerAttribute::is_legacy_cuda_ipc_capable},
      Name{"range_start", PointerAttribute::range_start_addr},
      Name{"range_size", PointerAttribute::range_size},
      Name{"mapped", PointerAttribute::mapped},
      Name{"handle_types", PointerAttribute::allowed_handle_types},
      Name{"rdma", PointerAttribute::is_gpu_direct_rdma_capable},
      Name{"access_flags", PointerAttribute::access_flags},
      Name{"mempool", PointerAttribute::mempool_handle},
      Name{"mapping_size", PointerAttribute::mapping_size},
      Name{"mapping_base", PointerAttribute::mapping_base_addr},
      Name{"block_id", PointerAttribute::memory_block_id},
      Name{"hw_decompress", PointerAttribute::is_hw_decompress_capable}};
};

// --- Reading ---

template <class Number>
constexpr std::string_view number_expected() {
  if constexpr (sizeof(Number) == 1) {
    return "a number from 0 to 255";
  } else if constexpr (sizeof(Number) == 2) {
    return "a number from 0 to 65535";
  } else if constexpr (sizeof(Number) == 4) {
    return std::is_signed_v<Number> ? "a number from -2147483648 to 2147483647"
                                    : "a number from 0 to 4294967295";
  } else {
    static_assert(sizeof(Number) == 8);
    return std::is_signed_v<Number> ? "a number from -9223372036854775808 to 9223372036854775807"
                                    : "a number from 0 to 18446744073709551615";
  }
}

template <class Number>
requires std::is_integral_v<Number> FieldResult parse_field(std::string_view text, Number& number) {
  const bool hexadecimal = text.substr(0, 2) == "0x";
  const char* last = text.data() + text.size();
  const auto [end, error] =
      std::from_chars(text.data() + (hexadecimal ? 2 : 0), last, number, hexadecimal ? 16 : 10);
  if (error != std::errc() || end != last) {
    return FieldError{0, number_expected<Number>()};
  }
  return {};
}

template <class Enum>
requires std::is_enum_v<Enum> FieldResult parse_field(std::string_view text, Enum& value) {
  for (const auto& [name, named] : Names<Enum>::list) {
    if (text == name) {
      value = named;
      return {};
    }
  }
  if constexpr (!std::is_same_v<Enum, DescriptorKind>) {
    std::underlying_type_t<Enum> number = 0;
    if (!parse_field(text, number)) {
      value = static_cast<Enum>(number);
      return {};
    }
  }
  return FieldError{0, Names<Enum>::expected};
}

// Several types are joined by `+`.
FieldResult parse_field(std::string_view text, HandleTypes& types);
FieldResult parse_field(std::string_view text, Pointer& pointer);
FieldResult parse_field(std::string_view text, std::vector<AccessDescriptor>& descriptors);
inline FieldResult parse_field(std::string_view text, Operand& operand) {
  return parse_operand(text, operand);
}
inline FieldResult parse_field(std::string_view text, Symbol& symbol) {
  return parse_symbol(text, symbol);
}
template <class T>
FieldResult parse_field(std::string_view text, std::optional<T>& field) {
  return parse_field(text, field.emplace());
}

// --- Writing ---

template <class Number>
requires std::is_integral_v<Number>
void print_field(std::string& out, Number number) {
  std::array<char, 24> digits = {};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

template <class Enum>
requires std::is_enum_v<Enum>
void print_field(std::string& out, Enum value) {
  for (const auto& [name, named] : Names<Enum>::list) {
    if (value == named) {
      out += name;
      return;
    }
  }
  print_field(out, static_cast<std::underlying_type_t<Enum>>(value));
}

void print_field(std::string& out, HandleTypes types);
void print_field(std::string& out, Pointer pointer);
void print_field(std::string& out, const std::vector<AccessDescriptor>& descriptors);
inline void print_field(std::string& out, const Operand& operand) { print_to(out, operand); }
inline void print_field(std::string& out, Symbol symbol) { print_to(out, symbol); }
template <class T>
void print_field(std::string& out, const std::optional<T>& field) {
  print_field(out, *field);
}

// --- Whether a field that may be left out was given ---

template <class T>
constexpr bool is_given(const T&) {
  return true;
}
inline bool is_given(const Operand& operand) { return operand.is_given(); }
constexpr bool is_given(Pointer pointer) { return pointer == Pointer::null; }
inline bool is_given(const std::vector<AccessDescriptor>& descriptors) {
  return !descriptors.empty();
}
template <class T>
constexpr bool is_given(const std::optional<T>& field) {
  return field.has_value();
}

}  // namespace tessera::scenario
