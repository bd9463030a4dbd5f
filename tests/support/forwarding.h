// Whether a driver forwards each call once, with what it was given, and answers what it was
// answered. In a source of its own, because it takes long to compile.
#pragma once

#include <functional>

#include "support/mock_driver.h"
#include "tessera/driver.h"

namespace tessera::test {

// `target` is strict: it fails on any other call than the expected one. Each method is called
// twice: it succeeds, then it fails.
void check_every_method(MockDriver& target, Driver& forwarder);

// Calls each method with a sample, and expects the error that `error_before` said, just before the
// call, that it will be. Then calls `after`.
void expect_error_of_every_method(Driver& driver, const std::function<Error(Call)>& error_before,
                                  const std::function<void(Call)>& after);

}  // namespace tessera::test
