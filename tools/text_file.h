// Reads and writes whole files, plain or compressed with gzip.
#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace tessera::tools {

// Why a file cannot be read or written, in words, with its name.
struct FileError {
  std::string message;
};

// The file's text; decompressed if it starts as gzip files do, whatever its name.
[[nodiscard]] std::variant<std::string, FileError> read_text_file(const std::string& path);

// Compressed if the name ends in .gz. An empty message: it was written.
[[nodiscard]] FileError write_text_file(const std::string& path, std::string_view text);

}  // namespace tessera::tools
