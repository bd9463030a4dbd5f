// A CUDA driver library that only records. It knows nothing of the backend's sources nor of cuda.h:
// names, versions and parameters are written here again, from cudaTypedefs.h.
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

namespace {

struct Opaque;  // contexts, streams, events, modules and functions
struct Location {
  unsigned type;
  int id;
};
struct Properties {
  unsigned type;
  unsigned handle_types;
  Location location;
  const void* win32;
  unsigned char compression;
  unsigned char rdma;
  unsigned short usage;
  unsigned char reserved[4];
};
struct Descriptor {
  Location location;
  unsigned flags;
};
struct MulticastProperties {
  unsigned devices;
  std::size_t size;
  unsigned long long handle_types;
  unsigned long long flags;
};
using Address = unsigned long long;
using Memory = unsigned long long;  // a CUmemGenericAllocationHandle

struct State {
  std::mutex mutex;
  std::string log;
  std::string taken;
  std::map<std::string, int> failures;
  std::map<std::string, unsigned long long> answers;
  std::set<std::string> hidden;
  bool is_lookup_broken = false;
};
State& state() {
  static State instance;
  return instance;
}

std::string number(unsigned long long value) { return std::to_string(value); }

// --- One argument as text; what a pointer for output gets ---------------------------------------

struct Recorder {
  std::string name;
  std::string arguments;
  unsigned long long next_output = 7001;
  bool fails = false;

  void add(const std::string& text) { arguments += (arguments.empty() ? "" : ", ") + text; }

  unsigned long long output() {
    const auto answer = state().answers.find(name);
    return answer != state().answers.end() ? answer->second : next_output++;
  }

  template <class T>
  void record(T argument) {
    if constexpr (std::is_integral_v<T>) {
      add(std::to_string(argument));
    } else if constexpr (std::is_same_v<T, Opaque*> || std::is_same_v<T, void*> ||
                         std::is_same_v<T, const void*>) {
      add(number(reinterpret_cast<unsigned long long>(argument)));
    } else {
      record_pointer(argument);
    }
  }

  template <class T>
  void record_pointer(T* argument) {
    if (argument == nullptr) {
      add("null");
    } else if constexpr (std::is_const_v<T>) {
      add(describe(*argument));
    } else {
      add("out");
      if (!fails) {
        fill(*argument);
      }
    }
  }

  template <class T>
  void fill(T& target) {
    if constexpr (std::is_integral_v<T>) {
      target = static_cast<T>(output());
    } else if constexpr (std::is_pointer_v<T>) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): never followed
      target = reinterpret_cast<T>(output());
    } else {
      target = Properties{1, 8, {3, -7}, nullptr, 1, 1, 2, {0, 0, 0, 9}};
    }
  }

  static std::string describe(const Location& value) {
    return number(value.type) + ":" + std::to_string(value.id);
  }
  static std::string describe(const Properties& value) {
    return "{type " + number(value.type) + " handles " + number(value.handle_types) + " at " +
           describe(value.location) + " win32 " +
           number(reinterpret_cast<unsigned long long>(value.win32)) + " comp " +
           number(value.compression) + " rdma " + number(value.rdma) + " usage " +
           number(value.usage) + " reserved " + number(value.reserved[3]) + "}";
  }
  static std::string describe(const MulticastProperties& value) {
    return "{devices " + number(value.devices) + " size " + number(value.size) + " handles " +
           number(value.handle_types) + " flags " + number(value.flags) + "}";
  }

  [[nodiscard]] int done() const {
    state().log += name + "(" + arguments + ")\n";
    return fails ? state().failures.at(name) : 0;
  }
};

Recorder start(const char* name) {
  Recorder recorder;
  recorder.name = name;
  recorder.fails = state().failures.count(name) != 0;
  return recorder;
}

template <const char* Name, class Signature>
struct Fake;

template <const char* Name, class... Parameters>
struct Fake<Name, int(Parameters...)> {
  static int call(Parameters... arguments) {
    const std::lock_guard lock(state().mutex);
    Recorder recorder = start(Name);
    (recorder.record(arguments), ...);
    return recorder.done();
  }
};

// --- Entry points that take more than numbers ---------------------------------------------------

int device_get_name(char* name, int size, int device) {
  const std::lock_guard lock(state().mutex);
  Recorder recorder = start("cuDeviceGetName");
  recorder.add("out");
  recorder.record(size);
  recorder.record(device);
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(size));
  return recorder.done();
}

