#include "tessera/ids.h"

namespace {

using tessera::AllocationHandle;
using tessera::ContextHandle;
using tessera::DeviceOrdinal;
using tessera::EventHandle;
using tessera::StreamHandle;

void take(StreamHandle /*stream*/) {}
void take_device(DeviceOrdinal /*device*/) {}

[[maybe_unused]] void use() {
  AllocationHandle handle = AllocationHandle(1);
  const ContextHandle context(1);
  const EventHandle event(1);
  DeviceOrdinal device = DeviceOrdinal(1);
  take(StreamHandle());
  take_device(device);
  static_cast<void>(handle == AllocationHandle(2));
  static_cast<void>(context.is_null() || event.is_null());
#ifdef TESSERA_WRONG
  AllocationHandle from_number = 1;      // no
  AllocationHandle from_other(context);  // no
  handle = context;                      // no
  handle = 1;                            // no
  static_cast<void>(handle + 1);         // no
  static_cast<void>(handle + handle);    // no
  static_cast<void>(handle - handle);    // no
  static_cast<void>(handle | handle);    // no
  ++handle;                              // no
  static_cast<void>(handle == context);  // no
  static_cast<void>(handle < event);     // no
  static_cast<void>(handle == 1);        // no
  static_cast<void>(handle ? 1 : 0);     // no
  const unsigned long number = handle;   // no
  take(event);                           // no
  take(1);                               // no
  take(nullptr);                         // no
  DeviceOrdinal device_from_number = 1;  // no
  take_device(0);                        // no
  device = 2;                            // no
  static_cast<void>(device + 1);         // no
  ++device;                              // no
  static_cast<void>(device == 1);        // no
  int ordinal = device;                  // no
  handle.value();                        // no
  handle.is_null();                      // no
#endif
}

}  // namespace
