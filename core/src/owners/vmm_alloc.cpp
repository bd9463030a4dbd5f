#include "tessera/owners/vmm_alloc.h"

#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "owners/primary_context.h"
#include "tessera/owners/transaction.h"

namespace tessera {
namespace {

// Which allocations there are, of all drivers. Two drivers, two simulators for one, can give the
// same address, so the address comes first, to find all drivers that gave it.
class Registry {
 public:
  using Key = std::pair<DeviceAddress, Driver*>;

  void add(Mapping mapping) {
    const Key key(mapping.begin(), &mapping.driver());
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] = mappings_.try_emplace(key, std::move(mapping));
    if (!is_new) {
      // The driver gave the address again, so what was there went with an earlier driver at the
      // same place in this process's memory. It must not be undone: that would hit the new one.
      stale_.push_back(std::exchange(entry->second, std::move(mapping)));
    }
  }

  // Takes it out, so that two threads cannot free it at once; null driver: whichever gave it.
  Result<Mapping> take(Driver* driver, DeviceAddress address) {
    const std::lock_guard lock(mutex_);
    TESSERA_TRY_ASSIGN(const auto found, find(driver, address));
    Mapping mapping = std::move(found->second);
    mappings_.erase(found);
    return mapping;
  }

  Result<AddressRange> range(Driver* driver, DeviceAddress address) {
    const std::lock_guard lock(mutex_);
    TESSERA_TRY_ASSIGN(const auto found, find(driver, address));
    return found->second.range();
  }

 private:
  using Mappings = std::map<Key, Mapping>;

  Result<Mappings::iterator> find(Driver* driver, DeviceAddress address) {
    const auto refused = [&](Reason reason) {
      return Error{.code = ErrorCode::invalid_value, .reason = reason, .values = {address.value()}};
    };
    auto found = mappings_.end();
    for (auto entry = mappings_.lower_bound(Key(address, nullptr));
         entry != mappings_.end() && entry->first.first == address; ++entry) {
      if (driver != nullptr && entry->first.second != driver) {
        continue;
      }
      if (found != mappings_.end()) {
        return refused(Reason::given_by_several_drivers);
      }
      found = entry;
    }
    if (found == mappings_.end()) {
      return refused(Reason::not_from_vmm_alloc);
    }
    return found;
  }

  std::mutex mutex_;
  Mappings mappings_;
  std::vector<Mapping> stale_;
};

// Never destroyed: what a program leaves allocated at its end is not to be given back to a driver
// that may be gone by then.
Registry& registry() {
  static auto* const the_registry = new Registry;
  return *the_registry;
}

// For the current context, which need not be a primary one, and for the primary contexts of all
// devices with access.
Status wait_as_mem_free(const Mapping& mapping) {
  Driver& driver = mapping.driver();
  TESSERA_TRY_ASSIGN(const ContextHandle current, driver.ctx_get_current());
  if (!current.is_null()) {
    const Status waited = driver.ctx_synchronize();
    // In a context that is lost or gone nothing runs.
    if (!waited && !means_contexts_lost(waited.error().code) &&
        waited.error().code != ErrorCode::context_is_destroyed) {
      return waited;
    }
  }
  return detail::wait_for_devices(driver, mapping.access().device_bits());
}

Status free_with(Driver* driver, DeviceAddress address, std::optional<Quiescence> proof) {
  if (address.is_null()) {
    return {};
  }
  TESSERA_TRY_ASSIGN(Mapping mapping, registry().take(driver, address));
  Status done;
  if (!proof) {
    done = wait_as_mem_free(mapping);
    proof = Quiescence::promised();
  }
  if (done) {
    done = mapping.close(std::move(*proof));
  }
  if (!done) {
    registry().add(std::move(mapping));
  }
  return done;
}

}  // namespace

Result<DeviceAddress> vmm_alloc(DriverUse use, Bytes size, const VmmAllocOptions& options,
                                CallSite site) {
  TESSERA_TRY_ASSIGN(const Bytes granularity, granularity_of(*use.driver, options.memory));
  Transaction transaction(use, site);
  TESSERA_TRY_ASSIGN(const Reservation* reservation,
                     transaction.reserve({.size = size, .granularity = granularity}));
  TESSERA_TRY_ASSIGN(
      const PhysicalAllocation* memory,
      transaction.create({.size = size, .memory = options.memory, .granularity = granularity}));
  TESSERA_TRY_ASSIGN(Mapping * mapping, transaction.map(*reservation, Bytes(0), *memory));
  // Where the memory is, it is to be used: a device, or the host.
  const AccessSet access =
      AccessSet().set(options.memory.location, AccessFlags::read_write).joined_with(options.access);
  TESSERA_TRY(mapping->grant(access));
  Transaction::Made made = transaction.commit();
  const DeviceAddress address = made.mappings.front().begin();
  registry().add(std::move(made.mappings.front()));
  return address;
}

Status vmm_free(DeviceAddress address) { return free_with(nullptr, address, std::nullopt); }

Status vmm_free(Driver& driver, DeviceAddress address) {
  return free_with(&driver, address, std::nullopt);
}

Status vmm_free(Driver& driver, DeviceAddress address, Quiescence proof) {
  return free_with(&driver, address, std::move(proof));
}

Result<AddressRange> vmm_range(Driver& driver, DeviceAddress address) {
  return registry().range(&driver, address);
}

}  // namespace tessera
