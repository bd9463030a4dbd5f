// Words of command lines that are printed to be run.
#pragma once

#include <string>
#include <string_view>

namespace tessera::tools {

// As a shell takes it: in quotes where it has more than letters, digits and `_-./:+,@%=`.
[[nodiscard]] std::string as_shell_word(std::string_view word);

}  // namespace tessera::tools
