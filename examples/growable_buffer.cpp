#include "tessera/buffers/growable_buffer.h"

#include <iostream>
#include <memory>

#include "tessera/sim/sim_driver.h"

using namespace tessera;

Status run() {
  // On a GPU (tessera/cuda/cuda_driver.h): auto driver = cuda::CudaDriver::open().value();
  auto driver = std::make_unique<sim::SimDriver>(*sim::built_in_profile("h200"));
  TESSERA_TRY(driver->init(0));
  TESSERA_TRY_ASSIGN(auto buffer, GrowableBuffer::make(*driver, {.reserve = 64_GiB}));
  TESSERA_TRY(buffer.grow_to(1_GiB));
  TESSERA_TRY(buffer.grow_to(3_GiB));  // more memory at the same address, nothing is copied
  std::cout << buffer.pieces().size() << " pieces, " << buffer.size() / 1_GiB << " GiB\n";
  return buffer.close(Quiescence::promised());  // no work was queued that could use it
}

int main() { return run() ? 0 : 1; }
