// The canary: the driver target with a wrong rule planted in the model. Its test expects that it
// fails: a fuzzer or a corpus that finds nothing at all would pass everything.
#define TESSERA_FUZZ_PLANTED_FAULT 1
#include "driver_fuzz.cpp"
