#include "tessera/address.h"

namespace {

using tessera::AddressRange;
using tessera::Bytes;
using tessera::DeviceAddress;

void take(DeviceAddress /*address*/) {}
void take_size(Bytes /*size*/) {}

[[maybe_unused]] void use() {
  DeviceAddress address = DeviceAddress(4096);
  Bytes size = Bytes(4);
  address = address + size;
  address = address - size;
  size = address - address;
  take(address);
  take_size(size);
  [[maybe_unused]] const AddressRange range = {address, size};
#ifdef TESSERA_WRONG
  DeviceAddress from_number = 4096;         // no
  DeviceAddress from_size = size;           // no
  DeviceAddress from_size_too(size);        // no
  DeviceAddress from_pointer(&size);        // no
  take(0);                                  // no
  take(nullptr);                            // no
  take(size);                               // no
  take_size(address);                       // no
  address = 4096;                           // no
  address = size;                           // no
  size = address;                           // no
  static_cast<void>(address + address);     // no
  static_cast<void>(address + 1);           // no
  static_cast<void>(address - 1);           // no
  static_cast<void>(size + address);        // no
  static_cast<void>(size - address);        // no
  static_cast<void>(address * 2);           // no
  static_cast<void>(address / size);        // no
  static_cast<void>(address % size);        // no
  address += size;                          // no
  ++address;                                // no
  static_cast<void>(address < size);        // no
  static_cast<void>(address == size);       // no
  static_cast<void>(address == 0);          // no
  static_cast<void>(address ? 1 : 0);       // no
  void* pointer = address;                  // no
  AddressRange ends = {address, address};   // no
  AddressRange turned = {size, address};    // no
  AddressRange numbers = {4096, 4096};      // no
  static_cast<void>(range < range);         // no
  static_cast<void>(range.contains(size));  // no
  static_cast<void>(range.contains(4096));  // no
  checked_add(address, size);               // no
  range.intersects(range);                  // no
  AddressRange::make(address, size);        // no
#endif
}

}  // namespace
