#include "tessera/owners/undo_failure.h"

#include <cerrno>
#include <cstdio>

#include <unistd.h>

#include "text.h"

namespace tessera {
namespace {

// Takes one step; says in words what it is.
struct Retry {
  Driver& driver;

  Status operator()(const UnmapRequest& unmap) const { return driver.mem_unmap(unmap); }
  Status operator()(const AddressFreeRequest& free) const { return driver.mem_address_free(free); }
  Status operator()(AllocationHandle handle) const { return driver.mem_release(handle); }
  Status operator()(const MulticastUnbindRequest& unbind) const {
    return driver.multicast_unbind(unbind);
  }
  Status operator()(UndoFailure::CloseDescriptor descriptor) const {
    if (::close(descriptor.file_descriptor) != 0) {
      return Error{.code = ErrorCode::operating_system, .values = {std::uint64_t(errno)}};
    }
    return {};
  }
};

struct Describe {
  std::string operator()(const UnmapRequest& unmap) const {
    return "mem_unmap of " + text::bytes(unmap.size) + " at " +
           text::hexadecimal(unmap.address.value());
  }
  std::string operator()(const AddressFreeRequest& free) const {
    return "mem_address_free of " + text::bytes(free.size) + " at " +
           text::hexadecimal(free.address.value());
  }
  std::string operator()(AllocationHandle handle) const {
    return "mem_release of handle " + text::hexadecimal(handle.value());
  }
  std::string operator()(const MulticastUnbindRequest& unbind) const {
    return "multicast_unbind of " + text::bytes(unbind.size) + " of device " +
           std::to_string(unbind.device.value());
  }
  std::string operator()(UndoFailure::CloseDescriptor descriptor) const {
    return "closing file descriptor " + std::to_string(descriptor.file_descriptor);
  }
};

class StandardErrorSink final : public UndoFailureSink {
 public:
  void undo_failed(const UndoFailure& failure) noexcept override {
    const std::string line = "tessera: could not undo: " + to_string(failure) + "\n";
    std::fputs(line.c_str(), stderr);
  }
};

}  // namespace

Status UndoFailure::retry() const { return std::visit(Retry{*driver}, step); }

std::string to_string(const UndoFailure& failure) {
  std::string out = std::visit(Describe(), failure.step);
  if (failure.made_at.is_known()) {
    out += std::string(" (made at ") + failure.made_at.file + ":" +
           std::to_string(failure.made_at.line) + ")";
  }
  return out + ": " + to_string(failure.error);
}

UndoFailureSink::~UndoFailureSink() = default;

UndoFailureSink& standard_error_sink() noexcept {
  static StandardErrorSink sink;
  return sink;
}

void CollectingSink::undo_failed(const UndoFailure& failure) noexcept {
  failures_.push_back(failure);
}

Status CollectingSink::retry_all() {
  const std::vector<UndoFailure> failures = std::exchange(failures_, {});
  Status first;
  for (const UndoFailure& failure : failures) {
    const Status retried = failure.retry();
    if (!retried) {
      failures_.push_back(failure);
      failures_.back().error = retried.error();
      if (first) {
        first = retried;
      }
    }
  }
  return first;
}

}  // namespace tessera
