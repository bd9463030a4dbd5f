// What each operation does: one function for each, found by overload.
#pragma once

#include "scenario/case_state.h"
#include "tessera/scenario/answer.h"
#include "tessera/scenario/operations.h"

namespace tessera::scenario {

// perform_memory.cpp: address space, physical memory, mappings, access.
Answer perform(CaseState& state, const Granularity& operation);
Answer perform(CaseState& state, const Reserve& operation);
Answer perform(CaseState& state, const AddressFree& operation);
Answer perform(CaseState& state, const Create& operation);
Answer perform(CaseState& state, const Release& operation);
Answer perform(CaseState& state, const Props& operation);
Answer perform(CaseState& state, const Map& operation);
Answer perform(CaseState& state, const Unmap& operation);
Answer perform(CaseState& state, const SetAccess& operation);
Answer perform(CaseState& state, const GetAccess& operation);
Answer perform(CaseState& state, const Retain& operation);
Answer perform(CaseState& state, const Same& operation);

// perform_sharing.cpp
Answer perform(CaseState& state, const Export& operation);
Answer perform(CaseState& state, const Import& operation);
Answer perform(CaseState& state, const Close& operation);
Answer perform(CaseState& state, const OpenDescriptor& operation);
Answer perform(CaseState& state, const IpcChild& operation);
Answer perform(CaseState& state, const DmaBuf& operation);

// perform_data.cpp: copies, kernels, other allocation.
Answer perform(CaseState& state, const Memset& operation);
Answer perform(CaseState& state, const Htod& operation);
Answer perform(CaseState& state, const Expect& operation);
Answer perform(CaseState& state, const Dtod& operation);
Answer perform(CaseState& state, const KernelRead& operation);
Answer perform(CaseState& state, const KernelWrite& operation);
Answer perform(CaseState& state, const HostRead& operation);
Answer perform(CaseState& state, const HostWrite& operation);
Answer perform(CaseState& state, const Alloc& operation);
Answer perform(CaseState& state, const Free& operation);
Answer perform(CaseState& state, const Managed& operation);
Answer perform(CaseState& state, const AllocAsync& operation);
Answer perform(CaseState& state, const HostAlloc& operation);

// perform_queries.cpp: pointers, contexts, devices.
Answer perform(CaseState& state, const MemInfo& operation);
Answer perform(CaseState& state, const MemInfoStart& operation);
Answer perform(CaseState& state, const Attribute& operation);
Answer perform(CaseState& state, const SameBlock& operation);
Answer perform(CaseState& state, const AddressRangeOf& operation);
Answer perform(CaseState& state, const ContextRetain& operation);
Answer perform(CaseState& state, const ContextRelease& operation);
Answer perform(CaseState& state, const ContextReset& operation);
Answer perform(CaseState& state, const ContextNone& operation);
Answer perform(CaseState& state, const ContextCreate& operation);
Answer perform(CaseState& state, const ContextSet& operation);
Answer perform(CaseState& state, const ContextDestroy& operation);
Answer perform(CaseState& state, const ContextSync& operation);
Answer perform(CaseState& state, const PeerCan& operation);
Answer perform(CaseState& state, const PeerEnable& operation);
Answer perform(CaseState& state, const Version& operation);
Answer perform(CaseState& state, const DeviceCount& operation);
Answer perform(CaseState& state, const DeviceName& operation);
Answer perform(CaseState& state, const DeviceMemory& operation);
Answer perform(CaseState& state, const DeviceAttribute& operation);

// perform_order.cpp: streams, events, work in flight, limits, multicast objects.
Answer perform(CaseState& state, const StreamCreate& operation);
Answer perform(CaseState& state, const StreamDestroy& operation);
Answer perform(CaseState& state, const StreamSync& operation);
Answer perform(CaseState& state, const StreamWait& operation);
Answer perform(CaseState& state, const EventCreate& operation);
Answer perform(CaseState& state, const EventRecord& operation);
Answer perform(CaseState& state, const EventQuery& operation);
Answer perform(CaseState& state, const EventSync& operation);
Answer perform(CaseState& state, const EventDestroy& operation);
Answer perform(CaseState& state, const Launch& operation);
Answer perform(CaseState& state, const FreeAsync& operation);
Answer perform(CaseState& state, const AllocPitch& operation);
Answer perform(CaseState& state, const LimitSet& operation);
Answer perform(CaseState& state, const LimitGet& operation);
Answer perform(CaseState& state, const MulticastCreate& operation);
Answer perform(CaseState& state, const MulticastAdd& operation);
Answer perform(CaseState& state, const MulticastBind& operation);
Answer perform(CaseState& state, const MulticastUnbind& operation);

// OK, or the error.
template <class T>
Answer answer_of(const Result<T>& result) {
  return result ? Answer() : Answer(result.error());
}

// How an attribute's value is shown: addresses move, and identifiers mean nothing by themselves.
Answer show_attribute(PointerAttribute which, std::uint64_t value, std::uint64_t address);

// Pointers of the C call that are null.
inline NullPointers null_pointers(Pointer output, Pointer properties = Pointer::given) {
  return (output == Pointer::null ? NullPointers::output : NullPointers::none) |
         (properties == Pointer::null ? NullPointers::properties : NullPointers::none);
}

// The largest power of two that divides an address, up to `most`.
inline std::uint64_t alignment_of(std::uint64_t address, std::uint64_t most) {
  const std::uint64_t lowest_bit = address & (~address + 1);
  return lowest_bit == 0 || lowest_bit > most ? most : lowest_bit;
}
// How far recordings show the alignment of an address for which none was asked.
inline constexpr std::uint64_t shown_alignment_max = std::uint64_t{2} << 20U;

}  // namespace tessera::scenario
