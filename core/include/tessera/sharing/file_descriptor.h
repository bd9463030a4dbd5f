// FileDescriptor: owns one open file descriptor. What an export gives and what a socket delivers is
// put into one at once, so that no error after that can leak it.
#pragma once

#include "tessera/result.h"

namespace tessera {

class FileDescriptor {
 public:
  FileDescriptor() noexcept = default;  // none
  // Takes `descriptor` over; a negative one is none.
  explicit FileDescriptor(int descriptor) noexcept : descriptor_(descriptor) {}
  FileDescriptor(FileDescriptor&& other) noexcept : descriptor_(other.release()) {}
  // Closes what it held as the destructor does.
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  // Closes; nobody hears of an error, after which there is nothing left to close either.
  ~FileDescriptor() { static_cast<void>(close()); }

  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
  // -1 if there is none.
  [[nodiscard]] int get() const noexcept { return descriptor_; }
  // Gives it up without closing it.
  [[nodiscard]] int release() noexcept;

  // Another descriptor of the same open file, closed on exec, with a number above the standard
  // streams'. ERRORS: operating_system, naming errno (EBADF if there is none, EMFILE).
  [[nodiscard]] Result<FileDescriptor> duplicate() const;

  // Again is harmless. ERRORS: operating_system, naming errno. Afterwards it holds nothing, also
  // after an error: Linux gives the number back whatever close(2) says, and closing again could hit
  // somebody else's descriptor.
  Status close() noexcept;

 private:
  int descriptor_ = -1;
};

}  // namespace tessera