int mem_set_access(Address address, std::size_t size, const Descriptor* descriptors,
                   std::size_t count) {
  const std::lock_guard lock(state().mutex);
  Recorder recorder = start("cuMemSetAccess");
  recorder.record(address);
  recorder.record(size);
  std::string list = descriptors == nullptr ? "null" : "[";
  for (std::size_t i = 0; i < count; ++i) {
    list += Recorder::describe(descriptors[i].location) + ":" + number(descriptors[i].flags) + " ";
  }
  recorder.add(list);
  recorder.record(count);
  return recorder.done();
}

// Writes all the bytes that a handle of this type has.
int mem_export(void* shareable, Memory handle, unsigned type, unsigned long long flags) {
  const std::lock_guard lock(state().mutex);
  Recorder recorder = start("cuMemExportToShareableHandle");
  recorder.add(shareable == nullptr ? "null" : "out");
  recorder.record(handle);
  recorder.record(type);
  recorder.record(flags);
  if (shareable != nullptr && !recorder.fails) {
    std::memset(shareable, 5, type == 8 ? 64 : type == 2 ? 8 : type == 0 ? 0 : 4);
  }
  return recorder.done();
}

int mem_import(Memory* handle, void* shareable, unsigned type) {
  const std::lock_guard lock(state().mutex);
  Recorder recorder = start("cuMemImportFromShareableHandle");
  recorder.record(handle);
  if (type == 8) {
    const auto* fabric = static_cast<const unsigned char*>(shareable);
    recorder.add("fabric " + number(fabric[0]) + ".." + number(fabric[63]));
  } else {
    recorder.add(std::to_string(reinterpret_cast<long long>(shareable)));
  }
  recorder.record(type);
  return recorder.done();
}

// An ordinal (9) has 4 bytes, the tokens (5) 16, the others 8.
int pointer_get_attribute(void* value, unsigned attribute, Address address) {
  const std::lock_guard lock(state().mutex);
  Recorder recorder = start("cuPointerGetAttribute");
  recorder.add("out");
  recorder.record(attribute);
  recorder.record(address);
  const unsigned long long values[] = {recorder.output(), 1};
  std::memcpy(value, values, attribute == 9 ? 4 : attribute == 5 ? 16 : 8);
  return recorder.done();
}

int range_handle(void* handle, Address address, std::size_t size, unsigned type,
                 unsigned long long flags) {
  const std::lock_guard lock(state().mutex);
  Recorder recorder = start("cuMemGetHandleForAddressRange");
  recorder.record(static_cast<int*>(handle));
  recorder.record(address);
  recorder.record(size);
  recorder.record(type);
  recorder.record(flags);
  return recorder.done();
}

int module_load_data(Opaque** module, const void* image) {
  const std::lock_guard lock(state().mutex);
  Recorder recorder = start("cuModuleLoadData");
  recorder.record(module);
  const bool is_kernel =
      std::strstr(static_cast<const char*>(image), ".entry tessera_touch(") != nullptr;
  recorder.add(is_kernel ? "the kernel" : "something else");
  return recorder.done();
}

int module_get_function(Opaque** function, Opaque* module, const char* name) {
  const std::lock_guard lock(state().mutex);
  Recorder recorder = start("cuModuleGetFunction");
  recorder.record(function);
  recorder.record(module);
  recorder.add(name);
  return recorder.done();
}

int launch_kernel(Opaque* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  Opaque* stream, void** parameters, void** extra) {
  const std::lock_guard lock(state().mutex);
  Recorder recorder = start("cuLaunchKernel");
  recorder.record(function);
  const unsigned threads = grid_x * grid_y * grid_z * block_x * block_y * block_z;
  recorder.add(number(threads) + " thread");
  recorder.record(shared_bytes);
  recorder.record(stream);
  std::string list;
  for (int i = 0; i < 3; ++i) {
    list += number(*static_cast<unsigned long long*>(parameters[i])) + " ";
  }
  list += number(*static_cast<unsigned*>(parameters[3])) + " ";
  list += number(*static_cast<unsigned*>(parameters[4]));
  recorder.add("[" + list + "]");
  recorder.add(extra == nullptr ? "null" : "something");
  return recorder.done();
}

// --- The table ----------------------------------------------------------------------------------

