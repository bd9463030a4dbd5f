// Ledger: LiveObjects with a lock. Layers that watch a driver feed it (LedgerDriver,
// ValidatingDriver); tests and programs ask it what is left.
#pragma once

#include <mutex>
#include <utility>

#include "tessera/leak_report.h"
#include "tessera/live_objects.h"

namespace tessera {

class Ledger {
 public:
  // The books for as long as this lives: nobody else can look or write. Don't call the layer that
  // feeds the ledger meanwhile.
  class Locked {
   public:
    [[nodiscard]] LiveObjects* operator->() const noexcept { return &objects_; }
    [[nodiscard]] LiveObjects& operator*() const noexcept { return objects_; }
    // Lets go early, or for the time of a call that may wait, and takes it back.
    void unlock() { lock_.unlock(); }
    void lock() { lock_.lock(); }

   private:
    friend class Ledger;
    Locked(std::mutex& mutex, LiveObjects& objects) : lock_(mutex), objects_(objects) {}
    std::unique_lock<std::mutex> lock_;
    LiveObjects& objects_;
  };

  [[nodiscard]] Locked lock() { return {mutex_, objects_}; }

  [[nodiscard]] LeakReport leak_report() const {
    const std::lock_guard lock(mutex_);
    return leak_report_of(objects_);
  }
  // Calls `visit(const LiveMapping&)` for each mapping that shares an address with the range, in
  // order, under the lock.
  template <class Visit>
  void for_each_mapping(AddressRange range, Visit&& visit) const {
    const std::lock_guard lock(mutex_);
    objects_.for_each_mapping(range, std::forward<Visit>(visit));
  }

 private:
  mutable std::mutex mutex_;
  LiveObjects objects_;
};

}  // namespace tessera
