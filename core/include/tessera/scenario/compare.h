// Whether an answer is the one that a scenario expects. docs/scenarios.md has the rules: results
// always; extras that the file has, except figures that differ from machine to machine.
#pragma once

#include "tessera/bytes.h"
#include "tessera/scenario/scenario.h"

namespace tessera::scenario {

struct CompareOptions {
  bool serial = false;  // the case's figures of used memory count
  Bytes granule = Bytes(1U << 21U);
};

// The call has an expected answer: checked.
[[nodiscard]] bool agrees(const Call& call, const Answer& got, const CompareOptions& options);

// Of several answers to one call, what they have in common: results that differ are joined by `|`,
// extras that differ get the value `*`, which agrees with any.
[[nodiscard]] Answer merge_answers(const Answer& first, const Answer& second);

}  // namespace tessera::scenario
