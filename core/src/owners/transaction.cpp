#include "tessera/owners/transaction.h"

#include <utility>

namespace tessera {
namespace {

// Undoes one step. Nobody outside has seen what a transaction made, so no work can use it.
struct Undo {
  Status operator()(Reservation& reservation) const { return reservation.close(); }
  Status operator()(PhysicalAllocation& memory) const { return memory.close(); }
  Status operator()(Mapping& mapping) const { return mapping.close(Quiescence::promised()); }
  Status operator()(std::function<Status()>& undo) const { return undo(); }
};

}  // namespace

Transaction::Transaction(DriverUse use, CallSite site) : use_(use), site_(site) {}

Transaction::~Transaction() { static_cast<void>(rollback()); }

Result<const Reservation*> Transaction::reserve(const ReservationOptions& options) {
  return reserve_at_most(options, options.size);
}

Result<const Reservation*> Transaction::reserve_at_most(const ReservationOptions& options,
                                                        Bytes least) {
  TESSERA_TRY_ASSIGN(Reservation made, Reservation::make_at_most(use_, options, least, site_));
  return &std::get<Reservation>(steps_.emplace_back(std::move(made)));
}

Result<const PhysicalAllocation*> Transaction::create(const PhysicalAllocationOptions& options) {
  TESSERA_TRY_ASSIGN(PhysicalAllocation made, PhysicalAllocation::create(use_, options, site_));
  return &std::get<PhysicalAllocation>(steps_.emplace_back(std::move(made)));
}

Result<const PhysicalAllocation*> Transaction::import(const ShareableHandle& shareable,
                                                      Bytes size) {
  TESSERA_TRY_ASSIGN(PhysicalAllocation made,
                     PhysicalAllocation::import(use_, shareable, size, site_));
  return &std::get<PhysicalAllocation>(steps_.emplace_back(std::move(made)));
}

Result<Mapping*> Transaction::map(const Reservation& reservation, Bytes offset,
                                  const PhysicalAllocation& memory) {
  TESSERA_TRY_ASSIGN(Mapping made, Mapping::map(reservation, offset, memory, site_));
  return &std::get<Mapping>(steps_.emplace_back(std::move(made)));
}

Status Transaction::grant(AddressRange range, const AccessSet& access) {
  if (access.is_empty()) {
    return {};
  }
  const std::vector<AccessDescriptor> descriptors = access.descriptors();
  TESSERA_TRY(use_.driver->mem_set_access(
      {.address = range.begin(), .size = range.size(), .descriptors = descriptors}));
  for (Step& step : steps_) {
    if (auto* mapping = std::get_if<Mapping>(&step);
        mapping != nullptr && range.contains(mapping->range())) {
      mapping->note_access(access);
    }
  }
  return {};
}

void Transaction::on_rollback(std::function<Status()> undo) {
  TESSERA_CHECK(undo != nullptr);
  steps_.emplace_back(std::move(undo));
}

Transaction::Made Transaction::commit() {
  Made made;
  for (Step& step : steps_) {
    if (auto* reservation = std::get_if<Reservation>(&step)) {
      made.reservations.push_back(std::move(*reservation));
    } else if (auto* memory = std::get_if<PhysicalAllocation>(&step)) {
      made.allocations.push_back(std::move(*memory));
    } else if (auto* mapping = std::get_if<Mapping>(&step)) {
      made.mappings.push_back(std::move(*mapping));
    }
  }
  steps_.clear();
  return made;
}

Status Transaction::rollback() {
  Status first;
  while (!steps_.empty()) {
    const Status undone = std::visit(Undo(), steps_.back());
    if (first) {
      first = undone;
    }
    // What could not be closed goes to the sink with its destructor.
    steps_.pop_back();
  }
  return first;
}

}  // namespace tessera
