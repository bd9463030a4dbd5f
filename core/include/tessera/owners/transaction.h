// Transaction: several steps, all or nothing. What was made is undone in reverse order unless the
// transaction is committed; the first error is the one that the failing step returned.
#pragma once

#include <deque>
#include <functional>
#include <variant>
#include <vector>

#include "tessera/owners/mapping.h"

namespace tessera {

class Transaction {
 public:
  explicit Transaction(DriverUse use, CallSite site = CallSite::here());
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  // Rolls back if neither commit nor rollback was called; failures go to the sink.
  ~Transaction();

  // Each makes one thing, which the transaction owns until commit. The pointers stay valid until
  // then. ERRORS: those of the owner's own function; nothing was made then, and the transaction can
  // be rolled back or go on.
  [[nodiscard]] Result<const Reservation*> reserve(const ReservationOptions& options);
  [[nodiscard]] Result<const Reservation*> reserve_at_most(const ReservationOptions& options,
                                                           Bytes least);
  [[nodiscard]] Result<const PhysicalAllocation*> create(const PhysicalAllocationOptions& options);
  // VALID: as PhysicalAllocation::import; the descriptor stays the caller's.
  [[nodiscard]] Result<const PhysicalAllocation*> import(const ShareableHandle& shareable,
                                                         Bytes size);
  [[nodiscard]] Result<Mapping*> map(const Reservation& reservation, Bytes offset,
                                     const PhysicalAllocation& memory);
  // Sets access for all of `range` in one call. VALID: it consists of mappings of this transaction.
  [[nodiscard]] Status grant(AddressRange range, const AccessSet& access);
  // Something else that was done, with what undoes it.
  void on_rollback(std::function<Status()> undo);

  // What was made, in order, for the caller to keep.
  struct Made {
    std::vector<Reservation> reservations;
    std::vector<PhysicalAllocation> allocations;
    std::vector<Mapping> mappings;
  };
  [[nodiscard]] Made commit();

  // Undoes now, in reverse; goes on after errors, and returns the first. What could not be undone
  // goes to the sink.
  Status rollback();

 private:
  using Step = std::variant<Reservation, PhysicalAllocation, Mapping, std::function<Status()>>;

  DriverUse use_;
  CallSite site_;
  std::deque<Step> steps_;
};

}  // namespace tessera
