// The check must notice that this does not compile as it is.
#include "tessera/bytes.h"

namespace {

[[maybe_unused]] void use() {
  tessera::Bytes broken = 4;
#ifdef TESSERA_WRONG
  tessera::Bytes marked = 4;  // no
#endif
}

}  // namespace
