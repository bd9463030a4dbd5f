// How a test steers libfake_cuda.so, a driver that does nothing but write down what it was called
// with. All names are looked up with dlsym, so that the test opens the very library that
// CudaDriver opens.
#pragma once

extern "C" {

// Forgets all that was set and recorded.
using FakeReset = void (*)();
// What was called since the last time, one line a call: "cuMemAlloc(out, 4096)". Valid until next.
using FakeTakeLog = const char* (*)();
// From now on this entry point answers `result`, a CUresult's number.
using FakeFail = void (*)(const char* name, int result);
// From now on the lookup does not find it.
using FakeHide = void (*)(const char* name);
// What this entry point writes through its output pointers; else the first gets 7001, and so on.
using FakeAnswer = void (*)(const char* name, unsigned long long value);
// From now on the lookup itself fails, as it does in drivers that lack it: only the names that the
// library exports are left (cuInit, cuDriverGetVersion, cuMemAlloc_v2).
using FakeBreakLookup = void (*)();

}  // extern "C"