// clang-format off
#define FAKE_ENTRIES(X)                                                                            \
  X(cuInit, 2000, int(unsigned))                                                                   \
  X(cuDriverGetVersion, 2020, int(int*))                                                           \
  X(cuDeviceGet, 2000, int(int*, int))                                                             \
  X(cuDeviceGetCount, 2000, int(int*))                                                             \
  X(cuDeviceTotalMem, 3020, int(std::size_t*, int))                                                \
  X(cuDeviceGetAttribute, 2000, int(int*, unsigned, int))                                          \
  X(cuDeviceCanAccessPeer, 4000, int(int*, int, int))                                              \
  X(cuDevicePrimaryCtxRetain, 7000, int(Opaque**, int))                                            \
  X(cuDevicePrimaryCtxRelease, 11000, int(int))                                                    \
  X(cuDevicePrimaryCtxReset, 11000, int(int))                                                      \
  X(cuDevicePrimaryCtxGetState, 7000, int(int, unsigned*, int*))                                   \
  X(cuCtxCreate, 3020, int(Opaque**, unsigned, int))                                               \
  X(cuCtxDestroy, 4000, int(Opaque*))                                                              \
  X(cuCtxSetCurrent, 4000, int(Opaque*))                                                           \
  X(cuCtxGetCurrent, 4000, int(Opaque**))                                                          \
  X(cuCtxGetDevice, 2000, int(int*))                                                               \
  X(cuCtxGetId, 12000, int(Opaque*, unsigned long long*))                                          \
  X(cuCtxSynchronize, 2000, int())                                                                 \
  X(cuCtxEnablePeerAccess, 4000, int(Opaque*, unsigned))                                           \
  X(cuCtxSetLimit, 3010, int(unsigned, std::size_t))                                               \
  X(cuCtxGetLimit, 3010, int(std::size_t*, unsigned))                                              \
  X(cuMemGetAllocationGranularity, 10020, int(std::size_t*, const Properties*, unsigned))          \
  X(cuMemAddressReserve, 10020,                                                                    \
    int(Address*, std::size_t, std::size_t, Address, unsigned long long))                          \
  X(cuMemAddressFree, 10020, int(Address, std::size_t))                                            \
  X(cuMemCreate, 10020, int(Memory*, std::size_t, const Properties*, unsigned long long))          \
  X(cuMemRelease, 10020, int(Memory))                                                              \
  X(cuMemGetAllocationPropertiesFromHandle, 10020, int(Properties*, Memory))                       \
  X(cuMemRetainAllocationHandle, 11000, int(Memory*, void*))                                       \
  X(cuMemMap, 10020, int(Address, std::size_t, std::size_t, Memory, unsigned long long))           \
  X(cuMemUnmap, 10020, int(Address, std::size_t))                                                  \
  X(cuMemGetAccess, 10020, int(unsigned long long*, const Location*, Address))                     \
  X(cuMemAlloc, 3020, int(Address*, std::size_t))                                                  \
  X(cuMemAllocPitch, 3020, int(Address*, std::size_t*, std::size_t, std::size_t, unsigned))        \
  X(cuMemAllocManaged, 6000, int(Address*, std::size_t, unsigned))                                 \
  X(cuMemFree, 3020, int(Address))                                                                 \
  X(cuMemAllocAsync, 11020, int(Address*, std::size_t, Opaque*))                                   \
  X(cuMemFreeAsync, 11020, int(Address, Opaque*))                                                  \
  X(cuMemHostAlloc, 2020, int(void**, std::size_t, unsigned))                                      \
  X(cuMemFreeHost, 2000, int(void*))                                                               \
  X(cuMemGetInfo, 3020, int(std::size_t*, std::size_t*))                                           \
  X(cuMemGetAddressRange, 3020, int(Address*, std::size_t*, Address))                              \
  X(cuMemcpyHtoD, 3020, int(Address, const void*, std::size_t))                                    \
  X(cuMemcpyDtoH, 3020, int(void*, Address, std::size_t))                                          \
  X(cuMemcpyDtoD, 3020, int(Address, Address, std::size_t))                                        \
  X(cuMemsetD8, 3020, int(Address, unsigned char, std::size_t))                                    \
  X(cuMemcpyHtoDAsync, 3020, int(Address, const void*, std::size_t, Opaque*))                      \
  X(cuMemcpyDtoHAsync, 3020, int(void*, Address, std::size_t, Opaque*))                            \
  X(cuMemcpyDtoDAsync, 3020, int(Address, Address, std::size_t, Opaque*))                          \
  X(cuMemsetD8Async, 3020, int(Address, unsigned char, std::size_t, Opaque*))                      \
  X(cuStreamCreate, 2000, int(Opaque**, unsigned))                                                 \
  X(cuStreamDestroy, 4000, int(Opaque*))                                                           \
  X(cuStreamSynchronize, 2000, int(Opaque*))                                                       \
  X(cuStreamWaitEvent, 3020, int(Opaque*, Opaque*, unsigned))                                      \
  X(cuEventCreate, 2000, int(Opaque**, unsigned))                                                  \
  X(cuEventRecord, 2000, int(Opaque*, Opaque*))                                                    \
  X(cuEventQuery, 2000, int(Opaque*))                                                              \
  X(cuEventSynchronize, 2000, int(Opaque*))                                                        \
  X(cuEventDestroy, 4000, int(Opaque*))                                                            \
  X(cuMulticastCreate, 12010, int(Memory*, const MulticastProperties*))                            \
  X(cuMulticastAddDevice, 12010, int(Memory, int))                                                 \
  X(cuMulticastBindMem, 12010,                                                                     \
    int(Memory, std::size_t, Memory, std::size_t, std::size_t, unsigned long long))                \
  X(cuMulticastBindAddr, 12010,                                                                    \
    int(Memory, std::size_t, Address, std::size_t, unsigned long long))                            \
  X(cuMulticastUnbind, 12010, int(Memory, int, std::size_t, std::size_t))                          \
  X(cuMulticastGetGranularity, 12010, int(std::size_t*, const MulticastProperties*, unsigned))
