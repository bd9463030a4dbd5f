// What becomes of a failure while something is given back where nobody can be told by a Result:
// in a destructor, or while a failed step is undone. It goes to a sink, with all that is needed to
// try again. Nothing is forgotten: what could not be given back is named.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "tessera/call_site.h"
#include "tessera/driver.h"

namespace tessera {

struct UndoFailure {
  // Closes a file descriptor that this process owned.
  struct CloseDescriptor {
    int file_descriptor;
  };
  // mem_unmap, mem_address_free, mem_release, multicast_unbind or close(2): what is still to be
  // done.
  using Step = std::variant<UnmapRequest, AddressFreeRequest, AllocationHandle,
                            MulticastUnbindRequest, CloseDescriptor>;

  Error error;
  Driver* driver;
  Step step;
  CallSite made_at;  // where what is left over was made

  // Takes the step again; for an unmap, the work that uses the range is done by then. The failures
  // of one destructor are retried in the order they came in.
  [[nodiscard]] Status retry() const;
};

// "mem_unmap of 2 MiB at 0x302000000 (made at a.cpp:12): INVALID_VALUE (1) from ..."
[[nodiscard]] std::string to_string(const UndoFailure& failure);

class UndoFailureSink {
 public:
  UndoFailureSink() = default;
  UndoFailureSink(const UndoFailureSink&) = delete;
  UndoFailureSink& operator=(const UndoFailureSink&) = delete;
  virtual ~UndoFailureSink();

  // Any thread, from within destructors: must not throw.
  virtual void undo_failed(const UndoFailure& failure) noexcept = 0;
};

// Prints a line a failure to standard error: what owners use unless told otherwise.
[[nodiscard]] UndoFailureSink& standard_error_sink() noexcept;

// Keeps failures, for those who want to retry them. Not for several threads at once.
class CollectingSink final : public UndoFailureSink {
 public:
  void undo_failed(const UndoFailure& failure) noexcept override;

  [[nodiscard]] const std::vector<UndoFailure>& failures() const noexcept { return failures_; }
  // Takes each step again, oldest first; those that fail again are kept. The first error.
  Status retry_all();

 private:
  std::vector<UndoFailure> failures_;
};

// What owners are made with: a driver, and who hears of failures to give something back to it.
// Both outlive the owner. A Driver converts: `Reservation::make(driver, {.size = 1_GiB})`.
struct DriverUse {
  // Implicit, so that who is content with the standard sink need not name it.
  DriverUse(Driver& the_driver) noexcept  // NOLINT(google-explicit-constructor)
      : driver(&the_driver), sink(&standard_error_sink()) {}
  DriverUse(Driver& the_driver, UndoFailureSink& the_sink) noexcept
      : driver(&the_driver), sink(&the_sink) {}

  Driver* driver;
  UndoFailureSink* sink;
};

}  // namespace tessera
