// Makes programs from a seed or from a fuzzer's bytes.
//
// A mixture, because no one way reaches everything: half of the programs are mostly valid and place
// things beside each other, with a wrong call now and then; some are valid but for exactly one rule
// broken; some take any operand that there might be. Each program leaves out a random part of the
// operations (swarm testing), and some begin with a scene that chance would seldom find, such as
// memory filled to the last granule. Each ends with a drain, which undoes what was made.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "tessera/testing/program.h"

namespace tessera::testing {

struct GeneratorOptions {
  std::int32_t devices = 1;  // 1 to 8
  // Calls before the drain; a scene may have more.
  std::size_t length = 20;
  // What sizes of reservations are multiples of, in granules; 1 or more.
  std::int16_t reservation_granules = 1;
  // About how much memory and how many addresses there are, in granules; zero: more than can be
  // filled.
  std::int16_t memory_granules = 0;
  std::int16_t address_granules = 0;
  // How many mappings can have access at once; zero: more than a program makes.
  std::int16_t mappings = 0;
  bool descriptors = true;   // real ones: exports are slow
  bool host_memory = true;   // real, too
  bool memory_pools = true;  // mem_alloc_async
  bool multicast = true;
};

class ProgramGenerator {
 public:
  explicit ProgramGenerator(const GeneratorOptions& options);
  ~ProgramGenerator();
  ProgramGenerator(const ProgramGenerator&) = delete;
  ProgramGenerator& operator=(const ProgramGenerator&) = delete;

  // Overwrites the program, whose memory is used again. Same options and seed: same program.
  void generate(std::uint64_t seed, Program& program);
  // Bytes are either records of operations, or decisions as above. Any bytes are a program.
  void generate(std::span<const std::uint8_t> bytes, Program& program);

 private:
  class Maker;

  GeneratorOptions options_;
  std::unique_ptr<Maker> maker_;
};

[[nodiscard]] Program generate_program(const GeneratorOptions& options, std::uint64_t seed);

// Appends what undoes the operations, as far as they may have succeeded; sets Program::drain.
void append_drain(Program& program);

}  // namespace tessera::testing
