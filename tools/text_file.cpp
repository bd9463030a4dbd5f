#include "text_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>

#include <zlib.h>

namespace tessera::tools {
namespace {

FileError fault(const std::string& path, const std::string& what) { return {path + ": " + what}; }

// Also of what a compressed file becomes: a small one can stand for more than there is memory.
constexpr std::size_t largest_text = std::size_t{1} << 28U;

FileError too_large(const std::string& path) {
  return fault(path,
               "it has more than 256 MiB of text, the largest scenario that is read; cut it "
               "into several files");
}

std::variant<std::string, FileError> decompress(const std::string& path,
                                                const std::string& compressed) {
  z_stream stream = {};
  constexpr int gzip_only = 15 + 16;  // the largest window, and the gzip header
  if (inflateInit2(&stream, gzip_only) != Z_OK) {
    return fault(path, "zlib cannot start");
  }
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, &inflateEnd);
  std::string source = compressed;
  stream.next_in = reinterpret_cast<Bytef*>(source.data());
  stream.avail_in = static_cast<uInt>(source.size());
  std::string text;
  std::array<char, 1U << 16U> buffer = {};
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(buffer.data(), buffer.size() - stream.avail_out);
    if (text.size() > largest_text) {
      return too_large(path);
    }
    // A file may be several compressed pieces, one after the other.
    if (status == Z_STREAM_END && stream.avail_in > 0) {
      status = inflateReset(&stream);
    }
  }
  if (status == Z_BUF_ERROR) {
    return fault(path, "the gzip file is cut off: it ends after " + std::to_string(text.size()) +
                           " bytes of text; copy it again");
  }
  if (status != Z_STREAM_END) {
    return fault(path, std::string("the gzip file is damaged: ") +
                           (stream.msg != nullptr ? stream.msg : "unknown error"));
  }
  return text;
}

}  // namespace

std::variant<std::string, FileError> read_text_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return fault(path, "this is a directory; name the files in it, such as " + path + "/*.vmm");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return fault(path, std::string("cannot be opened: ") + std::strerror(errno));
  }
  std::string text;
  std::array<char, 1U << 16U> buffer = {};
  while (file.read(buffer.data(), buffer.size()) || file.gcount() > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > largest_text) {
      return too_large(path);
    }
  }
  if (file.bad()) {
    return fault(path, std::string("cannot be read: ") + std::strerror(errno));
  }
  const bool is_gzip = text.starts_with("\x1f\x8b");
  return is_gzip ? decompress(path, text) : std::variant<std::string, FileError>(std::move(text));
}

FileError write_text_file(const std::string& path, std::string_view text) {
  if (path.ends_with(".gz")) {
    gzFile file = gzopen(path.c_str(), "wb9");
    if (file == nullptr) {
      return fault(path, std::string("cannot be written: ") + std::strerror(errno));
    }
    const bool written =
        text.empty() || gzwrite(file, text.data(), static_cast<unsigned>(text.size())) > 0;
    const bool closed = gzclose(file) == Z_OK;
    return written && closed ? FileError{} : fault(path, "cannot be written");
  }
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file ? FileError{}
              : fault(path, std::string("cannot be written: ") + std::strerror(errno));
}

}  // namespace tessera::tools
