#include "library_reasons.h"

namespace tessera::rules_off {

const std::map<Reason, std::string_view>& library_reasons() {
  static const std::map<Reason, std::string_view> reasons = {
      // backends/cuda
      {Reason::no_libcuda, "CudaDriverOpen.SaysThatThereIsNoDriver"},
      {Reason::driver_library_not_opened, "CudaDriverOpen.SaysThatALibraryIsMissing"},
      {Reason::not_a_driver_library, "CudaDriverOpen.RefusesALibraryThatIsNoDriver"},
      {Reason::entry_point_missing, "CudaDriverCalls.SayThatAMissingEntryPointIsNotSupported"},
      // core: owners
      {Reason::granularity_is_zero, "MemoryOptions.HaveNoGranularityOfZero"},
      {Reason::out_of_address_space, "Reservation.NamesAddressSpaceWhenThatRunsOut"},
      {Reason::memory_not_made,
       "PhysicalAllocation.NamesSizeAndGranularityWhenTheDriverSaysNothing"},
      {Reason::imported_size_missing, "PhysicalAllocation.IsImportedWithTheSizeThatTravelled"},
      {Reason::outside_reservation, "Mapping.MustLieInsideItsReservation"},
      {Reason::device_not_proven_idle,
       "Mapping.IsNotUnmappedWithoutProofForEachDeviceThatHasAccess"},
      {Reason::no_event_of_device, "RetireQueue.WantsAnEventOfEachDeviceThatHasAccess"},
      {Reason::not_from_vmm_alloc, "VmmFree.RefusesWhatItDidNotGive"},
      {Reason::given_by_several_drivers, "VmmFree.AsksWhichDriverIsMeantWhereTwoGaveAnAddress"},
      {Reason::not_device_memory, "MulticastBinding.IsForMemoryOnADevice"},
      {Reason::device_beyond_library, "Quiescence.OfAMissingDeviceIsRefused"},
      {Reason::attribute_denies, "ProbeCapabilities.BelievesAnAttributeThatSaysNo"},
      {Reason::asked_and_not_granted, "ProbeCapabilities.DoesNotTakeLessThanWasAskedFor"},
      // core: layers
      {Reason::injected_nth, "FaultInjection.FailsTheNthCallOfAll"},
      {Reason::injected_nth_of_kind, "FaultInjection.FailsTheNthCallOfAKind"},
      {Reason::injected_each, "FaultInjection.FailsEachCallOfAKind"},
      {Reason::injected_by_chance, "FaultInjection.DrawsBySeedTheSameFaultsAlways"},
      {Reason::injected_after, "FaultInjection.AfterTheEffectWhatTheCallGaveIsLost"},
      {Reason::injected_capacity, "FaultInjection.RefusesMemoryBeyondTheCapacity"},
      {Reason::injected_call_limit, "FaultSweep.EndsAProgramThatTriesForEver"},
      // core: buffers
      {Reason::buffer_is_closed, "GrowableBuffer.RefusesWrongUseInWords"},
      {Reason::buffer_has_failed, "RestlessBuffer.FailsForGoodWhenTheUndoFailsToo"},
      {Reason::shrinks_to_more, "GrowableBuffer.RefusesWrongUseInWords"},
      {Reason::no_devices, "StripedBuffer.RefusesWrongUse"},
      {Reason::address_outside_buffer, "StripedBufferOn.KnowsWhoseMemoryIsWhere"},
      {Reason::window_too_large, "MirroredRing.RefusesWrongUse"},
      {Reason::elements_outside, "DeviceVector.RefusesElementsOutside"},
      {Reason::too_many_elements, "DeviceVector.RefusesMoreElementsThan64BitsCount"},
      // core: sharing
      {Reason::descriptor_not_duplicated, "FileDescriptor.SaysWhyItCannotBeDuplicated"},
      {Reason::descriptor_not_closed, "FileDescriptor.SaysWhenItWasClosedBehindItsBack"},
      {Reason::nothing_to_share, "ExportedMemoryTest.RefusesWhatIsNoMappedMemory"},
      {Reason::handle_type_cannot_travel, "MemoryDescription.RefusesEachWrongHeaderField"},
      {Reason::piece_not_exported, "ExportedMemoryTest.SaysWhyMemoryCannotBeExported"},
      {Reason::piece_not_imported, "SharedMemoryTest.RefusesWhatIsNoMemory"},
      {Reason::pieces_and_descriptors_differ, "Transport.SendsOnlyWhatFitsTogether"},
      {Reason::not_a_unix_stream, "Transport.WantsAUnixStreamSocket"},
      {Reason::socket_failed, "Transport.GivesUpWhenTheSocketSaysSo"},
      {Reason::peer_closed, "Transport.SaysWhenThePeerIsGone"},
      {Reason::descriptors_cut, "Transport.ClosesWhatArrivedWhenThereIsNoRoomForAll"},
      {Reason::descriptors_unexpected, "Transport.ClosesDescriptorsThatCameWithTheWrongPart"},
      {Reason::message_size_wrong, "MemoryDescription.RefusesWhatIsCutAnywhere"},
      {Reason::message_magic_wrong, "MemoryDescription.RefusesEachWrongHeaderField"},
      {Reason::message_version_unknown, "MemoryDescription.RefusesEachWrongHeaderField"},
      {Reason::message_record_size_wrong, "MemoryDescription.RefusesEachWrongHeaderField"},
      {Reason::message_piece_count, "MemoryDescription.RefusesEachWrongHeaderField"},
      {Reason::message_total_differs, "MemoryDescription.RefusesEachWrongHeaderField"},
      {Reason::piece_size_is_zero, "MemoryDescription.RefusesEachWrongRecordField"},
      {Reason::piece_sizes_overflow, "MemoryDescription.RefusesEachWrongRecordField"},
      {Reason::piece_allocation_type, "MemoryDescription.RefusesEachWrongRecordField"},
      {Reason::piece_location, "MemoryDescription.RefusesEachWrongRecordField"},
      {Reason::piece_flags, "MemoryDescription.RefusesEachWrongRecordField"},
      {Reason::piece_reserved_not_zero, "MemoryDescription.RefusesEachWrongRecordField"},
      {Reason::peer_did_not_import, "Receipt.SaysHowItWent"},
      // Nothing gives it.
      {Reason::outside_buffer, ""},
  };
  return reasons;
}

}  // namespace tessera::rules_off
