// Ctrl-C as a wish to stop: the work ends, says what it did so far, and then the process ends as an
// interrupted one does. A second Ctrl-C ends it at once.
#pragma once

namespace tessera::tools {

// From now on, in the whole process.
void note_interrupts();
[[nodiscard]] bool was_interrupted() noexcept;
// Writes what was printed and ends the process by the signal, if it was interrupted.
void end_if_interrupted();

}  // namespace tessera::tools