// clang-format on

#define FAKE_NAME(name, version, signature) constexpr char name_of_##name[] = #name;
FAKE_ENTRIES(FAKE_NAME)

struct Entry {
  const char* name;
  int version;
  void* function;
};

template <class Function>
Entry entry(const char* name, int version, Function* function) {
  return {name, version, reinterpret_cast<void*>(function)};
}

void* find(const char* name, int version) {
#define FAKE_ENTRY(name, version, signature) \
  entry(#name, version, &Fake<name_of_##name, signature>::call),
  static const Entry entries[] = {
      FAKE_ENTRIES(FAKE_ENTRY)  //
      entry("cuDeviceGetName", 2000, &device_get_name),
      entry("cuMemSetAccess", 10020, &mem_set_access),
      entry("cuMemExportToShareableHandle", 10020, &mem_export),
      entry("cuMemImportFromShareableHandle", 10020, &mem_import),
      entry("cuPointerGetAttribute", 4000, &pointer_get_attribute),
      entry("cuMemGetHandleForAddressRange", 11070, &range_handle),
      entry("cuModuleLoadData", 2000, &module_load_data),
      entry("cuModuleGetFunction", 2000, &module_get_function),
      entry("cuLaunchKernel", 4000, &launch_kernel),
  };
  for (const Entry& candidate : entries) {
    if (std::strcmp(candidate.name, name) == 0 && candidate.version == version) {
      return candidate.function;
    }
  }
  return nullptr;
}

}  // namespace

// --- What the library exports -------------------------------------------------------------------

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

// NOLINTBEGIN(readability-identifier-naming): the driver's names
FAKE_EXPORT int cuGetProcAddress_v2(const char* name, void** function, int version,
                                    unsigned long flags, int* status) {
  const std::lock_guard lock(state().mutex);
  const bool is_hidden = state().hidden.count(name) != 0;
  if (state().is_lookup_broken || is_hidden || flags != 0) {
    *status = 1;
    return 500;
  }
  *status = 0;
  *function = find(name, version);
  return *function != nullptr ? 0 : 500;
}

FAKE_EXPORT int cuInit(unsigned flags) { return Fake<name_of_cuInit, int(unsigned)>::call(flags); }
FAKE_EXPORT int cuDriverGetVersion(int* version) {
  return Fake<name_of_cuDriverGetVersion, int(int*)>::call(version);
}
FAKE_EXPORT int cuMemAlloc_v2(Address* address, std::size_t size) {
  return Fake<name_of_cuMemAlloc, int(Address*, std::size_t)>::call(address, size);
}

// NOLINTEND(readability-identifier-naming)

FAKE_EXPORT void fake_reset() {
  const std::lock_guard lock(state().mutex);
  state().log.clear();
  state().failures.clear();
  state().answers.clear();
  state().hidden.clear();
  state().is_lookup_broken = false;
}
FAKE_EXPORT const char* fake_take_log() {
  const std::lock_guard lock(state().mutex);
  state().taken = std::move(state().log);
  state().log.clear();
  return state().taken.c_str();
}
FAKE_EXPORT void fake_fail(const char* name, int result) {
  const std::lock_guard lock(state().mutex);
  state().failures[name] = result;
}
FAKE_EXPORT void fake_hide(const char* name) {
  const std::lock_guard lock(state().mutex);
  state().hidden.insert(name);
}
FAKE_EXPORT void fake_answer(const char* name, unsigned long long value) {
  const std::lock_guard lock(state().mutex);
  state().answers[name] = value;
}
FAKE_EXPORT void fake_break_lookup() {
  const std::lock_guard lock(state().mutex);
  state().is_lookup_broken = true;
}
